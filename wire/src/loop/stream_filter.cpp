// The part of a stream that only one with a filter needs.
#include "wire/loop/stream_filter.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "uring_engine.hpp"
#include "wire/loop/stream.hpp"

namespace wire {

namespace {

// Encoded at a time: a large message is never held whole in both forms.
constexpr std::size_t most_at_once = 64 * 1024;
// What a peer may make us owe it while it takes nothing: the largest handshake flight and to spare.
constexpr std::size_t most_owed = 256 * 1024;

}  // namespace

stream_filter::~stream_filter() {
    if (gone_ != nullptr) *gone_ = true;
}

void stream::set_filter(std::unique_ptr<stream_filter> filter) noexcept {
    close();
    filter_ = std::move(filter);
}

void stream::begin_filtered() noexcept {
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

result<void> stream::secure(std::unique_ptr<stream_filter> filter) {
    filter_ = std::move(filter);
    state_ = state::securing;
    update_interest();
    const auto begun = filter_->begin(filter_->to_peer_);
    if (!begun) {
        close();
        return begun;
    }
    flush_later();
    return {};
}

bool stream::receive_filtered(int flags) noexcept {
    // The back half of the scratch is for what comes, the front half for what is made of it.
    const auto scratch = loop()->scratch();
    const auto space = scratch.subspan(scratch.size() / 2);
    const ssize_t n = receive_into(space, flags);
    if (n > 0) {
        take_raw(space.first(static_cast<std::size_t>(n)));
    } else if (n == 0) {
        peer_finished();
    } else if (errno != EAGAIN && errno != EINTR) {
        receive_failed(errno);
    } else {
        return false;
    }
    return true;
}

// May end with the stream destroyed.
void stream::take_raw(std::span<const char> raw) noexcept {
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
        f.more_ = !raw.empty() || step->produced == space.size() || opened;
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
        if (f.has_ended()) {
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
bool stream::encode_some() noexcept {
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
    }
    if (out_.empty() && shutdown_wanted_ && !f.finished_) {
        f.finished_ = true;
        f.finish(f.to_peer_);
    }
    return true;
}

void stream::fail_filtered(const error& why) noexcept {
    // The filter's last bytes (an alert) are for the peer to know why; they go if they go at once.
    if (!waiting_to_write_) send_at_once(filter_->to_peer_);
    const error copy = why;  // it may be the filter's own
    filter_->finished_ = true;
    filter_->to_peer_.clear();
    close();
    on_failure(copy);
}

void stream::say_last_words() noexcept {
    stream_filter& f = *filter_;
    if (state_ != state::open || f.finished_ || f.failure_ || waiting_to_write_ ||
        failed_errno_ != 0)
        return;
    f.finish(f.to_peer_);
    send_at_once(f.to_peer_);
}

void stream::send_at_once(buffer& last) noexcept {
    if (last.empty()) return;
    if (loop()->uring_ != nullptr) {
        loop()->uring_->send_last(*this, last);
    } else {
        ::send(fd(), last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

}  // namespace wire
