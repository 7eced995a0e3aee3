// A connected TCP socket on a loop: derive from it. The loop reads and writes; the stream is given
// the bytes that came and queues bytes to send. It looks the same whether the loop's engine works
// by readiness (epoll) or by completion (io_uring).
//
//     struct echo : wire::stream {
//         void on_data(std::span<char> bytes) override { write({bytes.data(), bytes.size()}); }
//         void on_end() override { shutdown_write(); }
//         void on_failure(const wire::error&) override { delete this; }
//     };
//
// It owns no receive buffer: bytes arrive in the loop's scratch, and a derived class copies what it
// wants to keep beyond on_data(). Storage for bytes to send is lent by the loop's pool until they
// are gone.
//
// All belongs to the loop's thread. Any callback may close() the stream, and may destroy it as the
// last thing it does. After close(), a failure or destruction no callback comes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/detail/stream_core.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"
#include "wire/loop/stream_filter.hpp"

namespace wire {

// Not copyable or movable: the loop keeps its address. It may be used again after it was closed.
class WIRE_EXPORT stream : private detail::stream_core {
public:
    // Closed.
    stream() noexcept;
    // Closes; no callback comes.
    ~stream() override;
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    // ---- beginning ----

    // Closes, and lets the next connection of this stream, and only that, run through `filter`:
    // out() then holds, and on_data() gives, what is behind it. The stream opens, and sends what is
    // in out(), when the filter's handshake is complete.
    void set_filter(std::unique_ptr<stream_filter> filter) noexcept {
        stream_core::set_filter(std::move(filter));
    }
    // Null when there is none, and once closed. Owned by the stream.
    stream_filter* filter() const noexcept { return filter_.get(); }

    // Closes, then takes over a connected, non-blocking socket: the stream is open at once. With a
    // filter on_open() or on_failure() follows. `loop` must outlive the connection. Fails, and
    // stays closed, when the loop cannot watch the socket or can hold no more streams, or when the
    // filter refuses to begin.
    result<void> attach(event_loop& loop, unique_fd socket) {
        return stream_core::attach(loop, std::move(socket));
    }
    // Lets what follows on an open stream run through `filter`, whose handshake begins now:
    // on_open() or on_failure() follows. Precondition: is_open(), without a filter, and nothing
    // unsent. Fails, and closes, when the filter refuses to begin.
    result<void> secure(std::unique_ptr<stream_filter> filter) {
        return stream_core::secure(std::move(filter));
    }
    // Closes, then begins to connect; on_open() or on_failure() follows from the loop, never from
    // inside this call. There is no time limit but the kernel's, which is minutes: arm a timer.
    // `loop` must outlive the connection. Fails, and stays closed, when no socket can be had or
    // bound, or when the kernel knows at once that there is no way.
    result<void> connect(event_loop& loop, const address& to, const connect_options& options = {}) {
        return stream_core::connect(loop, to, options);
    }

    // ---- what it is now ----

    // Connected, with the filter's handshake complete: bytes may flow both ways.
    bool is_open() const noexcept { return state_ == state::open; }
    // Before the first connection, and after close() or a failure.
    bool is_closed() const noexcept { return state_ == state::closed; }
    // Null once closed.
    event_loop* loop() const noexcept { return io_source::loop(); }
    // The socket, for getsockopt() and the like; owned by the stream. -1 once closed, and where the
    // loop's engine is io_uring: the socket is then no descriptor of the process.
    int fd() const noexcept { return io_source::fd() < 0 ? -1 : io_source::fd(); }
    // Whether nothing has come that was not handed over yet: no bytes, no end, no failure. Asks the
    // kernel: a system call. Precondition: is_open().
    bool quiet() const noexcept { return stream_core::quiet(); }

    // ---- sending ----

