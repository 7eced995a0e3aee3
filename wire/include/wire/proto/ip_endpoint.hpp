// An IPv4 or IPv6 address with a port, as protocols carry it: without sockets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/base/export.hpp"

namespace wire {

// A plain value.
struct ip_endpoint {
    bool v6 = false;
    // In network order; the first four of IPv4, the rest 0.
    std::array<std::uint8_t, 16> bytes{};
    // In host order; 0 where none was given.
    std::uint16_t port = 0;

    bool operator==(const ip_endpoint&) const = default;
};

// An address literal without brackets, port and zone, as inet_pton(3) takes them: "192.0.2.1"
// (decimal, no leading zeros), or RFC 4291 section 2.2. nullopt for anything else.
WIRE_EXPORT std::optional<ip_endpoint> parse_ipv4(std::string_view text) noexcept;
WIRE_EXPORT std::optional<ip_endpoint> parse_ipv6(std::string_view text) noexcept;

// A decimal number of at most 65535, of one to five digits.
WIRE_EXPORT std::optional<std::uint16_t> parse_port(std::string_view text) noexcept;

}  // namespace wire
