// The timers of one event loop, earliest first. Not for users: event_loop::arm() is.
#pragma once

#include <cstddef>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/loop/clock.hpp"
#include "wire/loop/detail/nodes.hpp"

namespace wire::detail {

// A 4-ary heap whose keys are never later than their timers' deadlines: timer_heap.cpp says why.
// One thread's.
class WIRE_EXPORT timer_heap {
public:
    timer_heap() = default;
    // Timers that are still in it are disarmed.
    ~timer_heap();
    timer_heap(const timer_heap&) = delete;
    timer_heap& operator=(const timer_heap&) = delete;

    // Sets the deadline: the clock's beginning at the earliest. While timers are run it is `now` +
    // 1 tick, so that a timer that arms itself again waits for the next iteration.
    void arm(timer_node& t, time_point deadline, time_point now);
    // Takes the timer out; precondition: it is in.
    void forget(timer_node& t) noexcept;
    // Calls all that are due at `now`; how many.
    std::size_t run(time_point now);

    bool empty() const noexcept { return entries_.empty(); }
    // No timer rings before this; precondition: !empty().
    time_point earliest() const noexcept { return entries_.front().at; }

private:
    struct entry {
        time_point at;  // never later than the timer's own deadline
        timer_node* t;
    };

    void place(std::size_t i, entry e) noexcept;
    void sift_up(std::size_t i) noexcept;
    void sift_down(std::size_t i) noexcept;
    void drop(std::size_t i) noexcept;

    std::vector<entry> entries_;
    bool running_ = false;  // inside run()
};

}  // namespace wire::detail
