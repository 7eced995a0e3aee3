#include "engine/load_window.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/duration.hpp"

namespace wireload {
namespace {

// Mean distance of the moments at which the number in flight is sampled. They are exponentially
// distributed, so that they see time averages (Wolff 1982: Poisson arrivals see time averages) and
// never fall into step with the load.
constexpr double sample_every_ns = 500'000;

}  // namespace

void load_window::begin(const load_order& order) {
    order_ = order;
    loading_ = true;
    sending_stopped_ = window_open_ = draining_ = false;
    forget();
    interval_ = order.first_interval;
    next_sample_ = interval_end_ = never;
    next_edge_ = next_event_ = std::min(order.window_start, order.send_until);
}

void load_window::pass_events(nanos t) {
    while (t >= next_event_) {
        const nanos at = next_event_;
        if (at == next_sample_) {
            ++tally_.in_flight_samples;
            tally_.in_flight_sum += in_flight_;
            next_sample_ = at + 1 + until_next_sample();
        } else if (!sending_stopped_ && at == order_.send_until) {
            sending_stopped_ = true;
        } else if (!window_open_) {
            open(at);
        } else if (!draining_ && at >= order_.schedule_end) {
            draining_ = true;
            in_before_drain_ = tally_.bytes_in;
            out_before_drain_ = tally_.bytes_out;
            opened_before_drain_ = tally_.connections_opened;
        } else if (at >= order_.window_end) {
            owner_.window_expired();
            end(at);
            return;
        } else {
            submit_interval();
            interval_end_ = at + order_.interval;
        }
        next_edge_ =
            window_open_ ? std::min(interval_end_, order_.window_end) : order_.window_start;
        if (!sending_stopped_) next_edge_ = std::min(next_edge_, order_.send_until);
        if (window_open_ && !draining_) next_edge_ = std::min(next_edge_, order_.schedule_end);
        next_event_ = std::min(next_edge_, next_sample_);
    }
}

void load_window::forget() {
    answered_ += tally_.ok;
    tally_ = {};
    latencies_.clear();
}

void load_window::open(nanos at) {
    window_open_ = true;
    forget();
    owner_.window_opened();
    ok_before_ = errors_before_ = 0;
    interval_end_ = order_.interval == never ? never : at + order_.interval;
    if (plan_.asked.open_loop) return;  // Little's law is for closed loops
    tally_.more_in_flight = -in_flight_at(at).age_sum;
    next_sample_ = at + until_next_sample();
}

nanos load_window::until_next_sample() {
    return static_cast<nanos>(std::exponential_distribution<double>(1 / sample_every_ns)(random_));
}

void load_window::submit_interval() {
    const std::uint64_t errors = tally_.errors.total();
    series_.submit(interval_++, latencies_, tally_.ok - ok_before_, errors - errors_before_);
    latencies_.clear();
    ok_before_ = tally_.ok;
    errors_before_ = errors;
}

flight load_window::in_flight_at(nanos at) const {
    return owner_.in_flight_at(at, order_.window_start);
}

void load_window::end(nanos at) {
    if (window_open_) {
        const flight left = in_flight_at(at);
        tally_.more_in_flight += left.age_sum;
        if (!plan_.asked.open_loop) tally_.at_end = left;
    }
    if (draining_) {
        tally_.drained_in = tally_.bytes_in - in_before_drain_;
        tally_.drained_out = tally_.bytes_out - out_before_drain_;
        tally_.opened_in_drain = tally_.connections_opened - opened_before_drain_;
    }
    tally_.ended = at;
    if (window_open_) submit_interval();
    // Of rounds and turns, which have no intervals, there may be more.
    if (order_.interval != never) series_.leave(interval_);
    // Of a window that never opened only what went wrong is worth telling.
    result_ = window_open_ ? tally_ : tally{};
    if (!window_open_) {
        result_.errors = tally_.errors;
        result_.first_error = tally_.first_error;
        result_.first_error_at = tally_.first_error_at;
    }
    loading_ = window_open_ = draining_ = false;
    next_edge_ = next_sample_ = next_event_ = never;
    owner_.load_ended();
}

void load_window::never_sent(nanos due, nanos now, bool missed) {
    ++tally_.errors[error_kind::deadline];
    tally_.last_done = now;
    if (!wants_report()) return;
    const std::string late = format_duration(static_cast<double>(now - due));
    if (missed) {
        report({error_kind::deadline, "nothing: wireload came too late for the request",
                "a request that leaves in time", fmt::format("its turn, {} late", late)},
               now);
    } else {
        report({error_kind::deadline, "nothing: no connection was free for the request",
                "a free connection in time", fmt::format("none within {}", late)},
               now);
    }
}

}  // namespace wireload