    // Bytes to send. Append to the buffer, then call flush_later(): they leave at the end of the
    // iteration, together with those of all other streams. Unbounded: see unsent(). What is
    // appended while connecting leaves when the stream opens; closing drops it.
    buffer& out() { return stream_core::out(); }
    // Sends what is in out() at the end of the iteration. A stream that is closed or connecting
    // does nothing.
    void flush_later() noexcept { stream_core::flush_later(); }
    // Both: queues a copy of `bytes`. Throws std::bad_alloc.
    void write(std::string_view bytes) {
        out().append(bytes);
        flush_later();
    }
    // Sends now what can be sent; nothing while the socket is known to be full. False when the
    // stream is closed or broken; on_failure() then comes from the loop. With io_uring bytes are
    // under way from here to the next iteration, and count as unsent.
    bool flush() noexcept { return stream_core::flush(); }
    // Sends `bytes` now, behind what is unsent, as flush() does, and copies nothing that the socket
    // takes at once. Not empty; they must stay as they are for as long as the loop lives.
    bool send_lasting(std::string_view bytes) noexcept { return stream_core::send_lasting(bytes); }
    // Bytes that the kernel has not taken. Stop producing while it is large, and go on from
    // on_drained(). With a filter, what it has to say by itself counts only once the socket is
    // full: it leaves with the next bytes.
    std::size_t unsent() const noexcept { return stream_core::unsent(); }
    // Bytes that have left out(): the kernel has taken them, with a filter the filter has, 64 KiB
    // at a time. Counted over all connections of this object.
    std::uint64_t taken() const noexcept { return stream_core::taken(); }
    // Whether bytes wait for room in the socket: on_drained() follows.
    bool is_full() const noexcept { return waiting_to_write_; }
    // Sends FIN (after the filter's closing notice) once what is unsent has gone. Receiving goes
    // on.
    void shutdown_write() noexcept { stream_core::shutdown_write(); }

    // ---- receiving ----

    // Backpressure toward the peer: no on_data() and no on_end() until resume_reading(). When the
    // connection breaks meanwhile, on_failure() comes at once, and what the kernel has received and
    // not handed over is lost. But what the stream itself has taken (with a filter, and with
    // io_uring, there may be some) is given first, after resume_reading(); unless there is
    // something to send, which fails.
    void pause_reading() noexcept { stream_core::pause_reading(); }
    // on_data() comes again from the loop, never from inside this call.
    void resume_reading() noexcept { stream_core::resume_reading(); }
    // Not paused. True for a new connection.
    bool reading() const noexcept { return reading_; }

    // When the last of the bytes that on_data() is being given came to this host, on the loop's
    // clock: not when this thread looked, which is later by as long as it waited for its core.
    // Precondition: the stream connected with connect_options::note_arrivals.
    time_point arrival() const noexcept { return loop()->core().arrivals().arrived(); }

    // An iteration of the loop that waits for this stream alone, in recv() itself: two system calls
    // for a request and its answer where an ordinary iteration has three. For callers that block
    // for just this answer, not from inside a callback. False when nothing came: at the latest
    // after alone_at_most, and at once where such a wait will not do (with io_uring, while bytes
    // are unsent, when a timer is due sooner or `longest` is shorter); then call run_once().
    bool run_alone(clock::duration longest = event_loop::forever) noexcept {
        return stream_core::run_alone(longest);
    }
    // The same.
    template <typename Rep, typename Period>
    bool run_alone(std::chrono::duration<Rep, Period> longest) noexcept {
        return stream_core::run_alone(detail::to_wait(longest));
    }
    // Not shorter: a wait that the kernel must end within a few ticks costs it 2 to 3 us more (5%
    // of a round trip on loopback).
    static constexpr std::chrono::milliseconds alone_at_most = detail::longest_alone;

    // ---- ending ----

    // Drops what is unsent and closes at once, after the filter's closing notice if that goes at
    // once. With `reset` the peer sees RST, and the port does not linger in TIME_WAIT. Nothing
    // happens when it is closed.
    void close(bool reset = false) noexcept { stream_core::close(reset); }

protected:
    // Callbacks, on the loop's thread. They must not throw.

    // Only with a filter: the TCP connection stands, the handshake begins.
    void on_connected() override {}
    // It connected, or the filter's handshake is complete. Not called for attach() without a
    // filter.
    void on_open() override {}
    // `bytes` may be changed in place; they die when this returns. Not empty.
    void on_data(std::span<char> bytes) override = 0;
    // Where to receive next: the loop's scratch, or storage of one's own, into which a large body
    // then comes without a copy. Not empty; it must live until on_data() or the end.
    std::span<char> receive_space(std::span<char> scratch) override { return scratch; }
    // The peer will send no more. The stream stays open for writing until close(). With a filter, a
    // FIN without the filter's own end is not this but a failure, errc::truncated: anybody on the
    // way could have sent it.
    void on_end() override = 0;
    // Only with a filter, which failed, or within which the connection ended: it is still there,
    // and can be asked about `why`. on_failure() follows. Do not close or destroy the stream here.
    void before_failure(stream_filter& filter, const error& why) override {
        static_cast<void>(filter);
        static_cast<void>(why);
    }
    // It broke, could not connect, or (errc::none) both directions have finished; already closed.
    void on_failure(const error& why) override = 0;
    // Just before bytes are handed to the kernel (again for what it left over): the moment for a
    // send time-stamp.
    void before_send() override {}
    // All bytes have gone, after some had to wait: the socket was full, or (io_uring) unsent() was
    // asked while they were under way.
    void on_drained() override {}
};

}  // namespace wire
