// The broadcasts of a run: which message was sent when, and how many subscribers still wait for it.
//
// Messages are numbered from 1, and every connection that is open when one is sent is to get it
// once. A connection keeps for itself which messages it waits for (request_times.hpp), so a message
// that is lost, doubled or out of order is known where it happens, and told here.
//
//   slot of message n   entered by                             next
//   -----------------   ------------------------------------   -----------------------------------
//   free                start; the last subscriber's answer    sent(n)
//   in flight           sent()                                 delivered() or missed(), once for
//                                                              each subscriber
//
// The worker's thread alone; last() belongs to the main thread between orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "engine/load_window.hpp"
#include "measure/histogram.hpp"

namespace wireload {

class broadcast_ledger {
public:
    // `window` must outlive it. `ring_mask`: one less than the slots, a power of two, of which
    // `at_once` are used.
    broadcast_ledger(load_window& window, std::uint32_t ring_mask, std::uint32_t at_once)
        : window_(window), at_once_(at_once), slots_(std::size_t{ring_mask} + 1) {}

    // ---- for the publisher ----

    // Whether one more message may be sent.
    bool has_room() const { return in_flight_ < at_once_ && slot(last_ + 1).waiting == 0; }
    std::uint64_t next() const { return last_ + 1; }
    std::uint32_t in_flight() const { return in_flight_; }
    // Precondition: has_room(), and `subscribers` is not 0.
    void sent(std::uint32_t subscribers, nanos at);
    // What was recorded before the window does not count.
    void window_opened() { last_delivery_.clear(); }

    // ---- for connections ----

    bool was_sent(std::uint64_t n) const { return n != 0 && n <= last_; }
    // One subscriber has message n. Whether it was the last, so that another may be sent.
    bool delivered(std::uint64_t n, nanos at);
    // One subscriber never gets it, or not as it should. Likewise.
    bool missed(std::uint64_t n);

    // Times from the sending of a message until the last subscriber had it; only of messages that
    // every subscriber got.
    const histogram& last() const { return last_delivery_; }

private:
    struct entry {
        std::uint32_t waiting = 0;  // subscribers
        bool whole = true;
        nanos sent_at = 0;
    };
    entry& slot(std::uint64_t n) { return slots_[n & (slots_.size() - 1)]; }
    const entry& slot(std::uint64_t n) const { return slots_[n & (slots_.size() - 1)]; }
    bool settle(entry& e);

    load_window& window_;
    const std::uint32_t at_once_;
    std::vector<entry> slots_;
    std::uint64_t last_ = 0;
    std::uint32_t in_flight_ = 0;
    histogram last_delivery_;
};

}  // namespace wireload
