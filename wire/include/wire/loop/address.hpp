// An IPv4 or IPv6 address with its port, or the word that a peer came by a Unix socket.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"

namespace wire {

// A plain value, 28 bytes. Ports are in host byte order throughout.
class WIRE_EXPORT address {
public:
    // 0.0.0.0:0
    address() noexcept : storage_{.v6 = {}} { storage_.v4.sin_family = AF_INET; }

    // From a literal, such as "127.0.0.1" or "::1", without brackets; no look-up. Anything else is
    // errc::bad_argument.
    static result<address> parse(std::string_view literal, std::uint16_t port);
    // 0.0.0.0: all IPv4 addresses of this host, to listen on.
    static address any_v4(std::uint16_t port) noexcept;
    // 127.0.0.1
    static address loopback_v4(std::uint16_t port) noexcept;
    // The other end of a Unix socket, whatever its path: AF_UNIX, port 0. Not to connect to: see
    // unix_socket.hpp.
    static address unix_peer() noexcept;
    // A copy of what the system gave, which must be as large as its family says; unix_peer() for
    // AF_UNIX, 0.0.0.0:0 for families that are none of the three.
    static address from(const sockaddr* raw) noexcept;

    // AF_INET, AF_INET6 or AF_UNIX.
    int family() const noexcept { return storage_.v4.sin_family; }
    // 0 where the system is to choose.
    std::uint16_t port() const noexcept;
    // Ignored by unix_peer(), which has none.
    void set_port(std::uint16_t port) noexcept;
    // "127.0.0.1", "::1", "unix:".
    std::string host() const;
    // "127.0.0.1:80", "[::1]:80", "unix:".
    std::string to_string() const;

    // For system calls: valid as long as this object is, and is not changed.
    const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
    // Bytes of raw() that count.
    socklen_t size() const noexcept {
        if (family() == AF_UNIX) return sizeof(sa_family_t);
        return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    }

private:
    union {
        sockaddr_in v4;
        sockaddr_in6 v6;
    } storage_;
};

// All addresses of a host, in the order in which the system prefers them; not empty. At once for a
// literal, else by the system's resolver, which BLOCKS, for seconds when no name server answers:
// call it from a blocking_pool, not from a loop. Any thread. errc::not_resolved when the name has
// no address, or nobody answers.
WIRE_EXPORT result<std::vector<address>> resolve(std::string_view host, std::uint16_t port);

}  // namespace wire
