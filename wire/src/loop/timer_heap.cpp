// The timer heap: 4-ary, with an entry's key never later than its timer's deadline.
//
//     state of a timer    deadline_          in the heap    comes about by
//     idle                max()              no             construction, ringing
//     armed               T                  key <= T       arm(T)
//     disarmed            max()              yes, stale     disarm() of an armed one
//
// Setting a later deadline leaves the entry where it is: one store. So does disarming. When the
// entry comes up too early it sinks to its timer's true deadline, or leaves if there is none. A
// timeout that is renewed at each of a million requests a minute thus costs a store each, and one
// sift a period. Destroying a timer takes its entry out at once.
#include "wire/loop/detail/timer_heap.hpp"

#include <algorithm>

namespace wire::detail {

timer_heap::~timer_heap() {
    for (const entry& e : entries_) {
        e.t->heap_ = nullptr;
        e.t->deadline_ = time_point::max();
    }
}

void timer_heap::arm(timer_node& t, time_point deadline, time_point now) {
    // One armed from a timer's callback for a moment that has passed waits for the next iteration.
    // Outside of that too it is no matter how long ago it was, and the difference has to fit.
    deadline = std::max(deadline, running_ ? now + clock::duration(1) : time_point());
    t.deadline_ = deadline;
    if (t.heap_ != this) {
        if (t.heap_ != nullptr) t.heap_->forget(t);  // another loop's, where it was disarmed
        entries_.push_back({deadline, &t});
        t.heap_ = this;
        t.place_ = static_cast<std::uint32_t>(entries_.size() - 1);
        sift_up(t.place_);
    } else if (deadline < entries_[t.place_].at) {
        entries_[t.place_].at = deadline;
        sift_up(t.place_);
    }
}

void timer_heap::forget(timer_node& t) noexcept {
    drop(t.place_);
    t.heap_ = nullptr;
}

std::size_t timer_heap::run(time_point now) {
    std::size_t served = 0;
    running_ = true;
    while (!entries_.empty() && entries_.front().at <= now) {
        timer_node& t = *entries_.front().t;
        if (entries_.front().at != t.deadline_) {  // stale, even if the true one has passed too
            if (t.deadline_ == time_point::max()) {
                forget(t);
            } else {
                entries_.front().at = t.deadline_;
                sift_down(0);
            }
            continue;
        }
        forget(t);
        t.deadline_ = time_point::max();
        t.fn_(t.context_);  // may destroy the timer, or arm it again
        ++served;
    }
    running_ = false;
    return served;
}

void timer_heap::place(std::size_t i, entry e) noexcept {
    entries_[i] = e;
    e.t->place_ = static_cast<std::uint32_t>(i);
}

void timer_heap::sift_up(std::size_t i) noexcept {
    const entry e = entries_[i];
    while (i > 0) {
        const std::size_t parent = (i - 1) / 4;
        if (entries_[parent].at <= e.at) break;
        place(i, entries_[parent]);
        i = parent;
    }
    place(i, e);
}

void timer_heap::sift_down(std::size_t i) noexcept {
    const entry e = entries_[i];
    const std::size_t n = entries_.size();
    for (;;) {
        const std::size_t first = 4 * i + 1;
        if (first >= n) break;
        std::size_t least = first;
        for (std::size_t c = first + 1; c < std::min(first + 4, n); ++c) {
            if (entries_[c].at < entries_[least].at) least = c;
        }
        if (entries_[least].at >= e.at) break;
        place(i, entries_[least]);
        i = least;
    }
    place(i, e);
}

void timer_heap::drop(std::size_t i) noexcept {
    const entry last = entries_.back();
    entries_.pop_back();
    if (i == entries_.size()) return;
    place(i, last);
    sift_up(i);
    sift_down(last.t->place_);
}

}  // namespace wire::detail
