// Streams: the states of a connection, alike on every engine.
//
//     state        what it waits for                  leaves to
//     closed       attach(), connect()                connecting, securing, open
//     connecting   the kernel: connected()            open; securing, with a filter; closed
//     securing     the filter's handshake             open; closed
//     open         bytes, FIN, close()                closed
//
//     event                        in            what happens
//     attach(), no filter          closed        -> open, without on_open()
//     connected(0)                 connecting    -> open, on_open(); with a filter -> securing
//     filter's handshake complete  securing      -> open, on_open()
//     FIN of the peer              open          ended_; on_end(); stays open for writing
//     FIN of the peer              with filter   failure, unless the filter has ended before
//     any error                    any           -> closed, then on_failure()
//     receiving fails, or an end   open, bytes   broken_, failed_errno_; when they have been given
//     of both during a pause       held back     -> closed, then on_failure()
//     flush() finds an error       open          failed_errno_; on_failure() from the loop, when
//                                                all that came before it has been read
//     both directions finished     open          -> closed, then on_failure(errc::none)
//     close()                      any           -> closed, no callback
//
// While it is open: bytes in out_ leave from hook_callback(), at the end of a loop iteration.
// waiting_to_write_ says that the socket is full; the engine goes on by itself and then calls
// on_drained().
//
// The user owns the stream; the stream owns its filter and its socket (by way of its engine); the
// loop's pool owns the storage of out_ while it is empty. All is on the loop's thread. What calls
// the user last looks at nothing of the stream afterwards: it may be gone.
//
// stream_filter.cpp has the part that needs a filter, readiness_streams.cpp and uring_streams.cpp
// the part that needs the kernel.
#include "wire/loop/stream.hpp"

#include <cerrno>

#include "engine.hpp"

namespace wire {

stream::stream() noexcept = default;
stream::~stream() = default;

}  // namespace wire

