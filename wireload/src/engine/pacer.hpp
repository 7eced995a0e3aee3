// The sending side of an open loop in one thread: sends each request when it is due, on the
// connection that has been free for longest.
//
// A request that is due goes out at once (on each connection in turn, so that all of them stay in
// use and the load spreads over the server's threads). While none is free, or as many are in flight
// as may be, requests wait. Latency runs from the schedule, so a server that stands still is
// charged for everybody who waited (Tene, How NOT to Measure Latency); and it is not charged for
// what the generator itself was late, which is known for each request.
//
// At the end of each loop iteration pump() sends what is due, and then:
//
//   next request           a connection is   the loop
//   --------------------   ---------------   ------------------------------------------------
//   due in over spin time  free              sleeps until then: a timer
//   due sooner             free              polls without sleeping, which counts as spinning;
//                                            where another task wants the core: a timer
//   within 50 us of the    free              where it never spins, with epoll: sleeps until the 50
//   last one                                 us are over, and no reply wakes it
//   any                    not free          sleeps; the next reply wakes it
//   none, replies missing  any               sleeps; replies, or the schedule's end, wake it
//   none, none in flight   any               the load is over
//
// All of it belongs to the worker's thread.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "engine/connection_host.hpp"
#include "engine/open_loop_gate.hpp"
#include "wire/loop/event_loop.hpp"

namespace wireload {

// Whether the loop stops sleeping shortly before a request is due.
enum class spinning : std::uint8_t {
    never,
    while_unwanted,  // by other tasks of the core
    always,
};

class pacer {
public:
    // Both must outlive it.
    pacer(connection_host& host, open_loop_gate& gate);

    void begin(const load_order& order);
    // Ends the load; nothing more is sent. With `settle`, what has no answer is counted as an
    // error.
    void end(bool settle);
    // At the end of a loop iteration: sends what is due, and sees to it that the loop comes back in
    // time.
    void pump();

private:
    void send_due(nanos& now);
    connection* take_free();
    void arm(nanos now);
    void on_due();
    void notice_others(nanos now);

    connection_host& host_;
    open_loop_gate& gate_;
    const spinning spins_;
    const bool gathers_;  // what is soon due is sent together
    wire::timer due_timer_;
    nanos last_sent_ = 0;
    nanos spinning_since_ = 0;  // 0: not
    std::uint64_t work_then_ = 0;
    long pushed_off_ = 0;      // how often another task took the core, as last seen
    nanos spin_again_at_ = 0;  // the core is wanted until then
};

}  // namespace wireload
