// Sockets without a loop: descriptors that close themselves, listening, connecting.
#pragma once

#include <optional>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/loop/address.hpp"

namespace wire {

class unique_fd {
public:
    unique_fd() noexcept = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~unique_fd() { reset(); }

    int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset() noexcept;
    explicit operator bool() const noexcept { return fd_ >= 0; }

private:
    int fd_ = -1;
};

struct listen_options {
    int backlog = 4096;       // the kernel cuts it at net.core.somaxconn
    bool reuse_port = false;  // several loops, one port, the kernel spreads connections
    bool v6_only = false;
};

// A non-blocking listening socket: SO_REUSEADDR, and TCP_NODELAY for what it accepts.
result<unique_fd> listen_tcp(const address& at, const listen_options& options = {});

struct connect_options {
    // Bind here first. With port 0 the port is chosen at connect time (IP_BIND_ADDRESS_NO_PORT), so
    // that a port may serve again toward another destination; with a port given, the kernel does
    // not have to search for a free one.
    std::optional<address> source;
    bool no_delay = true;  // TCP_NODELAY
};

// A non-blocking socket on which a connection was begun (or made): it is writable when that is
// decided, and take_socket_error() says how.
result<unique_fd> connect_tcp(const address& to, const connect_options& options = {});

// SO_ERROR as an error, or none.
errc take_socket_error(int fd) noexcept;

result<address> local_address(int fd);
result<address> peer_address(int fd);

}  // namespace wire