namespace wire::detail {

stream_core::stream_core() noexcept
    : io_source(nullptr),  // the engine that takes the stream sets it
      iteration_hook(&stream_core::hook_callback) {}

stream_core::~stream_core() { close(false); }

result<void> stream_core::attach(event_loop& loop, unique_fd socket) {
    close(false);
    out_.release();
    reading_ = true;
    if (auto r = loop.core().engine().attach(*this, std::move(socket)); !r) return r;
    state_ = filter_ != nullptr ? state::securing : state::open;
    if (filter_ == nullptr) return {};
    const auto begun = filter_->begin(filter_->to_peer_);
    if (!begun) {
        close(false);
        return begun;
    }
    if (!filter_->to_peer_.empty()) loop.at_iteration_end(*this);
    return {};
}

result<void> stream_core::connect(event_loop& loop, const address& to,
                                  const connect_options& options) {
    close(false);
    out_.release();
    reading_ = true;
    if (auto r = loop.core().engine().connect(*this, to, options); !r) return r;
    state_ = state::connecting;
    notes_arrivals_ = options.note_arrivals;
    return {};
}

void stream_core::close(bool reset) noexcept {
    if (state_ == state::closed) return;
    if (filter_ != nullptr && !reset) say_last_words();
    state_ = state::closed;
    notes_arrivals_ = false;
    iteration_hook::unlink();
    if (filter_ != nullptr) {
        loop()->pool().reclaim(filter_->to_peer_);
        filter_.reset();
    }
    loop()->pool().reclaim(out_);
    engine().close(*this, reset);
    failed_errno_ = 0;
    waiting_to_write_ = ended_ = shutdown_wanted_ = sending_ = blocking_ = broken_ = false;
}

bool stream_core::run_alone(clock::duration longest) noexcept {
    if (state_ < state::securing || (state_ == state::open && !reading_) || ended_ || broken_ ||
        waiting_to_write_ || queued())
        return false;
    const loop_core& l = loop()->core();
    if (l.has_posted()) return false;
    if (longest < longest_alone || l.next_timer_within(longest_alone)) return false;
    return engine().run_alone(*this);
}

void stream_core::connected(int number) noexcept {
    if (number != 0) {
        fail(number, "connect");
        return;
    }
    if (filter_ != nullptr) {
        begin_filtered();
        return;
    }
    state_ = state::open;
    update_interest();
    if (!out_.empty() || shutdown_wanted_) flush_later();  // asked for while it was connecting
    on_open();
}

void stream_core::peer_finished() noexcept {
    if (filter_ != nullptr) {
        fail_filtered({errc::truncated,
                       state_ == state::open
                           ? "the connection's end, without the peer's word that it has sent all"
                           : "handshake: the peer closed the connection"});
        return;
    }
    ended_ = true;
    update_interest();
    on_end();
}

void stream_core::both_finished() noexcept {
    close(false);
    on_failure(error(errc::none, "both directions have finished"));
}

void stream_core::receive_failed(int number, bool engine_holds) noexcept {
    const bool sends = waiting_to_write_ || sending_ || !out_.empty();
    if (state_ != state::open || sends || (!engine_holds && !holds_back())) {
        fail(number, state_ == state::open ? "receive" : "handshake");
        return;
    }
    failed_errno_ = number;
    broken_ = true;
    update_interest();
}

void stream_core::fail(int number, std::string_view what) noexcept {
    if (number == 0 && filter_ != nullptr) {
        fail_filtered(filter_->failure_);
        return;
    }
    if (filter_ != nullptr) filter_->finished_ = true;  // nobody to say it to
    close(false);
    on_failure(system_failure(number, what));
}

void stream_core::hook_callback(iteration_hook& hook) noexcept {
    auto& s = static_cast<stream_core&>(hook);
    if (s.filter_ != nullptr) {
        if (s.filter_->failure_) {
            s.fail_filtered(s.filter_->failure_);
            return;
        }
        if (s.filter_->more_ && s.reading_ && s.state_ == state::open) {
            s.loop()->at_iteration_end(s);  // for what the callbacks may want to send
            s.loop()->core().arrivals().note(std::nullopt, s.loop()->now());
            s.take_raw({});
            return;
        }
        // Until the user reads again, or has something to send.
        if (s.broken_ && s.filter_->more_ && s.out_.empty()) return;
    }
    int number = s.failed_errno_;
    if (s.waiting_to_write_ && number == 0) return;
    if (number == 0 && s.engine().send(s, number)) return;
    if (number == EPIPE || number == ECONNRESET) {
        // Here again when that was read, to fail when nothing more has come.
        s.failed_errno_ = number;
        s.loop()->at_iteration_end(s);
        if (s.engine().read_rest(s)) return;
    }
    s.fail(number, s.broken_ ? "receive" : "send");
}

bool stream_core::flush() noexcept {
    if (state_ == state::connecting || state_ == state::securing) return true;
    if (state_ == state::closed) return false;
    if (failed_errno_ != 0) {
        if (!out_.empty()) flush_later();  // which fails, though receive_failed() let it wait
        return false;
    }
    if (waiting_to_write_) return true;  // the loop goes on when the socket can take more
    loop()->core().present();            // for before_send(), perhaps long after the last iteration
    int number = 0;
    if (engine().send(*this, number)) return true;
    failed_errno_ = number;
    loop()->at_iteration_end(*this);
    return false;
}

bool stream_core::send_lasting(std::string_view bytes) noexcept {
    if (state_ != state::open) return false;
    if (filter_ != nullptr || sending_ || !out_.empty() || failed_errno_ != 0) {
        out().append(bytes);
        return flush();
    }
    int number = 0;
    if (engine().send_lasting(*this, bytes, number)) return true;
    failed_errno_ = number;
    loop()->at_iteration_end(*this);
    return false;
}

std::size_t stream_core::under_way() const noexcept { return engine().under_way(*this); }

bool stream_core::quiet() const noexcept {
    if (holds_back() || (filter_ != nullptr && filter_->has_ended())) return false;
    return engine().quiet(*this);
}

void stream_core::pause_reading() noexcept {
    reading_ = false;
    update_interest();
}

void stream_core::resume_reading() noexcept {
    reading_ = true;
    update_interest();
    // What came before the pause is given from there.
    if (holds_back()) flush_later();
}

void stream_core::shutdown_write() noexcept {
    if (state_ == state::closed) return;
    shutdown_wanted_ = true;
    flush_later();
}

void stream_core::update_interest() noexcept {
    if (state_ >= state::securing) engine().update_interest(*this);
}

}  // namespace wire::detail
