// Takes over listening sockets that another process made.
#include "wire/loop/inherited_sockets.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string>

namespace wire {

namespace {

constexpr int first_inherited = 3;     // SD_LISTEN_FDS_START
constexpr long most_inherited = 1000;  // not a limit of the protocol: a wrong value must not loop

std::optional<long> number_of(std::string_view text) noexcept {
    long out = 0;
    const auto end = text.data() + text.size();
    const auto [stopped, failure] = std::from_chars(text.data(), end, out);
    if (failure != std::errc() || stopped != end || out < 0) return std::nullopt;
    return out;
}

int option_of(int fd, int level, int name) noexcept {
    int value = -1;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

result<std::vector<unique_fd>> listen_fds(std::string_view listen_pid, std::string_view count) {
    std::vector<unique_fd> out;
    if (listen_pid.empty() || count.empty()) return out;
    const auto pid = number_of(listen_pid);
    const auto n = number_of(count);
    if (!pid || !n || *n > most_inherited)
        return error(errc::bad_argument, "LISTEN_PID \"" + std::string(listen_pid) +
                                             "\", LISTEN_FDS \"" + std::string(count) +
                                             "\": expected a process and at most 1000");
    if (*pid != ::getpid()) return out;
    // All are there before one is owned: after an error they are still the caller's.
    const int end = first_inherited + static_cast<int>(*n);
    for (int fd = first_inherited; fd < end; ++fd) {
        if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            return error(errc::bad_argument,
                         "LISTEN_FDS: descriptor " + std::to_string(fd) + " is not open");
    }
    for (int fd = first_inherited; fd < end; ++fd) out.emplace_back(fd);
    return out;
}

result<void> prepare_inherited(const unique_fd& listening) {
    const int fd = listening.get();
    if (option_of(fd, SOL_SOCKET, SO_ACCEPTCONN) != 1 ||
        option_of(fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM)
        return error(errc::bad_argument,
                     "descriptor " + std::to_string(fd) + " is no listening stream socket");
    const int domain = option_of(fd, SOL_SOCKET, SO_DOMAIN);
    if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX)
        return error(errc::bad_argument,
                     "descriptor " + std::to_string(fd) + " is a socket of neither TCP nor Unix");
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return system_failure(errno, "fcntl");
    const int on = 1;
    if (domain != AF_UNIX) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {};
}

}  // namespace wire
