// A set of addresses: a network in CIDR notation, or the other ends of Unix sockets.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/address.hpp"

namespace wire {

// A plain value.
class WIRE_EXPORT network {
public:
    // "10.0.0.0/8", "2001:db8::/32", an address alone for it only, or "unix:" for all peers of Unix
    // sockets. errc::bad_argument for anything else, and for bits beyond the prefix ("10.0.0.1/8"),
    // which are a mistake more often than not.
    static result<network> parse(std::string_view text);
    // The same, but bits beyond the prefix do not count: "10.1.2.3/8" is "10.0.0.0/8".
    static result<network> around(std::string_view text);

    // Whether `a` belongs to it, whatever its port. An IPv4 address that came over an IPv6 socket
    // (mapped, RFC 4291 section 2.5.5.2) belongs to networks of IPv4 as well.
    bool contains(const address& a) const noexcept;

private:
    network() noexcept = default;
    static result<network> read(std::string_view text, bool exactly);

    address base_;  // bits beyond the prefix may be set
    std::uint8_t bits_ = 0;
};

}  // namespace wire
