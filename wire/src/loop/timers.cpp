// The timer heap: 4-ary, with an entry's key never later than its timer's deadline. Pushing a
// deadline on leaves the entry where it is; when the entry comes up too early it sinks to its
// timer's true deadline. A timeout that is renewed at each of a million requests a minute thus
// costs a store each, and one sift a period.
#include <algorithm>

#include "wire/loop/event_loop.hpp"

namespace wire {

void event_loop::arm(timer& t, time_point deadline) {
    // One armed from a timer's callback for a moment that has passed waits for the next turn.
    if (ringing_) deadline = std::max(deadline, now_ + clock::duration(1));
    t.deadline_ = deadline;
    if (t.loop_ == nullptr) {
        heap_.push_back({deadline, &t});
        t.loop_ = this;
        t.place_ = static_cast<std::uint32_t>(heap_.size() - 1);
        sift_up(t.place_);
    } else if (deadline < heap_[t.place_].at) {
        heap_[t.place_].at = deadline;
        sift_up(t.place_);
    }
}

void event_loop::disarm(timer& t) noexcept { t.deadline_ = time_point::max(); }

void event_loop::forget(timer& t) noexcept {
    drop_entry(t.place_);
    t.loop_ = nullptr;
}

std::size_t event_loop::run_timers() {
    std::size_t served = 0;
    ringing_ = true;
    while (!heap_.empty() && heap_.front().at <= now_) {
        timer& t = *heap_.front().t;
        if (t.deadline_ > now_) {
            if (t.deadline_ == time_point::max()) {
                forget(t);
            } else {
                heap_.front().at = t.deadline_;
                sift_down(0);
            }
            continue;
        }
        forget(t);
        t.deadline_ = time_point::max();
        t.fn_(t.context_);  // may destroy the timer, or arm it again
        ++served;
    }
    ringing_ = false;
    return served;
}

void event_loop::place(std::size_t i, timer_entry e) noexcept {
    heap_[i] = e;
    e.t->place_ = static_cast<std::uint32_t>(i);
}

void event_loop::sift_up(std::size_t i) noexcept {
    const timer_entry e = heap_[i];
    while (i > 0) {
        const std::size_t parent = (i - 1) / 4;
        if (heap_[parent].at <= e.at) break;
        place(i, heap_[parent]);
        i = parent;
    }
    place(i, e);
}

void event_loop::sift_down(std::size_t i) noexcept {
    const timer_entry e = heap_[i];
    const std::size_t n = heap_.size();
    for (;;) {
        const std::size_t first = 4 * i + 1;
        if (first >= n) break;
        std::size_t least = first;
        for (std::size_t c = first + 1; c < std::min(first + 4, n); ++c) {
            if (heap_[c].at < heap_[least].at) least = c;
        }
        if (heap_[least].at >= e.at) break;
        place(i, heap_[least]);
        i = least;
    }
    place(i, e);
}

void event_loop::drop_entry(std::size_t i) noexcept {
    const timer_entry last = heap_.back();
    heap_.pop_back();
    if (i == heap_.size()) return;
    place(i, last);
    sift_up(i);
    sift_down(last.t->place_);
}

}  // namespace wire
