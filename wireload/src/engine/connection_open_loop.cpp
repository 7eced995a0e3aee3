// The part of a connection that only an open loop uses: it gets in line at the gate, sends the
// request that it is granted, and measures latency from the schedule.
#include <algorithm>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "engine/connection.hpp"

namespace wireload {

bool connection::is_scheduled_in_window(std::uint64_t counter) {
    return host_.gate()->is_measured(scheduled(counter));
}

bool connection::can_take_request() const {
    if (!host_.the_plan().asked.keep_alive) return phase_ == phase::idle && !pausing_;
    return phase_ == phase::open && offset_ == 0 && unsent() == 0 &&
           flying_ < host_.in_flight_limit() && times_[(sent_ + 1) & ring_mask()] == 0;
}

void connection::offer(nanos since) {
    if (in_line_ || finished_ || !host_.loading() || !can_take_request()) return;
    in_line_ = true;
    host_.gate()->free(*this, since);
}

bool connection::taken_from_line() {
    in_line_ = false;
    return can_take_request();
}

void connection::serve_open_loop() {
    if (phase_ == phase::open) {
        if (unsent() == 0 && (offset_ != 0 || to_write_)) send_some();
    } else if (phase_ == phase::idle && !finished_ && host_.the_plan().asked.keep_alive) {
        open();
    }
    offer(since_);
}

void connection::send_granted() {
    if (phase_ == phase::open) {
        send_some();
        return;
    }
    (void)host_.gate()->take_grant();
    const nanos now = clock_now();
    host_.window().advance(now);
    if (!host_.loading()) return;
    stamp(now);
    to_write_ = true;
    open();
}

std::uint64_t connection::measured_in_flight() const {
    std::uint64_t n = 0;
    for (std::uint32_t i = 0; i <= ring_mask(); ++i) {
        if (times_[i] != 0 && host_.gate()->is_measured(times_[ring_mask() + 1 + i])) ++n;
    }
    return n;
}

void connection::give_up_unanswered(nanos now) {
    const std::uint64_t count = measured_in_flight();
    if (count == 0) return;
    report(error_kind::read_timeout, oldest(), now, "nothing complete until the run was over");
    host_.window().unanswered(count, now);
}

void connection::answered_on_schedule(std::uint64_t counter, nanos at) {
    const nanos due = scheduled(counter);
    const nanos latency = std::max<nanos>(0, at - due - lag(counter));
    host_.at_iteration_end();
    if (host_.gate()->right_reply(due, latency, displacement(counter),
                                  times_[counter & ring_mask()], at)) {
        report(error_kind::deadline, counter, at,
               fmt::format("a right answer, {} after the request was due",
                           format_duration(static_cast<double>(latency))));
    }
}

void connection::release(nanos at) {
    open_loop_gate* const gate = host_.gate();
    if (gate == nullptr) return;
    gate->releasing(at);
    host_.at_iteration_end();
}

}  // namespace wireload
