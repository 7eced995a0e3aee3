// The sending side of a broadcast: sends a message whenever fewer than --pipeline are in flight, on
// the first connection that is open. pump() does so at the end of a loop iteration.
//
// A subscriber that is lost is not opened again: a message that was sent meanwhile could neither be
// expected of it nor be called wrong.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "engine/broadcast_ledger.hpp"
#include "engine/connection_host.hpp"
#include "engine/connection_slab.hpp"

namespace wireload {

class publisher {
public:
    // All must outlive it.
    publisher(connection_host& host, connection_slab& connections)
        : host_(host), ledger_(*host.broadcasts()), connections_(connections) {}

    void pump();

private:
    // Whether a subscriber is left.
    bool find_sender();
    // Whether one more message may be sent; it then has to be.
    bool may_send();
    // Whether it was. Else the load has ended, or the sender is lost: that it is comes next, and
    // then pump() again.
    bool send_one();

    connection_host& host_;
    broadcast_ledger& ledger_;
    connection_slab& connections_;
    std::uint32_t sender_ = 0;
    std::uint64_t unused_quota_ = 0;  // messages are counted in all, not by connection
};

}  // namespace wireload
