// Sockets without a loop: descriptors that close themselves, listening, connecting.
//
// Any thread may call these functions. None of them waits for the network.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/address.hpp"

namespace wire {

// Owns a descriptor and closes it. -1 stands for none.
class WIRE_EXPORT unique_fd {
public:
    // None.
    unique_fd() noexcept = default;
    // Owns `fd` from now on.
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    // Closes what it had.
    unique_fd& operator=(unique_fd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~unique_fd() { reset(); }

    // -1 when there is none. Still owned.
    int get() const noexcept { return fd_; }
    // The same, and no longer owned.
    int release() noexcept { return std::exchange(fd_, -1); }
    // Closes it.
    void reset() noexcept;
    // Whether there is one.
    explicit operator bool() const noexcept { return fd_ >= 0; }

private:
    int fd_ = -1;
};

// Probes of the kernel's by which it finds out that the other end of a TCP connection has vanished
// without a word (SO_KEEPALIVE), though nothing is to be sent: the connection then breaks with
// errc::timed_out after idle + probes * interval. While bytes are under way the kernel's
// retransmissions find it out instead, after a quarter of an hour (net.ipv4.tcp_retries2).
struct tcp_keep_alive {
    // Silence before the first probe, 32767 s at most; 0: no probes.
    std::chrono::seconds idle{0};
    // Between two probes that are not answered, 1 to 32767 s.
    std::chrono::seconds interval{15};
    // How many in a row, 1 to 127.
    int probes = 4;
};

// How to listen.
struct listen_options {
    // Connections that wait to be accepted; the kernel cuts it at net.core.somaxconn.
    int backlog = 4096;
    // SO_REUSEPORT: several sockets, one for each loop, listen on one port, and the kernel spreads
    // connections over them. All of them must set it.
    bool reuse_port = false;
    // IPV6_V6ONLY: a socket on "::" takes no IPv4.
    bool v6_only = false;
    // For what it accepts; off.
    tcp_keep_alive keep_alive = {};
};

// A non-blocking listening socket: SO_REUSEADDR, and TCP_NODELAY for what it accepts. With port 0
// the system chooses one, and local_address() says which. errc::address_in_use when somebody else
// listens there; errc::system_error otherwise, such as for a port below 1024 without the right, or
// a keep_alive that cannot be.
WIRE_EXPORT result<unique_fd> listen_tcp(const address& at, const listen_options& options = {});

// How to connect.
struct connect_options {
    // Bind here first. With port 0 the port is chosen at connect time (IP_BIND_ADDRESS_NO_PORT), so
    // that a port may serve again toward another destination; with a port given, the kernel does
    // not have to search for a free one.
    std::optional<address> source = {};
    // TCP_NODELAY: small writes leave at once.
    bool no_delay = true;
    // Off: it costs four system calls for each connection, and what a client of wire waits for has
    // time limits. Of use where those are long or off, such as for a response that is a stream of
    // events.
    tcp_keep_alive keep_alive = {};
    // The kernel notes when bytes come (SO_TIMESTAMPNS), for the arrival() of a stream that
    // connects with this. Receiving costs 0.1 to 0.2 us more.
    bool note_arrivals = false;
};

// A non-blocking socket on which a connection was begun (or made): it is writable when that is
// decided, and take_socket_error() says how. Fails when the process may open no more descriptors,
// when options.source cannot be bound or options.keep_alive cannot be, and when the kernel knows at
// once that there is no way (errc::unreachable, errc::address_in_use, on loopback errc::refused).
WIRE_EXPORT result<unique_fd> connect_tcp(const address& to, const connect_options& options = {});

// SO_ERROR as an error, or errc::none. Reading it clears it in the kernel.
WIRE_EXPORT errc take_socket_error(int fd) noexcept;

// Where a socket is bound, and to whom it is connected. errc::system_error when it is not, or `fd`
// is no socket.
WIRE_EXPORT result<address> local_address(int fd);
WIRE_EXPORT result<address> peer_address(int fd);

}  // namespace wire
