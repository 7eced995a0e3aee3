#include "engine/open_loop_gate.hpp"

namespace wireload {
namespace {

std::uint64_t share(std::optional<std::uint64_t> total, unsigned parts, unsigned index) {
    if (!total) return UINT64_MAX;
    return *total / parts + (index < *total % parts ? 1 : 0);
}

}  // namespace

open_loop_gate::open_loop_gate(const plan& p, load_window& window, unsigned index,
                               std::uint32_t connections)
    : window_(window),
      most_in_flight_(share(p.asked.open_loop->max_in_flight, p.asked.threads, index)),
      deadline_(p.asked.open_loop->deadline ? p.asked.open_loop->deadline->count() : never),
      schedule_(*p.asked.open_loop, p.asked.part.in_whole(index),
                p.asked.threads * p.asked.part.of),
      line_(std::make_unique<place[]>(std::bit_ceil(connections))),
      line_mask_(std::bit_ceil(connections) - 1) {}

void open_loop_gate::begin(const load_order& order) {
    running_ = true;
    allowed_since_ = 0;
    counts_ = {};
    lag_.clear();
    service_.clear();
    displacement_.clear();
    undisturbed_.clear();
    displaced_ = {};
    schedule_.begin(order);
}

connection* open_loop_gate::next_in_line() {
    if (count_ == 0) return nullptr;
    const place& p = line_[first_++ & line_mask_];
    --count_;
    granted_since_ = p.since;
    return p.who;
}

void open_loop_gate::advance_schedule() {
    if (!schedule_.warming_up()) ++counts_.scheduled;
    schedule_.advance();
}

void open_loop_gate::drop_due(bool missed) {
    if (!schedule_.warming_up()) {
        ++counts_.not_sent;
        if (missed) ++counts_.missed;
        window_.never_sent(schedule_.due(), clock_now(), missed);
    }
    advance_schedule();
}

void open_loop_gate::skip_expired(nanos now) {
    if (deadline_ == never) return;
    while (schedule_.due() != never && now - schedule_.due() >= deadline_) {
        drop_due(is_missed(now));
    }
}

bool open_loop_gate::is_missed(nanos now) {
    if (schedule_.warming_up() || count_ == 0 || !may_send_more()) return false;
    const nanos due = schedule_.due();
    const nanos possible = std::max({due, line_[first_ & line_mask_].since, allowed_since_});
    if (possible - due >= deadline_) return false;
    lag_.record(static_cast<std::uint64_t>(now - possible));
    return true;
}

nanos open_loop_gate::begun(nanos now, nanos& lag, nanos& displacement) {
    const nanos due = schedule_.due();
    const nanos possible = std::max({due, granted_since_, allowed_since_});
    lag = std::max<nanos>(0, now - possible);
    const bool counts = !schedule_.warming_up();
    if (counts) {
        lag_.record(static_cast<std::uint64_t>(lag));
        window_.count_begun();
    }
    if (schedule_.in_window(now)) ++counts_.sent_in_window;
    advance_schedule();
    const bool others = window_.in_flight() > 1 || schedule_.due() <= now;
    displacement = displaced_.sent(possible, now, others);
    if (counts) displacement_.record(static_cast<std::uint64_t>(displacement));
    return due;
}

bool open_loop_gate::lose_waiting(nanos now) {
    if (!running_ || schedule_.due() > now) return false;
    const bool counts = !schedule_.warming_up();
    if (counts) window_.count_begun();
    advance_schedule();
    return counts;
}

bool open_loop_gate::right_reply(nanos due, nanos latency, nanos displacement, nanos sent_at,
                                 nanos at) {
    // The load ended just now: the request was counted as unanswered, and the main thread reads.
    if (!running_) {
        window_.uncounted_reply();
        return false;
    }
    releasing(at);
    const bool late = is_late(latency);
    if (!late && schedule_.in_window(at)) ++counts_.answered_in_window;
    if (!is_measured(due)) {
        window_.uncounted_reply();
        return false;
    }
    service_.record(static_cast<std::uint64_t>(std::max<nanos>(0, at - sent_at)));
    if (displacement <= undisturbed_below_ns)
        undisturbed_.record(static_cast<std::uint64_t>(latency));
    if (late) ++counts_.late;
    window_.scheduled_reply(latency, at, late);
    return late;
}

}  // namespace wireload
