// Accepts connections on a loop.
#pragma once

#include "wire/base/function.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"

namespace wire {

class listener {
public:
    // Given each new connection: non-blocking and close-on-exec.
    using accept_handler = unique_function<void(unique_fd, const address& peer)>;

    listener() noexcept;
    ~listener();

    // Starts accepting. The handler may close() the listener but not destroy it.
    result<void> start(event_loop& loop, unique_fd listening, accept_handler on_accept);
    void close() noexcept;
    bool open() const noexcept { return static_cast<bool>(fd_); }

private:
    static void on_ready(io_source& source, ready) noexcept;
    void accept_all() noexcept;
    void retry() noexcept;

    struct source : io_source {
        source(callback fn, listener& l) noexcept : io_source(fn), self(&l) {}
        listener* self;
    };

    event_loop* loop_ = nullptr;
    unique_fd fd_;
    accept_handler on_accept_;
    source source_;
    timer retry_;  // after the process ran out of descriptors
};

}  // namespace wire
