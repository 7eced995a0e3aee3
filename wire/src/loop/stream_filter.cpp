// The part of a stream that only one with a filter needs. Bytes pass through these places:
//
//     socket -> held_ (while the user does not read) -> filter.receive() -> on_data()
//     out_ -> filter.send(), 64 KiB at a time -> to_peer_ -> socket
//
//     filter_state    set when                               what follows
//     more_           receive() has more to give, or the     hook_callback() goes on
//                     end to tell
//     failure_        send() failed                          fail_filtered(), from the loop
//     finished_       the closing notice was appended,       nothing more is encoded
//                     or nobody is left to say it to
//     gone_           a callback runs                        tells that it destroyed the stream
//
// The stream owns the filter until it closes; both are the loop's thread's.
#include "wire/loop/stream_filter.hpp"

#include <algorithm>

#include "engine.hpp"
#include "wire/loop/stream.hpp"

namespace wire::detail {

namespace {

// Encoded at a time: a large message is never held whole in both forms.
constexpr std::size_t most_at_once = 64 * 1024;
// What a peer may make us owe it while it takes nothing: the largest handshake flight and to spare.
constexpr std::size_t most_owed = 256 * 1024;

}  // namespace

void stream_core::set_filter(std::unique_ptr<stream_filter> filter) noexcept {
    close(false);
    filter_ = std::move(filter);
}

void stream_core::begin_filtered() noexcept {
    state_ = state::securing;
    update_interest();
    stream_filter& f = *filter_;
    bool gone = false;
    f.gone_ = &gone;
    on_connected();
    if (gone) return;
    f.gone_ = nullptr;
    const auto begun = f.begin(f.to_peer_);
    if (!begun) {
        fail_filtered(begun.error());
        return;
    }
    flush_later();
}

result<void> stream_core::secure(std::unique_ptr<stream_filter> filter) {
    filter_ = std::move(filter);
    state_ = state::securing;
    update_interest();
    const auto begun = filter_->begin(filter_->to_peer_);
    if (!begun) {
        close(false);
        return begun;
    }
    flush_later();
    return {};
}

// May end with the stream destroyed.
void stream_core::take_raw(std::span<const char> raw) noexcept {
    stream_filter& f = *filter_;
    bool gone = false;
    f.gone_ = &gone;
    buffer earlier = std::move(f.held_);
    if (!earlier.empty()) {
        earlier.append({raw.data(), raw.size()});
        raw = earlier.bytes();
    }
    f.more_ = true;
    while (f.more_ && (reading_ || state_ != state::open)) {
        const auto scratch = loop()->scratch();
        const auto space = receive_space(scratch.first(scratch.size() / 2));
        const auto step = f.receive(raw, space, f.to_peer_);
        if (!step) {
            fail_filtered(step.error());
            return;
        }
        raw = raw.subspan(step->consumed);
        if (f.to_peer_.size() > most_owed) {
            fail_filtered(
                {errc::tls_failed, "the peer does not take the answers that it asks for"});
            return;
        }
        const bool opened = state_ == state::securing && f.is_open();
        f.more_ = !raw.empty() || step->produced == space.size() || step->again || opened ||
                  f.has_ended();
        if (opened) {
            state_ = state::open;
            update_interest();
            on_open();
            if (gone) return;
        }
        if (step->produced > 0) {
            on_data(space.first(step->produced));
            if (gone) return;
        }
        if (f.has_ended() && reading_) {
            f.gone_ = nullptr;
            f.more_ = false;
            ended_ = true;
            update_interest();
            flush_later();
            on_end();
            return;
        }
    }
    f.gone_ = nullptr;
    if (!raw.empty()) f.held_.append({raw.data(), raw.size()});
    if (!f.to_peer_.empty() || !out_.empty() || shutdown_wanted_) flush_later();
}

// Moves what is in out() to what travels, a piece at a time, when all earlier pieces have gone.
// False when the filter failed.
bool stream_core::encode_some() noexcept {
    stream_filter& f = *filter_;
    if (f.failure_) return false;
    if (state_ != state::open || f.to_peer_.size() >= most_at_once) return true;
    if (!out_.empty()) {
        loop()->pool().lend(f.to_peer_);
        const std::size_t n = std::min(out_.size(), most_at_once);
        if (const auto sent = f.send(out_.view().substr(0, n), f.to_peer_); !sent) {
            f.failure_ = sent.error();
            return false;
        }
        out_.consume(n);
        taken_ += n;
    }
    if (out_.empty() && shutdown_wanted_ && !f.finished_) {
        f.finished_ = true;
        f.finish(f.to_peer_);
    }
    return true;
}

void stream_core::fail_filtered(const error& why) noexcept {
    // The filter's last bytes (an alert) are for the peer to know why; they go if they go at once.
    if (!waiting_to_write_) send_at_once(filter_->to_peer_);
    const error copy = why;  // it may be the filter's own
    filter_->finished_ = true;
    filter_->to_peer_.clear();
    before_failure(*filter_, copy);
    close(false);
    on_failure(copy);
}

void stream_core::say_last_words() noexcept {
    stream_filter& f = *filter_;
    if (state_ != state::open || f.finished_ || f.failure_ || waiting_to_write_ ||
        failed_errno_ != 0)
        return;
    f.finish(f.to_peer_);
    send_at_once(f.to_peer_);
}

void stream_core::send_at_once(buffer& last) noexcept {
    if (!last.empty()) engine().send_at_once(*this, last);
}

}  // namespace wire::detail
