#include "engine/publisher.hpp"

#include "engine/ws_connection.hpp"

namespace wireload {

void publisher::pump() {
    load_window& window = host_.window();
    window.advance(clock_now());
    while (window.loading() && ledger_.has_room()) {
        if (!find_sender()) return host_.give_up();
        if (!may_send()) {
            // Where nothing is awaited either, the load is over.
            if (ledger_.in_flight() == 0) window.end(clock_now());
            return;
        }
        if (!send_one()) return;
    }
}

bool publisher::find_sender() {
    while (sender_ < connections_.size() && !connections_[sender_].is_subscribed()) ++sender_;
    return sender_ < connections_.size();
}

bool publisher::may_send() { return host_.window().sending() && host_.quota().take(unused_quota_); }

bool publisher::send_one() {
    load_window& window = host_.window();
    const nanos now = clock_now();
    window.advance(now);
    // The message is on its way before the subscribers are told to wait for it: with thousands of
    // them that takes longer than the first delivery, and nothing is read meanwhile.
    if (!window.loading()) return false;
    // Broadcasts are for WebSocket alone.
    if (!static_cast<ws_connection&>(connections_[sender_]).publish(ledger_.next())) {
        host_.quota().give_back();
        return false;
    }
    std::uint32_t subscribers = 0;
    for (std::uint32_t i = 0; i < connections_.size(); ++i) {
        if (!connections_[i].is_subscribed()) continue;
        connections_[i].await_broadcast(now);
        ++subscribers;
    }
    ledger_.sent(subscribers, now);
    return true;
}

}  // namespace wireload
