// The requests of an open loop that one thread has to send: first those of the warm-up, then those
// of the window. Requests that wait are nothing but moments of the schedule, so a million of them
// take no memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "engine/load_order.hpp"
#include "plan/arrivals.hpp"
#include "plan/open_loop.hpp"

namespace wireload {

class due_schedule {
public:
    // For thread `index` of `threads`, of all parts of the load. `asked` must outlive it.
    due_schedule(const open_loop_options& asked, unsigned index, unsigned threads)
        : asked_(asked),
          index_(index),
          threads_(threads),
          schedule_(asked.arrivals, index, threads),
          ahead_(schedule_) {}

    void begin(const load_order& order);
    // When the next request is due; `never` after the last.
    nanos due() const { return due_; }
    bool warming_up() const { return warming_up_; }
    nanos window_start() const { return window_start_; }
    nanos end() const { return end_; }
    // Whether as many were due as the order asked for.
    bool counted_out() const { return !warming_up_ && schedule_.used_up(); }
    bool in_window(nanos at) const { return at >= window_start_ && at < end_; }
    // How much of that time lies in the window.
    nanos of_window(nanos from, nanos until) const {
        return std::max<nanos>(0, std::min(until, end_) - std::max(from, window_start_));
    }
    // The next request is sent or lost.
    void advance();
    // How many requests are due by `now` and not sent yet. 0 in the warm-up.
    std::uint64_t waiting(nanos now);

private:
    void begin_window();
    void find_due();

    const open_loop_options& asked_;
    const unsigned index_;
    const unsigned threads_;

    bool warming_up_ = false;
    nanos window_start_ = 0;
    nanos end_ = never;
    nanos start_ = 0;  // of the present schedule: of the warm-up, then of the window
    std::uint64_t most_ = UINT64_MAX;
    arrivals schedule_;
    nanos due_ = never;
    arrivals ahead_;            // a copy that counts the requests that wait
    std::uint64_t popped_ = 0;  // of schedule_, in the window
    std::uint64_t seen_ = 0;    // of ahead_
};

}  // namespace wireload
