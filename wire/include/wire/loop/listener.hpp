// Accepts connections on a loop.
#pragma once

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"

namespace wire {

// One listening socket. All belongs to the loop's thread, and the listener must end before the
// loop. Several loops can share a port: see listen_options::reuse_port, or copies (dup(2)) of one
// socket.
class WIRE_EXPORT listener {
public:
    // Given each new connection, non-blocking and close-on-exec, and who connected; on the loop's
    // thread. Attach the socket to a stream, or let it close. It must not throw.
    using accept_handler = unique_function<void(unique_fd, const address& peer)>;

    // Closed.
    listener() noexcept;
    // Closes.
    ~listener();

    // Whether this listener alone accepts from the socket, or others do too, of other threads or
    // processes.
    enum class use : std::uint8_t { alone, shared };

    // Closes what it had, and starts accepting on `listening`, which is non-blocking, and which it
    // owns from now on. The handler may close() the listener but not destroy it. Fails, and
    // stays closed, when the loop cannot watch the socket.
    //
    // One loop iteration accepts at most 512 connections, so that open ones are served under a
    // storm of new ones; 16 of a shared socket, so that others get theirs. While it cannot accept,
    // because the process has no descriptor left, say, it tries again every 100 ms.
    result<void> start(event_loop& loop, unique_fd listening, accept_handler on_accept,
                       use how = use::alone);
    // Accepts what waits already, then closes. Of a shared socket it may be this loop alone that
    // was woken for them, of which it accepts 512 at most; of any other, closing would reset them.
    void finish() noexcept;
    // Stops accepting and closes the socket. Accepted connections stay open. Nothing happens when
    // it is closed.
    void close() noexcept;
    // Whether it accepts.
    bool open() const noexcept { return static_cast<bool>(fd_); }

private:
    static void on_ready(io_source& source, ready) noexcept;
    void accept(int most) noexcept;
    result<void> watch() noexcept;
    void retry() noexcept;

    struct source : io_source {
        source(callback fn, listener& l) noexcept : io_source(fn), self(&l) {}
        listener* self;
    };

    event_loop* loop_ = nullptr;
    use use_ = use::alone;
    unique_fd fd_;
    accept_handler on_accept_;
    source source_;
    timer retry_;  // while it cannot accept
};

}  // namespace wire
