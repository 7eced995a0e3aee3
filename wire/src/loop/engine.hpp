// The one interface through which a loop and its streams reach the kernel. Three stand behind it:
//
//     engine                  abstract
//       readiness_engine      streams over recv() and send() (readiness_streams.cpp); abstract
//         epoll_engine        the usual one
//         poll_engine         of a blocking client's loop, which lives for a few calls
//       uring_engine          streams over completions (uring_streams.cpp)
//
// A loop owns its engine and has one for life, which make_engine() chooses. All belongs to the
// loop's thread. There is a virtual call for each wait and each system call of a stream; events are
// dispatched by the engine itself, without one.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"

namespace wire::detail {

class stream_core;

class engine {
public:
    explicit engine(event_loop& loop) noexcept : loop_(loop), core_(loop.core()) {}
    virtual ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    // What event_loop::engine() says.
    virtual loop_engine name() const noexcept = 0;

    // ---- for the loop ----

    // Waits at most `longest`, takes the events that are ready, refreshes the loop's time and
    // serves them; how many were of interest to anybody outside. `queued`: hooks wait already, so
    // that it must not wait.
    virtual std::size_t wait_and_dispatch(clock::duration longest, bool queued) = 0;
    // Hands the kernel what is queued for it; the next wait would do so, too.
    virtual void submit() noexcept {}
    // Whether there is something to do that the kernel will not announce.
    virtual bool wants_iteration() const noexcept { return false; }
    // Readable when an iteration may have something to do; -1 when there is no such thing.
    virtual int descriptor() noexcept = 0;

    // As event_loop has them. `source` is watched by this loop in the last two.
    virtual result<void> watch(io_source& source, int fd, ready interest) = 0;
    virtual void rewatch(io_source& source, ready interest) noexcept = 0;
    virtual void unwatch(io_source& source) noexcept = 0;

    // ---- for streams ----

    // Takes over a connected socket, or begins to connect; the stream is told how that ended.
    virtual result<void> attach(stream_core& s, unique_fd socket) = 0;
    virtual result<void> connect(stream_core& s, const address& to,
                                 const connect_options& options) = 0;
    // Closes the socket; the stream knows no loop afterwards.
    virtual void close(stream_core& s, bool reset) noexcept = 0;
    // Sends what is unsent, as far as the socket takes it, and goes on by itself when it takes
    // more. False, with the errno, when the connection is broken; without one, when the filter
    // failed.
    virtual bool send(stream_core& s, int& number) noexcept = 0;
    // Sends `bytes`, not empty, which outlive the loop, likewise; what the socket does not take at
    // once may be copied. Precondition: the stream is open, without a filter, and has nothing
    // unsent.
    virtual bool send_lasting(stream_core& s, std::string_view bytes, int& number) noexcept = 0;
    // After send() failed: reads, once, what the peer sent before it closed, such as why it refuses
    // a request. False when there is nothing; else it may end with the stream destroyed.
    virtual bool read_rest(stream_core&) noexcept { return false; }
    // Sends `last` if it goes at once, for a stream that is about to close. Not empty.
    virtual void send_at_once(stream_core& s, buffer& last) noexcept = 0;
    // Bytes that the kernel has been given and still reads. Whoever asks is told by on_drained()
    // when they have gone: a stream that nobody asks about is spared the call.
    virtual std::size_t under_way(const stream_core&) noexcept { return 0; }
    // Whether the stream wants to read, or waits for room to write, has changed.
    virtual void update_interest(stream_core& s) noexcept = 0;
    // Whether nothing has come for the stream that it was not given.
    virtual bool quiet(const stream_core& s) noexcept = 0;
    // One iteration that waits in recv() for this stream alone; false when nothing came, or it
    // cannot be waited for so.
    virtual bool run_alone(stream_core&) noexcept { return false; }

protected:
    // Notes in a source what it is now watched for, by whom.
    void watched(io_source& source, int fd, ready interest) noexcept {
        source.loop_ = &loop_;
        source.fd_ = fd;
        source.interest_ = interest;
    }
    static void unwatched(io_source& source) noexcept {
        source.loop_ = nullptr;
        source.fd_ = -1;
        source.interest_ = ready::none;
    }

    event_loop& loop_;
    loop_core& core_;
};

// What a loop is for: anything, or one caller that blocks (see blocking_loop()).
enum class loop_use { any, blocking };

// The only place where an engine is chosen.
result<std::unique_ptr<engine>> make_engine(event_loop& loop, const loop_options& options,
                                            loop_use use);

// That of io_uring. Fails where the host forbids it, and says what does.
result<std::unique_ptr<engine>> make_uring_engine(event_loop& loop, const loop_options& options);

}  // namespace wire::detail
