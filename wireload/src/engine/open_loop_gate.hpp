// Tells the connections of an open loop when they may send, and when the request was due. The pacer
// opens the gate for one connection at a time.
//
//   a connection is    enters by               leaves by
//   ----------------   ---------------------   ---------------------------------------
//   busy or closed     start; taken from line  offering itself once it can send: free()
//   in line            free()                  next_in_line(), the longest free first
//   granted            grant()                 take_grant() or close_gate()
//
// All of it belongs to the worker's thread; counts() and the histograms to the main thread
// between orders.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/clock.hpp"
#include "engine/displacement_meter.hpp"
#include "engine/due_schedule.hpp"
#include "engine/load_window.hpp"
#include "measure/histogram.hpp"
#include "measure/open_loop_tally.hpp"

namespace wireload {

class connection;

class open_loop_gate {
public:
    // `p` and `window` must outlive it. `connections`: that this thread may come to have.
    open_loop_gate(const plan& p, load_window& window, unsigned index, std::uint32_t connections);

    void begin(const load_order& order);

    // ---- for connections ----

    // The connection could send since `since`; it gets in line.
    void free(connection& c, nanos since) { line_[(first_ + count_++) & line_mask_] = {&c, since}; }
    // Whether a request was granted to the connection that asks; it then has to begin it.
    bool take_grant() { return std::exchange(granted_, false); }
    // A request is begun at `now`, `lag` later than it could have been, which displaced it by
    // `displacement`. Returns when it was due.
    nanos begun(nanos now, nanos& lag, nanos& displacement);
    // A connection could not be opened: the request that has waited for longest is lost with it, if
    // one waits. Returns whether it counts.
    bool lose_waiting(nanos now);
    bool is_measured(nanos scheduled) const { return scheduled >= schedule_.window_start(); }
    // A right reply. Returns whether it came too late and counts.
    bool right_reply(nanos due, nanos latency, nanos displacement, nanos sent_at, nanos at);
    // Meanwhile a connection could carry nothing.
    void note_absence(nanos from, nanos until) {
        counts_.absent += schedule_.of_window(from, until);
    }
    // Requests in flight are about to be answered or lost.
    void releasing(nanos at) {
        if (window_.in_flight() >= most_in_flight_) allowed_since_ = at;
        displaced_.released(at);
    }

    // ---- for the pacer ----

    bool running() const { return running_; }
    void stop() {
        running_ = false;
        count_ = 0;
    }
    const due_schedule& schedule() const { return schedule_; }
    bool may_send_more() const { return window_.in_flight() < most_in_flight_; }
    bool line_is_empty() const { return count_ == 0; }
    // The connection that has been in line for longest, removed; null when none stands there. It
    // may have been lost meanwhile.
    connection* next_in_line();
    // For the connection taken last.
    void grant() { granted_ = true; }
    void close_gate() { granted_ = false; }
    // The next request is not sent any more. `missed`: by the generator's doing.
    void drop_due(bool missed = false);
    // Drops what was not sent before its deadline.
    void skip_expired(nanos now);
    void note_backlog(nanos now) {
        counts_.backlog_max = std::max(counts_.backlog_max, schedule_.waiting(now));
    }
    // The run is cut: what waits was due all the same. It is neither sent nor an error.
    void note_left(nanos now) {
        note_backlog(now);
        counts_.scheduled += schedule_.waiting(now);
    }
    void note_spinning(nanos from, nanos until) {
        counts_.spun += schedule_.of_window(from, until);
    }

    const open_loop_tally& counts() const { return counts_; }
    const histogram& lag() const { return lag_; }
    const histogram& service() const { return service_; }
    const histogram& displacement() const { return displacement_; }
    const histogram& undisturbed() const { return undisturbed_; }

private:
    struct place {
        connection* who;
        nanos since;
    };

    bool is_late(nanos latency) const { return deadline_ != never && latency > deadline_; }
    void advance_schedule();
    // Whether a connection was free for the next request before its deadline, which has passed:
    // then the server is not to blame, and its lag is recorded.
    bool is_missed(nanos now);

    load_window& window_;
    const std::uint64_t most_in_flight_;
    const nanos deadline_;

    bool running_ = false;
    due_schedule schedule_;
    bool granted_ = false;
    nanos granted_since_ = 0;  // the connection was free
    nanos allowed_since_ = 0;  // fewer than most_in_flight_

    // The free connections, the one that has been for longest first: a ring.
    std::unique_ptr<place[]> line_;
    std::uint32_t line_mask_ = 0;
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;

    open_loop_tally counts_;
    displacement_meter displaced_;
    histogram lag_;
    histogram service_;
    histogram displacement_;
    histogram undisturbed_;  // latencies
};

}  // namespace wireload
