#include "engine/pacer.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "engine/connection.hpp"
#include "base/duration.hpp"
#include "engine/worker.hpp"

namespace wireload {
namespace {

// Requests sent in one turn at most. Replies are looked at once a turn, so a longer one would see
// them late.
constexpr int sends_per_iteration = 32;

// How long before a request is due the loop asks for events without sleeping: a sleeping thread is
// woken some 5 to 60 us late, by the timer's interrupt, by the core's way out of idle and by the
// scheduler.
constexpr nanos spin_before = 60'000;

bool may_spin(const options& o) {
    switch (o.open_loop->spin) {
    case spin_mode::always: return true;
    case spin_mode::never: return false;
    case spin_mode::automatic: break;
    }
    // Only on CPUs that were given to the threads, one each: elsewhere it would take time from the
    // server.
    return !o.cpus.empty() && o.threads <= o.cpus.size();
}

std::uint64_t share(std::optional<std::uint64_t> total, unsigned parts, unsigned index) {
    if (!total) return UINT64_MAX;
    return *total / parts + (index < *total % parts ? 1 : 0);
}

}  // namespace

pacer::pacer(worker& w, const plan& p, unsigned index, std::uint32_t connections)
    : worker_(w),
      plan_(p),
      index_(index),
      most_in_flight_(share(p.asked.open_loop->max_in_flight, p.asked.threads, index)),
      deadline_(p.asked.open_loop->deadline ? p.asked.open_loop->deadline->count() : never),
      spin_(may_spin(p.asked) ? spin_before : 0),
      due_timer_(wire::timer::calling<&pacer::on_due>(this)),
      schedule_(p.asked.open_loop->arrivals, index, p.asked.threads),
      ahead_(schedule_) {
    const std::uint32_t size = std::bit_ceil(connections);
    ring_ = std::make_unique<slot[]>(size);
    ring_mask_ = size - 1;
}

void pacer::begin(const load_order& order) {
    running_ = true;
    window_start_ = order.window_start;
    schedule_end_ = order.schedule_end;
    most_ = order.most;
    start_ = order.schedule_start;
    popped_ = seen_ = 0;
    allowed_since_ = spinning_since_ = 0;
    counts_ = {};
    lag_.clear();
    service_.clear();
    if (order.window_start > start_) {
        warming_up_ = true;
        schedule_ = arrivals(plan_.asked.open_loop->warm_up, index_, plan_.asked.threads,
                             window_start_ - start_);
        due_ = schedule_.next();
    }
    if (due_ != never) {
        due_ += start_;
    } else {
        begin_window();
    }
}

void pacer::begin_window() {
    warming_up_ = false;
    start_ = window_start_;
    schedule_ = arrivals(plan_.asked.open_loop->arrivals, index_, plan_.asked.threads,
                         schedule_end_ == never ? never : schedule_end_ - start_, most_);
    due_ = schedule_.next();
    if (due_ != never) due_ += start_;
}

void pacer::advance_schedule() {
    if (!warming_up_) {
        ++popped_;
        ++counts_.scheduled;
    }
    schedule_.pop();
    due_ = schedule_.next();
    if (due_ != never) {
        due_ += start_;
    } else if (warming_up_) {
        begin_window();
    }
}

void pacer::free(connection& c, nanos since) {
    ring_[(first_ + count_++) & ring_mask_] = {&c, since};
}

connection* pacer::take_free(nanos& since) {
    while (count_ != 0) {
        const slot s = ring_[first_++ & ring_mask_];
        --count_;
        since = s.since;
        if (s.who->taken_from_line()) return s.who;
    }
    return nullptr;
}

void pacer::pump() {
    if (!running_) return;
    nanos now = clock_now();
    worker_.advance(now);
    if (!running_) return;
    if (spinning_since_ != 0 && worker_.work_done() == work_then_)
        counts_.spun += now - spinning_since_;
    skip_expired(now);
    for (int sent = 0;
         due_ <= now && sent < sends_per_iteration && worker_.in_flight() < most_in_flight_;
         ++sent) {
        connection* const c = take_free(granted_since_);
        if (c == nullptr) break;
        granted_ = true;
        c->send_granted();
        granted_ = false;
        now = clock_now();
        c->offer(now);
    }
    note_backlog(now);
    if (due_ == never && worker_.in_flight() == 0 &&
        (schedule_end_ == never || now >= schedule_end_)) {
        worker_.load_over();
        return;
    }
    arm(now);
}

void pacer::skip_expired(nanos now) {
    if (deadline_ == never) return;
    while (due_ != never && now - due_ >= deadline_) drop_due();
}

void pacer::drop_due() {
    if (!warming_up_) {
        ++counts_.not_sent;
        worker_.never_sent(due_, clock_now());
    }
    advance_schedule();
}

// Counts those that wait by a copy of the schedule that has gone on to `now`.
void pacer::note_backlog(nanos now) {
    if (due_ > now || warming_up_) return;
    if (seen_ < popped_) {
        ahead_ = schedule_;
        seen_ = popped_;
    }
    while (ahead_.next() != never && start_ + ahead_.next() <= now) {
        ahead_.pop();
        ++seen_;
    }
    counts_.backlog_max = std::max(counts_.backlog_max, seen_ - popped_);
}

void pacer::arm(nanos now) {
    spinning_since_ = 0;
    wire::event_loop& loop = worker_.loop();
    if (due_ == never) {
        if (schedule_end_ != never && now < schedule_end_)
            loop.arm(due_timer_, to_time_point(schedule_end_));
        return;
    }
    // Otherwise the next event, a reply, finds us.
    if (count_ == 0 || worker_.in_flight() >= most_in_flight_) return;
    if (due_ - now > spin_) {
        loop.arm(due_timer_, to_time_point(due_ - spin_));
        return;
    }
    loop.arm(due_timer_, to_time_point(now + 1));  // the next turn does not wait
    if (due_ <= now) return;
    spinning_since_ = now;
    work_then_ = worker_.work_done();
}

void pacer::on_due() { worker_.at_iteration_end(); }

bool pacer::take_grant() { return std::exchange(granted_, false); }

nanos pacer::begun(nanos now, nanos& lag) {
    const nanos due = due_;
    lag = std::max<nanos>(0, now - std::max({due, granted_since_, allowed_since_}));
    if (!warming_up_) {
        lag_.record(static_cast<std::uint64_t>(lag));
        worker_.count_begun();
    }
    if (now >= window_start_ && now < schedule_end_) ++counts_.sent_in_window;
    advance_schedule();
    return due;
}

bool pacer::lose_waiting(nanos now) {
    if (!running_ || due_ > now) return false;
    const bool counts = !warming_up_;
    if (counts) worker_.count_begun();
    advance_schedule();
    return counts;
}

void pacer::answered(nanos scheduled, nanos sent, nanos at, bool late) {
    if (at >= window_start_ && at < schedule_end_) ++counts_.answered_in_window;
    if (!is_measured(scheduled)) return;
    service_.record(static_cast<std::uint64_t>(std::max<nanos>(0, at - sent)));
    if (late) ++counts_.late;
}

void pacer::end(bool settle) {
    if (!running_) return;
    running_ = false;
    worker_.loop().disarm(due_timer_);
    count_ = 0;
    if (!settle) return;
    note_backlog(schedule_end_);
    while (due_ != never) drop_due();
}

}  // namespace wireload
