// Results by interval (or by round of a ramp), put together from all threads in bounded memory.
//
//   an interval is   when                                    holds
//   --------------   -------------------------------------   ------------------------------
//   not known        before the first thread submits it      nothing
//   open             some threads have submitted it          one histogram
//   closed           all that have not left have, or         a record, and if asked packed what
//                    finish() was called                     its histogram held
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "measure/histogram.hpp"
#include "measure/packed_histogram.hpp"

namespace wireload {

struct interval_record {
    std::uint64_t ok = 0;
    std::uint64_t errors = 0;
    std::optional<std::uint64_t> p50_ns;
    std::optional<std::uint64_t> p90_ns;  // this and the next: when 10 samples lie beyond
    std::optional<std::uint64_t> p99_ns;
    std::optional<std::uint64_t> max_ns;
};

// The intervals that were completed since the last call of take_new().
struct live_slice {
    histogram latencies;
    std::uint64_t ok = 0;
    std::uint64_t errors = 0;
    std::uint64_t intervals = 0;
};

// Each thread records into a histogram of its own and hands it in when an interval ends. When the
// last thread has done so, the interval becomes one record and its histogram is reused: only
// intervals in progress hold one.
class series_collector {
public:
    // With `keep`, what the histogram of every interval held stays (for an HdrHistogram log, or the
    // rounds of a ramp).
    series_collector(unsigned threads, bool keep) : threads_(threads), keep_(keep) {}

    // Any thread; once for each interval by each, in order.
    void submit(std::size_t interval, const histogram& latencies, std::uint64_t ok,
                std::uint64_t errors);
    // Any thread, when it has submitted its last: nobody waits for it in `next` and what follows.
    void leave(std::size_t next);
    // From then on, completed intervals are gathered for take_new() as well. Before the threads
    // begin.
    void watch() { watched_ = std::make_unique<live_slice>(); }
    // Any thread: the intervals that were completed since the last call.
    live_slice take_new();
    // After the threads have ended: closes what some of them did not reach.
    void finish();

    // After finish().
    const std::vector<interval_record>& records() const { return records_; }
    const histogram& total() const { return total_; }
    // Of one interval; absent unless kept.
    std::optional<histogram> latencies_of(std::size_t interval) const;

private:
    struct slot {
        std::unique_ptr<histogram> latencies;
        std::uint64_t ok = 0;
        std::uint64_t errors = 0;
        unsigned submitted = 0;
    };
    void close_complete();
    void close_first();

    std::mutex mutex_;  // guards all below until finish()
    const unsigned threads_;
    const bool keep_;
    std::map<std::size_t, slot> open_;
    std::vector<std::size_t> left_;  // for each thread that has: its first interval without it
    std::vector<std::unique_ptr<histogram>> spare_;
    std::vector<interval_record> records_;
    std::vector<std::optional<packed_histogram>> kept_;
    std::unique_ptr<live_slice> watched_;  // null: nobody looks
    histogram total_;
};

}  // namespace wireload
