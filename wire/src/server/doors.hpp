// The listening sockets of a server. Its loops accept from copies; these are kept for handing over,
// and close with the first loop that accepts no more. Any thread.
#pragma once

#include <mutex>
#include <vector>

#include "wire/loop/unix_socket.hpp"

namespace wire::http::detail {

class doors {
public:
    doors() = default;
    doors(const doors&) = delete;
    doors& operator=(const doors&) = delete;

    void add(unique_fd listening) { sockets_.push_back(std::move(listening)); }
    void keep(socket_file file) noexcept { file_ = std::move(file); }
    // While no loop runs.
    const std::vector<unique_fd>& sockets() const noexcept { return sockets_; }

    // Copies of all, close-on-exec; none once they are closed. The file of a Unix socket then
    // stays.
    result<std::vector<unique_fd>> hand_over();
    // Closes them, and removes the file of a Unix socket that was not handed over.
    void close() noexcept;

private:
    std::mutex mutex_;
    std::vector<unique_fd> sockets_;  // guarded by mutex_, once loops run
    socket_file file_;                // guarded by mutex_, once loops run
};

// A copy of a descriptor, close-on-exec.
result<unique_fd> copy_of(const unique_fd& fd);

}  // namespace wire::http::detail
