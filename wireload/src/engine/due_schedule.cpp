#include "engine/due_schedule.hpp"

namespace wireload {

void due_schedule::begin(const load_order& order) {
    window_start_ = order.window_start;
    end_ = order.schedule_end;
    most_ = order.most;
    start_ = order.schedule_start;
    popped_ = seen_ = 0;
    due_ = never;
    if (window_start_ > start_) {
        warming_up_ = true;
        schedule_ = arrivals(asked_.warm_up, index_, threads_, window_start_ - start_);
        find_due();
    }
    if (due_ == never) begin_window();
}

void due_schedule::begin_window() {
    warming_up_ = false;
    start_ = window_start_;
    schedule_ =
        arrivals(asked_.arrivals, index_, threads_, end_ == never ? never : end_ - start_, most_);
    find_due();
}

void due_schedule::find_due() {
    due_ = schedule_.next();
    if (due_ != never) due_ += start_;
}

void due_schedule::advance() {
    if (!warming_up_) ++popped_;
    schedule_.pop();
    find_due();
    if (due_ == never && warming_up_) begin_window();
}

std::uint64_t due_schedule::waiting(nanos now) {
    if (due_ > now || warming_up_) return 0;
    if (seen_ < popped_) {
        ahead_ = schedule_;
        seen_ = popped_;
    }
    while (ahead_.next() != never && start_ + ahead_.next() <= now) {
        ahead_.pop();
        ++seen_;
    }
    return seen_ - popped_;
}

}  // namespace wireload
