// The sending side of an open loop in one thread: which request is due, which connection takes it,
// and how late we were.
//
// A request that is due goes out at once on the connection that has been free for longest (in turn,
// so that all of them stay in use and the load spreads over the server's threads). While none is
// free, or as many are in flight as may be, requests wait; since they are nothing but moments of
// the schedule, a million of them take no memory. Latency runs from the schedule, so a server that
// stands still is charged for everybody who waited (Tene, How NOT to Measure Latency); and it is
// not charged for what the generator itself was late, which is known for each request.
#pragma once

#include <cstdint>
#include <memory>

#include "plan/arrivals.hpp"
#include "measure/histogram.hpp"
#include "plan/open_loop.hpp"
#include "plan/plan.hpp"
#include "measure/tally.hpp"
#include "wire/loop/event_loop.hpp"

namespace wireload {

class connection;
class worker;
struct load_order;

class pacer {
public:
    // `w` and `p` must outlive it.
    pacer(worker& w, const plan& p, unsigned index, std::uint32_t connections);

    void begin(const load_order& order);
    // Ends the load; nothing more is sent. With `settle`, what has no answer is counted as an
    // error.
    void end(bool settle);

    // The connection could send since `since`; it is asked to when a request is due and its turn
    // has come.
    void free(connection& c, nanos since);
    // At the end of a turn: sends what is due, and sees to it that the loop comes back in time.
    void pump();

    // ---- for the connection that was asked to send, and of requests in flight ----

    // Whether a request was granted to the connection; it then has to begin it.
    bool take_grant();
    // A request is begun at `now`, `lag` later than it could have been. Returns when it was due.
    nanos begun(nanos now, nanos& lag);
    // A connection could not be opened: the request that has waited for longest is lost with it, if
    // one waits. Returns whether it counts.
    bool lose_waiting(nanos now);
    bool is_measured(nanos scheduled) const { return scheduled >= window_start_; }
    bool is_late(nanos latency) const { return deadline_ != never && latency > deadline_; }
    // A right reply.
    void answered(nanos scheduled, nanos sent, nanos at, bool late);
    // Fewer requests are in flight than the `before`.
    void released(nanos at, std::uint64_t before) {
        if (before >= most_in_flight_) allowed_since_ = at;
    }

    const open_loop_tally& counts() const { return counts_; }
    const histogram& lag() const { return lag_; }
    const histogram& service() const { return service_; }

private:
    struct slot {
        connection* who;
        nanos since;
    };

    void begin_window();
    void advance_schedule();
    void drop_due();
    void skip_expired(nanos now);
    void note_backlog(nanos now);
    connection* take_free(nanos& since);
    void arm(nanos now);
    void on_due();

    worker& worker_;
    const plan& plan_;
    const unsigned index_;
    const std::uint64_t most_in_flight_;
    const nanos deadline_;
    const nanos spin_;  // before a request is due the loop stops sleeping
    wire::timer due_timer_;

    bool running_ = false;
    bool warming_up_ = false;
    nanos window_start_ = 0;
    nanos schedule_end_ = never;
    nanos start_ = 0;  // of the present schedule: of the warm-up, then of the window
    std::uint64_t most_ = UINT64_MAX;
    arrivals schedule_;
    nanos due_ = never;

    bool granted_ = false;
    nanos granted_since_ = 0;   // the connection was free
    nanos allowed_since_ = 0;   // fewer than most_in_flight_
    nanos spinning_since_ = 0;  // 0: not
    std::uint64_t work_then_ = 0;

    // The free connections, the one that has been for longest first: a ring. One that was lost
    // meanwhile stays in it until its turn comes.
    std::unique_ptr<slot[]> ring_;
    std::uint32_t ring_mask_ = 0;
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;

    arrivals ahead_;            // counts the requests that wait
    std::uint64_t popped_ = 0;  // of schedule_
    std::uint64_t seen_ = 0;    // of ahead_

    open_loop_tally counts_;
    histogram lag_;
    histogram service_;
};

}  // namespace wireload
