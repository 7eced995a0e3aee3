// The inside of a stream: its state, and what engines tell it. Not for users: stream is, which
// derives from this privately and says what each call does.
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
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"
#include "wire/loop/stream_filter.hpp"

namespace wire::detail {

// stream::alone_at_most.
constexpr std::chrono::milliseconds longest_alone{50};

// One thread's, the loop's. src/loop/stream.cpp has the table of its states.
class WIRE_EXPORT stream_core : public io_source, public iteration_hook {
public:
    // Securing: the filter's handshake.
    enum class state : std::uint8_t { closed, connecting, securing, open };

    stream_core() noexcept;
    virtual ~stream_core();

    // ---- what a stream's user calls ----

    void set_filter(std::unique_ptr<stream_filter> filter) noexcept;
    result<void> attach(event_loop& loop, unique_fd socket);
    result<void> secure(std::unique_ptr<stream_filter> filter);
    result<void> connect(event_loop& loop, const address& to, const connect_options& options);
    bool quiet() const noexcept;
    buffer& out() {
        if (state_ != state::closed) loop()->pool().lend(out_);
        return out_;
    }
    void flush_later() noexcept {
        if (state_ >= state::securing) loop()->at_iteration_end(*this);
    }
    bool flush() noexcept;
    bool send_lasting(std::string_view bytes) noexcept;
    std::uint64_t taken() const noexcept { return taken_; }
    std::size_t unsent() const noexcept {
        return out_.size() +
               (filter_ != nullptr && waiting_to_write_ ? filter_->to_peer_.size() : 0) +
               (sending_ ? under_way() : 0);
    }
    bool run_alone(clock::duration longest) noexcept;
    void pause_reading() noexcept;
    void resume_reading() noexcept;
    void shutdown_write() noexcept;
    void close(bool reset) noexcept;

    // ---- what a stream's user is told ----

    virtual void on_connected() = 0;
    virtual void on_open() = 0;
    virtual void on_data(std::span<char> bytes) = 0;
    virtual std::span<char> receive_space(std::span<char> scratch) = 0;
    virtual void on_end() = 0;
    virtual void before_failure(stream_filter& filter, const error& why) = 0;
    virtual void on_failure(const error& why) = 0;
    virtual void before_send() = 0;
    virtual void on_drained() = 0;

    // ---- what engines say; may end with the stream destroyed ----

    // How connecting ended: 0, or an errno.
    void connected(int number) noexcept;
    // The peer sent FIN.
    void peer_finished() noexcept;
    // Nothing happens any more: FIN was sent and received.
    void both_finished() noexcept;
    // The connection broke, with this errno: receiving failed, or nothing was received. Bytes that
    // were taken from the kernel and are held back, by a filter or by the engine, are given first,
    // unless there is something to send: that fails at once.
    void receive_failed(int number, bool engine_holds = false) noexcept;
    // `number`: an errno; 0 for the filter's own failure. `what` failed.
    void fail(int number, std::string_view what) noexcept;
    // Bytes came, for the filter.
    void take_raw(std::span<const char> raw) noexcept;

    // ---- what engines ask ----

    bool wants_to_read() const noexcept {
        return (reading_ || state_ == state::securing) && !ended_ && !broken_;
    }
    // Whether a filter keeps bytes that came before or during a pause. Once the user reads again
    // they are given at the end of the loop iteration, and the peer's FIN stands behind them.
    bool holds_back() const noexcept { return filter_ != nullptr && filter_->more_; }
    // The kernel has taken bytes of raw_out().
    void note_taken(std::size_t n) noexcept {
        if (filter_ == nullptr) taken_ += n;
    }
    // What travels: out(), or what the filter makes of it.
    buffer& raw_out() noexcept { return filter_ != nullptr ? filter_->to_peer_ : out_; }
    // Fills raw_out() from out(). False when the filter failed.
    bool encode_some() noexcept;

    // ---- state; engines change what the comment says ----

    buffer out_;
    std::unique_ptr<stream_filter> filter_;
    std::uint64_t taken_ = 0;  // bytes of out_, by the kernel or the filter
    int failed_errno_ = 0;     // found by flush() or receiving, reported at the end of an iteration
    state state_ = state::closed;
    bool reading_ = true;            // the user's wish
    bool waiting_to_write_ = false;  // the socket is full (engine)
    bool ended_ = false;             // the peer's FIN was seen, or the filter's end
    bool shutdown_wanted_ = false;   // FIN follows what is unsent (cleared by the engine)
    bool sending_ = false;           // io_uring: the kernel has bytes to send (engine)
    bool broken_ = false;            // receiving failed, and bytes are held back
    bool notes_arrivals_ = false;
    bool blocking_ = false;  // the socket blocks where it is not told otherwise (engine)

private:
    static void hook_callback(iteration_hook& hook) noexcept;
    detail::engine& engine() const noexcept { return loop()->core().engine(); }
    std::size_t under_way() const noexcept;
    void begin_filtered() noexcept;
    void fail_filtered(const error& why) noexcept;
    void say_last_words() noexcept;
    void send_at_once(buffer& last) noexcept;
    void update_interest() noexcept;
};

}  // namespace wire::detail
