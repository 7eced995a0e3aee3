// Unix sockets: listening at a path of the file system, or at a name of Linux's abstract namespace,
// and connecting to one.
//
//     auto l = wire::listen_unix("/run/app/http.sock", {.mode = 0660});
//     auto s = wire::connect_unix("/run/app/http.sock");
//
// A path is at most 107 bytes long. A relative one starts at the working directory of the moment; a
// socket_file finds its file after a chdir(), too. One that begins with '@' is an abstract name: no
// file, no permissions (any process in the same network namespace may connect), and gone with its
// socket. Any thread may call these functions. None waits, but listen_unix() for another that is
// about to listen in the same folder: a second at most.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/socket.hpp"

namespace wire {

// The file at which a Unix socket is bound: removed when this ends, unless another file has taken
// its place meanwhile.
class WIRE_EXPORT socket_file {
public:
    // None, also for an abstract name.
    socket_file() noexcept = default;
    // The file that is at `path` now.
    explicit socket_file(std::string path);
    socket_file(socket_file&& other) noexcept;
    // Removes what it had.
    socket_file& operator=(socket_file&& other) noexcept;
    ~socket_file() { remove(); }

    // Removes it now.
    void remove() noexcept;
    // Leaves it where it is, for good.
    void keep() noexcept { path_.clear(); }

private:
    std::string path_;  // empty: none
    dev_t device_ = 0;
    ino_t number_ = 0;
};

// How to listen.
struct unix_listen_options {
    // Connections that wait to be accepted; the kernel cuts it at net.core.somaxconn.
    int backlog = 4096;
    // The permissions of the file, exactly, whatever the process's umask: who may write to it may
    // connect. Never wider than this, not even for a moment.
    mode_t mode = 0600;
};

// A non-blocking socket that listens, and its file, which lives as long as this is kept.
struct unix_listening {
    unique_fd socket;
    socket_file file;
};

// A file that an earlier process left there is replaced, if it is a socket on which nobody listens.
// errc::address_in_use when somebody does, or the file is no socket; errc::bad_argument for a path
// that is empty, too long or holds NUL; errc::system_error otherwise.
WIRE_EXPORT result<unix_listening> listen_unix(std::string_view path,
                                               const unix_listen_options& options = {});

// A connected, non-blocking socket: Unix sockets connect at once or not at all. errc::refused when
// there is no such socket or nobody listens on it, errc::queue_full when the connections that wait
// there are as many as may, so that a later attempt may succeed; errc::bad_argument as above,
// errc::system_error otherwise, such as without the right to write to the file.
WIRE_EXPORT result<unique_fd> connect_unix(std::string_view path);

}  // namespace wire
