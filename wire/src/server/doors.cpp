// A server's listening sockets: copies for its loops and for its successor.
#include "doors.hpp"

#include <fcntl.h>

#include <cerrno>

namespace wire::http::detail {

result<unique_fd> copy_of(const unique_fd& fd) {
    unique_fd out(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!out) return system_failure(errno, "cannot copy a listening socket");
    return out;
}

result<std::vector<unique_fd>> doors::hand_over() {
    const std::lock_guard lock(mutex_);
    std::vector<unique_fd> out;
    for (const unique_fd& s : sockets_) {
        auto copy = copy_of(s);
        if (!copy) return copy.error();
        out.push_back(*std::move(copy));
    }
    if (!out.empty()) file_.keep();
    return out;
}

void doors::close() noexcept {
    const std::lock_guard lock(mutex_);
    sockets_.clear();
    file_.remove();
}

}  // namespace wire::http::detail
