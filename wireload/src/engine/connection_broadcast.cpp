// The part of a connection that only broadcasts use: it waits for messages that it did not ask for.
#include <algorithm>

#include "engine/connection.hpp"

namespace wireload {

void connection::came_unasked(nanos at, std::string_view received, std::string_view expected) {
    host_.window().advance(at);
    report(error_kind::bad_body, sent_, at, received, expected);
    host_.window().wrong_replies(error_kind::bad_body, 1, 0, at, 0);
}

std::uint64_t connection::lose_broadcasts() {
    broadcast_ledger& ledger = *host_.broadcasts();
    broadcast_counts& counts = host_.window().broadcasts();
    ++counts.left;
    counts.lost += flying_;
    for (std::uint64_t n = oldest(); n <= sent_; ++n) {
        if (is_in_flight(n)) ledger.missed(n);
    }
    host_.at_iteration_end();
    // One that waited for nothing is an error itself.
    return std::max(1U, flying_);
}

}  // namespace wireload
