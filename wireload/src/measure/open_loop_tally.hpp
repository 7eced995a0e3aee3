// The figures of an open loop besides its latencies.
#pragma once

#include <algorithm>
#include <cstdint>

#include "measure/histogram.hpp"

namespace wireload {

// What one thread counted. Of requests that were due inside the window, whenever they were
// answered.
struct open_loop_tally {
    std::uint64_t scheduled = 0;
    std::uint64_t not_sent = 0;  // no connection was free before the deadline or the end, or:
    std::uint64_t missed = 0;    // one was, and the generator let the deadline pass
    std::uint64_t late = 0;      // answered rightly, after the deadline
    std::uint64_t backlog_max = 0;
    // By the clock: of whatever schedule, inside the window.
    std::uint64_t sent_in_window = 0;
    std::uint64_t answered_in_window = 0;
    std::int64_t spun = 0;  // ns between two looks at nothing, in the window
    // ns in the window, of all connections, in which one could carry nothing: lost, and waiting
    // before it was opened again, or being opened.
    std::int64_t absent = 0;

    void add(const open_loop_tally& other) {
        scheduled += other.scheduled;
        not_sent += other.not_sent;
        missed += other.missed;
        late += other.late;
        // At most: the threads' largest need not be of one moment.
        backlog_max += other.backlog_max;
        sent_in_window += other.sent_in_window;
        answered_in_window += other.answered_in_window;
        spun += other.spun;
        absent += other.absent;
    }
};

// A request displaced by no more met the server as if nothing had been late. Where a server is half
// busy, this adds at most half of it to a latency.
inline constexpr std::int64_t undisturbed_below_ns = 100'000;

struct open_loop_result {
    open_loop_tally counts;
    // Sent - the moment from which it could have been: due, a connection free, in flight allowed.
    // In no latency. Also of those that were dropped because the generator let their deadline pass.
    histogram lag;
    histogram service;  // answered - sent
    // By how much the lag may have changed what a request met at the server.
    histogram displacement;
    histogram undisturbed;   // latencies of those that it displaced by undisturbed_below_ns at most
    std::int64_t drain = 0;  // ns from the window's end until the last request was decided
    bool cores_awake = false;  // held so by this process
};

}  // namespace wireload
