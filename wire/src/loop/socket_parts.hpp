// Sockets that are not connected by connect_tcp(): by io_uring, or by a client that blocks. And
// what the kernel notes of received bytes.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <ctime>
#include <optional>

#include "wire/loop/socket.hpp"

namespace wire::detail {

// The socket of connect_tcp(), bound as asked, not yet connecting. `blocks`: without O_NONBLOCK.
result<unique_fd> open_tcp(const address& to, const connect_options& options, bool blocks = false);

// Sets the options of a TCP socket, unless it is off. False, with errno, for what cannot be.
bool set_keep_alive(int fd, const tcp_keep_alive& how) noexcept;

// When the bytes of this message came, on CLOCK_REALTIME, if the kernel noted it
// (connect_options::note_arrivals).
std::optional<std::chrono::nanoseconds> arrival_stamp(const msghdr& received) noexcept;
// Room for what it notes.
constexpr std::size_t arrival_note_bytes = CMSG_SPACE(sizeof(timespec));

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
