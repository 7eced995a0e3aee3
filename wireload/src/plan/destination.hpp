// The addresses that the run connects to, and how many of its connections go to each.
//
// Limits of the host are of an address: local ports are used up toward each, and only a server on
// this host takes memory here.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/rotation.hpp"
#include "wire/loop/address.hpp"

namespace wireload {

struct destination {
    wire::address server;
    std::uint64_t connections = 0;
};

// Targets with one address, such as two WebSockets of a server, are one destination.
std::vector<destination> destinations_of(const std::vector<target>& targets);

// 127.0.0.0/8 or ::1.
bool is_loopback(const wire::address& a);

}  // namespace wireload
