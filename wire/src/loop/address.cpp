// Addresses: literals, and the system's resolver.
#include "wire/loop/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <cstring>

namespace wire {

result<address> address::parse(std::string_view literal, std::uint16_t port) {
    address a;
    const std::string text(literal);
    if (inet_pton(AF_INET, text.c_str(), &a.storage_.v4.sin_addr) == 1) {
        a.set_port(port);
        return a;
    }
    if (inet_pton(AF_INET6, text.c_str(), &a.storage_.v6.sin6_addr) == 1) {
        a.storage_.v6.sin6_family = AF_INET6;
        a.set_port(port);
        return a;
    }
    return error(errc::bad_argument, "\"" + text + "\" is not an IPv4 or IPv6 address");
}

address address::any_v4(std::uint16_t port) noexcept {
    address a;
    a.set_port(port);
    return a;
}

address address::loopback_v4(std::uint16_t port) noexcept {
    address a;
    a.storage_.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.set_port(port);
    return a;
}

address address::unix_peer() noexcept {
    address a;
    a.storage_.v4.sin_family = AF_UNIX;
    return a;
}

address address::from(const sockaddr* raw) noexcept {
    address a;
    if (raw->sa_family == AF_INET6) {
        std::memcpy(&a.storage_, raw, sizeof(sockaddr_in6));
    } else if (raw->sa_family == AF_INET) {
        std::memcpy(&a.storage_, raw, sizeof(sockaddr_in));
    } else if (raw->sa_family == AF_UNIX) {
        a = unix_peer();
    }
    return a;
}

// sin_port and sin6_port lie at the same place, after the family; 0 for AF_UNIX.
std::uint16_t address::port() const noexcept { return ntohs(storage_.v4.sin_port); }
void address::set_port(std::uint16_t port) noexcept {
    if (family() != AF_UNIX) storage_.v4.sin_port = htons(port);
}

std::string address::host() const {
    if (family() == AF_UNIX) return "unix:";
    char text[INET6_ADDRSTRLEN] = "";
    if (family() == AF_INET6) {
        inet_ntop(AF_INET6, &storage_.v6.sin6_addr, text, sizeof text);
    } else {
        inet_ntop(AF_INET, &storage_.v4.sin_addr, text, sizeof text);
    }
    return text;
}

std::string address::to_string() const {
    if (family() == AF_UNIX) return host();
    return (family() == AF_INET6 ? "[" + host() + "]" : host()) + ":" + std::to_string(port());
}

result<std::vector<address>> resolve(std::string_view host, std::uint16_t port) {
    if (auto literal = address::parse(host, port)) return std::vector<address>{*literal};
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    addrinfo* found = nullptr;
    const std::string name(host);
    const int failure = getaddrinfo(name.c_str(), nullptr, &hints, &found);
    if (failure != 0)
        return error(errc::not_resolved,
                     "cannot resolve \"" + name + "\": " + gai_strerror(failure));
    std::vector<address> out;
    for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
        if (a->ai_family != AF_INET && a->ai_family != AF_INET6) continue;
        out.push_back(address::from(a->ai_addr));
        out.back().set_port(port);
    }
    freeaddrinfo(found);
    if (out.empty())
        return error(errc::not_resolved, "\"" + name + "\" has no IPv4 or IPv6 address");
    return out;
}

}  // namespace wire
