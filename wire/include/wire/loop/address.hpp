// An IPv4 or IPv6 address with its port.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"

namespace wire {

class address {
public:
    address() noexcept;  // 0.0.0.0:0

    // A literal, such as "127.0.0.1" or "::1"; no look-up.
    static result<address> parse(std::string_view literal, std::uint16_t port);
    static address any_v4(std::uint16_t port) noexcept;
    static address loopback_v4(std::uint16_t port) noexcept;
    static address from(const sockaddr* raw) noexcept;

    int family() const noexcept { return storage_.v4.sin_family; }
    std::uint16_t port() const noexcept;
    void set_port(std::uint16_t port) noexcept;
    // "127.0.0.1", "::1".
    std::string host() const;
    // "127.0.0.1:80", "[::1]:80".
    std::string to_string() const;

    const sockaddr* raw() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
    socklen_t size() const noexcept {
        return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    }

private:
    union {
        sockaddr_in v4;
        sockaddr_in6 v6;
    } storage_;
};

// All addresses of a host: at once for a literal, else by the system's resolver, which BLOCKS.
result<std::vector<address>> resolve(std::string_view host, std::uint16_t port);

}  // namespace wire
