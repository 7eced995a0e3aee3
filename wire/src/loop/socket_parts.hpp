// Sockets that are not connected by connect_tcp(): by io_uring, or by a client that blocks.
#pragma once

#include <chrono>

#include "wire/loop/socket.hpp"

namespace wire::detail {

// The socket of connect_tcp(), bound as asked, not yet connecting. `blocks`: without O_NONBLOCK.
result<unique_fd> open_tcp(const address& to, const connect_options& options, bool blocks = false);

// Sets the options of a TCP socket, unless it is off. False, with errno, for what cannot be.
bool set_keep_alive(int fd, const tcp_keep_alive& how) noexcept;

// For callers that block: a socket without O_NONBLOCK. Waits for the connection at most `longest`,
// which is not 0. Where `stands` is false after that, the socket becomes writable when the
// connection is decided, as one of connect_tcp() does.
struct waited_for {
    unique_fd socket;
    bool stands = false;
};
result<waited_for> connect_waiting(const address& to, const connect_options& options,
                                   std::chrono::microseconds longest);

}  // namespace wire::detail
