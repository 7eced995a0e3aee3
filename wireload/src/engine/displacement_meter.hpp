// By how much the generator's lateness may have changed what a request met at the server.
//
// A request that leaves late, and alone, meets the same idle server as it would have met in time.
// One that leaves late in company meets another queue. In a queue with any number of servers that
// take requests in order, moving arrivals by at most x moves every departure by at most x: the
// departures are built from the arrivals by max and plus alone (Lindley 1952; Baccelli et al.,
// Synchronization and Linearity, 1992). So the largest lateness among the requests that share a
// busy period bounds the change of each of their latencies.
//
// The server's busy periods are not seen from here. A lateness of x is taken to act for as long as
// x after its request was sent, a nanosecond less each nanosecond, or until a request is alone: the
// server digests what gathered in x within x where it is at most half busy.
//
// Other threads' requests are not seen. All of it belongs to the worker's thread.
#pragma once

#include <algorithm>

#include "base/clock.hpp"

namespace wireload {

class displacement_meter {
public:
    // A request got a reply, or was lost.
    void released(nanos at) { last_released_ = std::max(last_released_, at); }
    // A request leaves at `now` and could have left at `possible`. `others`: are in flight, or due.
    nanos sent(nanos possible, nanos now, bool others) {
        const nanos lateness = std::max<nanos>(0, now - possible);
        const bool alone = !others && last_released_ < possible && last_sent_ < possible;
        acting_ = alone ? lateness : std::max(lateness, acting_ - (now - last_sent_));
        last_sent_ = now;
        return alone ? 0 : acting_;
    }

private:
    nanos last_sent_ = 0;
    nanos last_released_ = 0;
    nanos acting_ = 0;  // the lateness that still acts
};

}  // namespace wireload
