// Sockets: listening, and the three ways to begin a connection.
#include "wire/loop/socket.hpp"

#include <netinet/tcp.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "socket_parts.hpp"

namespace wire {

namespace {

bool set_option(int fd, int level, int name, int value) noexcept {
    return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

result<unique_fd> new_socket(int family, bool blocks) {
    unique_fd fd(
        ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | (blocks ? 0 : SOCK_NONBLOCK), IPPROTO_TCP));
    if (!fd) {
        const int number = errno;
        error e = system_failure(number, "cannot open a socket");
        if (number == EMFILE) e.message += " (raise the limit of open files, ulimit -n)";
        return e;
    }
    return fd;
}

}  // namespace

std::optional<std::chrono::nanoseconds> detail::arrival_stamp(const msghdr& received) noexcept {
    const cmsghdr* const note = CMSG_FIRSTHDR(&received);
    if (note == nullptr || note->cmsg_level != SOL_SOCKET || note->cmsg_type != SCM_TIMESTAMPNS)
        return std::nullopt;
    timespec wall;
    std::memcpy(&wall, CMSG_DATA(note), sizeof wall);
    return std::chrono::seconds(wall.tv_sec) + std::chrono::nanoseconds(wall.tv_nsec);
}

bool detail::set_keep_alive(int fd, const tcp_keep_alive& how) noexcept {
    if (how.idle == std::chrono::seconds::zero()) return true;
    // The kernel refuses what is too large, also where it is cut to 32 bits.
    const auto seconds = [](std::chrono::seconds s) {
        return static_cast<int>(std::min<std::chrono::seconds::rep>(s.count(), 1 << 30));
    };
    return set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1) &&
           set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds(how.idle)) &&
           set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds(how.interval)) &&
           set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, how.probes);
}

void unique_fd::reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

result<unique_fd> listen_tcp(const address& at, const listen_options& options) {
    auto fd = new_socket(at.family(), false);
    if (!fd) return fd;
    const std::string where = "cannot listen on " + at.to_string();
    const int s = fd->get();
    set_option(s, IPPROTO_TCP, TCP_NODELAY, 1);  // accepted sockets inherit it, and keep_alive
    if (!detail::set_keep_alive(s, options.keep_alive) ||
        !set_option(s, SOL_SOCKET, SO_REUSEADDR, 1) ||
        (options.reuse_port && !set_option(s, SOL_SOCKET, SO_REUSEPORT, 1)) ||
        (options.v6_only && !set_option(s, IPPROTO_IPV6, IPV6_V6ONLY, 1)) ||
        ::bind(s, at.raw(), at.size()) != 0 || ::listen(s, options.backlog) != 0) {
        return system_failure(errno, where);
    }
    return fd;
}

result<unique_fd> detail::open_tcp(const address& to, const connect_options& options, bool blocks) {
    auto fd = new_socket(to.family(), blocks);
    if (!fd) return fd;
    const int s = fd->get();
    if (options.no_delay) set_option(s, IPPROTO_TCP, TCP_NODELAY, 1);
    if (!set_keep_alive(s, options.keep_alive)) return system_failure(errno, "TCP keep-alive");
    if (options.note_arrivals && !set_option(s, SOL_SOCKET, SO_TIMESTAMPNS, 1))
        return system_failure(errno, "SO_TIMESTAMPNS");
    if (options.source) {
        if (options.source->port() == 0) set_option(s, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
        if (::bind(s, options.source->raw(), options.source->size()) != 0) {
            return system_failure(errno, "cannot bind to " + options.source->to_string());
        }
    }
    return fd;
}

result<unique_fd> connect_tcp(const address& to, const connect_options& options) {
    auto fd = detail::open_tcp(to, options);
    if (!fd) return fd;
    const int s = fd->get();
    if (::connect(s, to.raw(), to.size()) != 0 && errno != EINPROGRESS) {
        return system_failure(errno, "cannot connect to " + to.to_string());
    }
    return fd;
}

result<detail::waited_for> detail::connect_waiting(const address& to,
                                                   const connect_options& options,
                                                   std::chrono::microseconds longest) {
    auto fd = open_tcp(to, options, true);
    if (!fd) return fd.error();
    const int s = fd->get();
    timeval limit{};
    limit.tv_sec = static_cast<time_t>(longest.count() / 1'000'000);
    limit.tv_usec = static_cast<suseconds_t>(longest.count() % 1'000'000);
    if (::setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0)
        return system_failure(errno, "SO_SNDTIMEO");
    const bool stands = ::connect(s, to.raw(), to.size()) == 0;
    // EINTR: a signal; the kernel goes on.
    if (!stands && errno != EINPROGRESS && errno != EINTR)
        return system_failure(errno, to.to_string());
    return waited_for{*std::move(fd), stands};
}

errc take_socket_error(int fd) noexcept {
    int number = 0;
    socklen_t size = sizeof number;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
    return from_errno(number);
}

namespace {

template <typename Call> result<address> name_of(int fd, Call call, std::string_view what) {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
    auto* raw = reinterpret_cast<sockaddr*>(&storage);
    if (call(fd, raw, &size) != 0) return system_failure(errno, what);
    return address::from(raw);
}

}  // namespace

result<address> local_address(int fd) { return name_of(fd, ::getsockname, "getsockname"); }
result<address> peer_address(int fd) { return name_of(fd, ::getpeername, "getpeername"); }

}  // namespace wire
