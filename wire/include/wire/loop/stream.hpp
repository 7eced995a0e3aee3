// A connected TCP socket on a loop: derive from it. The loop reads and writes; the stream is handed
// bytes and hands over bytes, so that the way they travel (readiness or completion) is the loop's
// own affair.
//
// It owns no receive buffer: bytes arrive in the loop's scratch, and what on_data() does not use up
// it keeps itself. Storage for bytes to send is lent by the loop's pool until they are gone.
//
// Any callback may close() the stream, and may destroy it as the last thing it does. After close(),
// a failure or destruction no callback comes. Not movable: the loop knows its address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"
#include "wire/loop/stream_filter.hpp"

namespace wire {

class stream : private io_source, private iteration_hook {
public:
    stream() noexcept;
    virtual ~stream();  // closes
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    // Closes, and lets the next connection of this stream, and only that, run through `filter`:
    // out() then holds, and on_data() gives, what is behind it. The stream opens, and sends what is
    // in out(), when the filter's handshake is complete.
    void set_filter(std::unique_ptr<stream_filter> filter) noexcept;
    // Null when there is none, and once closed.
    stream_filter* filter() const noexcept { return filter_.get(); }

    // Takes over a connected, non-blocking socket. With a filter on_open() or on_failure() follows.
    result<void> attach(event_loop& loop, unique_fd socket);
    // Lets what follows on an open stream run through `filter`, whose handshake begins now:
    // on_open() or on_failure() follows. Precondition: is_open(), without a filter, and nothing
    // unsent.
    result<void> secure(std::unique_ptr<stream_filter> filter);
    // Begins to connect; on_open() or on_failure() follows from the loop, never from inside this
    // call.
    result<void> connect(event_loop& loop, const address& to, const connect_options& options = {});

    bool is_open() const noexcept { return state_ == state::open; }
    bool is_closed() const noexcept { return state_ == state::closed; }
    // Null once closed.
    event_loop* loop() const noexcept { return io_source::loop(); }
    // -1 also where the loop's engine is io_uring: the socket is then no descriptor of the process.
    int fd() const noexcept { return io_source::fd() < 0 ? -1 : io_source::fd(); }
    // Whether nothing has come that was not handed over yet: no bytes, no end, no failure. Asks the
    // kernel. Precondition: is_open().
    bool quiet() const noexcept;

    // Bytes to send. Append to the buffer, then call flush_later(): they leave at the end of the
    // turn, together with those of all other streams. write() does both.
    buffer& out();
    void flush_later() noexcept;
    void write(std::string_view bytes) {
        out().append(bytes);
        flush_later();
    }
    // Sends now what can be sent; nothing while the socket is known to be full. False when the
    // stream is closed or broken; on_failure() then comes from the loop. With io_uring bytes are
    // under way from here to the next turn, and count as unsent.
    bool flush() noexcept;
    // With a filter, what it has to say by itself counts only once the socket is full: it leaves
    // with the next bytes.
    std::size_t unsent() const noexcept {
        return out_.size() +
               (filter_ != nullptr && waiting_to_write_ ? filter_->to_peer_.size() : 0) +
               (sending_ ? under_way() : 0);
    }

    // A turn of the loop that waits for this stream alone, in recv() itself: two system calls for a
    // request and its answer where a turn has three. For those who block for just this answer, not
    // from inside a callback. False when nothing came: at the latest after alone_at_most, and at
    // once where waiting so will not do (with io_uring, while bytes are unsent, when a timer is due
    // sooner or `longest` is shorter); then run a turn.
    bool run_alone(clock::duration longest = event_loop::forever) noexcept;
    // Not shorter: a wait that the kernel must end within a few ticks costs it 2 to 3 us more (5%
    // of a round trip on loopback).
    static constexpr std::chrono::milliseconds alone_at_most{50};

