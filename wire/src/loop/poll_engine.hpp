// The engine of a blocking client's loop: poll(). Such a loop often lives for one request and
// watches one socket. Making an epoll instance and an eventfd for it, and registering the socket,
// would cost as many system calls again as the request itself.
#pragma once

#include <poll.h>

#include <vector>

#include "readiness_engine.hpp"

namespace wire::detail {

class poll_engine final : public readiness_engine {
public:
    explicit poll_engine(event_loop& loop) noexcept : readiness_engine(loop, sockets::blocking) {}

    loop_engine name() const noexcept override { return loop_engine::epoll; }
    std::size_t wait_and_dispatch(clock::duration longest, bool queued) override;
    int descriptor() noexcept override { return -1; }
    result<void> watch(io_source& source, int fd, ready interest) override;
    void rewatch(io_source& source, ready interest) noexcept override;
    void unwatch(io_source& source) noexcept override;

private:
    std::size_t place_of(const io_source& source) const noexcept;

    // Parallel. A source that is gone, perhaps in the middle of an iteration, leaves its place
    // free: null, and -1, which poll() passes over.
    std::vector<io_source*> sources_;
    std::vector<pollfd> polled_;
};

}  // namespace wire::detail
