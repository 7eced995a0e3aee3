// What connecting begins with, for those who connect in another way.
#pragma once

#include <chrono>

#include "wire/loop/socket.hpp"

namespace wire::detail {

// The socket of connect_tcp(), bound as asked, not yet connecting.
result<unique_fd> open_tcp(const address& to, const connect_options& options, bool blocks = false);

// For those who block: a socket that does, too, where a call is not told otherwise. Waits for the
// connection at most `longest`, which is not 0; where `stands` is false after that, one waits on as
// with connect_tcp()'s.
struct waited_for {
    unique_fd socket;
    bool stands = false;
};
result<waited_for> connect_waiting(const address& to, const connect_options& options,
                                   std::chrono::microseconds longest);

}  // namespace wire::detail