    // Lets the kernel note when bytes come, for arrival(); until the stream closes. Receiving costs
    // 0.1 to 0.2 us more. False where it does not: with io_uring. Precondition: is_open(), or with
    // a filter on_connected() was called.
    bool note_arrivals() noexcept;
    // When the last of the bytes that on_data() is being given came to this host, on the loop's
    // clock: not when we came to look, which is later by as long as this thread waited for its
    // core. Precondition: note_arrivals() was true.
    time_point arrival() const noexcept { return loop()->arrived_; }

    // Backpressure toward the peer.
    void pause_reading() noexcept;
    void resume_reading() noexcept;
    bool reading() const noexcept { return reading_; }

    // Sends FIN (after the filter's last words) once what is unsent has gone.
    void shutdown_write() noexcept;
    // Drops what is unsent and closes at once. With `reset` the peer sees RST, and the port does
    // not linger in TIME_WAIT.
    void close(bool reset = false) noexcept;

protected:
    // Only with a filter: the TCP connection stands, the handshake begins.
    virtual void on_connected() {}
    virtual void on_open() {}
    // `bytes` may be changed in place; they die when this returns.
    virtual void on_data(std::span<char> bytes) = 0;
    // Where to receive next: the loop's scratch, or storage of one's own, into which a large body
    // then comes without a copy. Not empty.
    virtual std::span<char> receive_space(std::span<char> scratch) { return scratch; }
    // The peer will send no more. The stream stays open for writing until close(). With a filter, a
    // FIN without the filter's own end is not this but a failure, errc::truncated: anybody on the
    // way could have sent it.
    virtual void on_end() = 0;
    // It broke, could not connect, or (errc::none) both directions have finished; already closed.
    virtual void on_failure(const error& why) = 0;
    // Just before bytes are handed to the kernel (again for what it left over): the moment for a
    // send time-stamp.
    virtual void before_send() {}
    // All bytes have gone, after some had to wait: the socket was full, or (io_uring) unsent() was
    // asked while they were under way.
    virtual void on_drained() {}

private:
    friend class detail::uring_engine;

    // Securing: the filter's handshake.
    enum class state : std::uint8_t { closed, connecting, securing, open };

    static void ready_callback(io_source& source, ready what) noexcept;
    static void hook_callback(iteration_hook& hook) noexcept;
    void on_connect_ready() noexcept;
    // What both engines have to say: how connecting ended, that the peer sent FIN, that receiving
    // failed.
    void connected(int number) noexcept;
    void peer_finished() noexcept;
    void receive_failed(int number) noexcept;
    bool receive_some(int flags) noexcept;
    ssize_t receive_into(std::span<char> space, int flags) noexcept;
    void fail(int number, std::string_view what) noexcept;
    bool send_some(int& number) noexcept;
    // What travels: out(), or what the filter makes of it.
    buffer& raw_out() noexcept { return filter_ != nullptr ? filter_->to_peer_ : out_; }
    std::size_t under_way() const noexcept;
    // With a filter (stream_filter.cpp).
    void begin_filtered() noexcept;
    bool receive_filtered(int flags) noexcept;
    void take_raw(std::span<const char> raw) noexcept;
    bool encode_some() noexcept;
    void fail_filtered(const error& why) noexcept;
    void say_last_words() noexcept;
    void send_at_once(buffer& last) noexcept;
    void update_interest() noexcept;

    buffer out_;
    std::unique_ptr<stream_filter> filter_;
    int failed_errno_ = 0;  // found by flush(), reported at the end of the turn
    state state_ = state::closed;
    bool reading_ = true;
    bool waiting_to_write_ = false;
    bool ended_ = false;  // the peer's FIN was seen
    bool shutdown_wanted_ = false;
    bool sending_ = false;  // io_uring: the kernel has bytes to send
    bool notes_arrivals_ = false;
    bool blocking_ = false;  // the socket blocks where it is not told otherwise: run_alone()
};

}  // namespace wire
