#include "measure/tree_times.hpp"

#include <algorithm>

namespace wireload {

cpu_time growth(const cpu_time& now, const cpu_time& before) {
    const auto more = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
    const std::uint64_t all = more(now.total_ns(), before.total_ns());
    const std::uint64_t user = std::min(all, more(now.user_ns, before.user_ns));
    return {user, all - user};
}

void tree_times::begin(const std::vector<process_reading>& all) {
    last_.clear();
    at_begin_ = lost_ = {};
    add(all);
    for (const process_reading& r : all) (at_begin_ += r.own) += r.children;
}

void tree_times::add(const std::vector<process_reading>& newer) {
    for (const process_reading& r : newer) last_.emplace(r.pid, r);
}

const process_reading* tree_times::heir_of(const process_reading& gone,
                                           const std::map<pid_t, process_reading>& left) const {
    const process_reading* at = &gone;
    // Processes are read one after another, so nobody can say that there is no circle.
    for (std::size_t steps = 0; steps < last_.size(); ++steps) {
        const auto above = last_.find(at->parent);
        if (above == last_.end()) return nullptr;
        at = &above->second;
        if (left.contains(at->pid)) return at;
    }
    return nullptr;
}

void tree_times::read(const std::vector<process_reading>& left) {
    std::map<pid_t, process_reading> now;
    for (const process_reading& r : left) {
        if (knows(r)) now.emplace(r.pid, r);
    }
    // What ended since the last reading, by the process that may have it now.
    std::map<pid_t, cpu_time> to_heirs;
    for (const auto& [pid, gone] : last_) {
        if (now.contains(pid)) continue;
        const process_reading* const heir = heir_of(gone, now);
        cpu_time& into = heir == nullptr ? lost_ : to_heirs[heir->pid];
        (into += gone.own) += gone.children;
    }
    for (const auto& [pid, ended] : to_heirs) {
        const cpu_time got = growth(now.at(pid).children, last_.at(pid).children);
        // User and system time are each cut off to whole ticks.
        if (ended.total_ns() >= got.total_ns() + 2 * tick_ns_) lost_ += growth(ended, got);
    }
    last_ = std::move(now);
}

cpu_time tree_times::used() const {
    cpu_time now = lost_;
    for (const auto& [pid, r] : last_) (now += r.own) += r.children;
    return growth(now, at_begin_);
}

}  // namespace wireload
