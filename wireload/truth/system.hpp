// The clock and the listening socket of the truth servers.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <utility>

#include "law.hpp"

namespace truth {

inline nanos clock_ns(clockid_t which) {
    timespec t{};
    clock_gettime(which, &t);
    return nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}
inline nanos now_ns() { return clock_ns(CLOCK_MONOTONIC); }

inline int checked(int result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
    return result;
}

// A socket that listens on 127.0.0.1, and its port; 0: any. Throws std::system_error.
inline std::pair<int, std::uint16_t> listen_on(std::uint16_t port) {
    const int fd =
        checked(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    checked(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
    checked(listen(fd, 4096), "listen");
    socklen_t size = sizeof address;
    checked(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
    return {fd, ntohs(address.sin_port)};
}

}  // namespace truth
