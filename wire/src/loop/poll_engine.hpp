// What serves the loop of a blocking client: poll(). Such a loop often lives for one request and
// watches one socket: to tell the kernel of it, and to make an epoll instance and an eventfd for
// that, would be as many system calls again as the request has.
#pragma once

#include <poll.h>

#include <memory>
#include <vector>

#include "wire/loop/event_loop.hpp"

namespace wire::detail {

// A loop for one thread that waits for one thing after another, and hands the loop to nobody. It
// cannot be embedded. Who lets another thread post calls event_loop::make_wakeable() before;
// otherwise the loop may take 50 ms to find out.
std::unique_ptr<event_loop> blocking_loop();

class poll_engine {
public:
    void watch(event_loop& loop, io_source& source, int fd, ready interest);
    void rewatch(io_source& source, ready interest) noexcept;
    void unwatch(io_source& source) noexcept;
    // Waits, takes and serves.
    std::size_t turn(event_loop& loop, clock::duration longest);

private:
    std::size_t place_of(const io_source& source) const noexcept;

    // Parallel. A source that is gone, perhaps in the middle of a turn, leaves its place free:
    // null, and -1, which poll() passes over.
    std::vector<io_source*> sources_;
    std::vector<pollfd> polled_;
};

}  // namespace wire::detail
