// Listening sockets that another process made: socket activation, and a server's handover to its
// successor. server::listen() takes them; server::hand_over() gives them.
//
//     const char* pid = std::getenv("LISTEN_PID");
//     const char* count = std::getenv("LISTEN_FDS");
//     auto sockets = wire::listen_fds(pid ? pid : "", count ? count : "");
//     if (!sockets) return complain(sockets.error().message);
//     if (!sockets->empty()) server = http::server::listen(*std::move(sockets), routes);
#pragma once

#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/socket.hpp"

namespace wire {

// The sockets of socket activation (sd_listen_fds(3)), by the values of the environment's
// LISTEN_PID and LISTEN_FDS: none when either is empty or LISTEN_PID is another process; else the
// descriptors from 3 on, which are owned by what is returned, so that they may be asked for once.
// Makes them close-on-exec. errc::bad_argument for values that are no numbers, more than 1,000
// descriptors, and one that is not open. Call it before other threads start.
WIRE_EXPORT result<std::vector<unique_fd>> listen_fds(std::string_view listen_pid,
                                                      std::string_view listen_fds);

// Makes a listening stream socket, of TCP or Unix, ready for listener::start(): non-blocking (which
// all who share it then see), close-on-exec, and with TCP_NODELAY for what it accepts.
// errc::bad_argument for what is not such a socket.
WIRE_EXPORT result<void> prepare_inherited(const unique_fd& listening);

}  // namespace wire
