// Hands out the local addresses and ports that connections of all threads connect from.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "plan/source_addresses.hpp"
#include "wire/loop/address.hpp"

namespace wireload {

class source_ports {
public:
    // Empty: the kernel chooses. Addresses with `choose_ports` false: only the address is fixed.
    // `start`: any number, best another one in each process, since the ports of the one before may
    // not be free yet.
    source_ports(std::vector<wire::address> addresses, bool choose_ports, port_range range,
                 std::uint64_t start);

    bool kernel_chooses() const { return addresses_.empty(); }
    bool chooses_ports() const { return choose_ports_; }
    std::size_t address_count() const { return addresses_.size(); }
    // Any thread. Goes round: all addresses and ports are used before one comes again, so that a
    // port rests as long as possible after its connection closed (TIME_WAIT).
    wire::address next();

private:
    std::vector<wire::address> addresses_;
    bool choose_ports_;
    port_range range_;
    std::atomic<std::uint64_t> next_;
};

}  // namespace wireload
