#include "measure/series.hpp"

#include <utility>

namespace wireload {

void series_collector::submit(std::size_t interval, const histogram& latencies, std::uint64_t ok,
                              std::uint64_t errors) {
    const std::lock_guard lock(mutex_);
    slot& s = open_[interval];
    if (s.latencies == nullptr) {
        if (spare_.empty()) {
            s.latencies = std::make_unique<histogram>();
        } else {
            s.latencies = std::move(spare_.back());
            spare_.pop_back();
        }
    }
    s.latencies->merge(latencies);
    s.ok += ok;
    s.errors += errors;
    ++s.submitted;
    close_complete();
}

void series_collector::leave(std::size_t next) {
    const std::lock_guard lock(mutex_);
    left_.push_back(next);
    close_complete();
}

void series_collector::finish() {
    const std::lock_guard lock(mutex_);
    while (!open_.empty()) close_first();
}

// Threads submit in order, so intervals complete in order as well.
void series_collector::close_complete() {
    while (!open_.empty()) {
        const auto& [interval, first] = *open_.begin();
        std::size_t done = first.submitted;
        for (const std::size_t next : left_) done += next <= interval ? 1 : 0;
        if (done < threads_) return;
        close_first();
    }
}

void series_collector::close_first() {
    const std::size_t interval = open_.begin()->first;
    slot done = std::move(open_.begin()->second);
    open_.erase(open_.begin());
    if (records_.size() <= interval) records_.resize(interval + 1);
    records_[interval] = {done.ok,
                          done.errors,
                          done.latencies->percentile_ns(50),
                          done.latencies->supported_percentile_ns(90),
                          done.latencies->supported_percentile_ns(99),
                          done.latencies->max_ns()};
    total_.merge(*done.latencies);
    if (watched_ != nullptr) {
        watched_->latencies.merge(*done.latencies);
        watched_->ok += done.ok;
        watched_->errors += done.errors;
        ++watched_->intervals;
    }
    if (keep_) {
        if (kept_.size() <= interval) kept_.resize(interval + 1);
        kept_[interval].emplace(*done.latencies);
    }
    done.latencies->clear();
    spare_.push_back(std::move(done.latencies));
}

live_slice series_collector::take_new() {
    auto fresh = std::make_unique<live_slice>();
    const std::lock_guard lock(mutex_);
    std::swap(fresh, watched_);
    return std::move(*fresh);
}

std::optional<histogram> series_collector::latencies_of(std::size_t interval) const {
    if (interval >= kept_.size() || !kept_[interval]) return std::nullopt;
    return kept_[interval]->unpacked();
}

}  // namespace wireload
