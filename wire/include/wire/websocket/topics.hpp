// Publish and subscribe: what is published to a topic goes to every session that has subscribed to
// it, on all loops.
//
//     ws::topics rooms;
//     routes.websocket("/room", [rooms](ws::session& s, const http::request& r) mutable {
//         rooms.subscribe(s, r.query());
//     });
//     ...
//     rooms.publish("news", "hello");  // from any thread
//
// A message is framed once and shared by all loops and sessions (it goes out uncompressed). A topic
// exists as long as it has subscribers; a session leaves its topics when it closes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "wire/base/result.hpp"
#include "wire/websocket/session.hpp"

namespace wire::ws {

// What becomes of a message for a session that is congested (session::is_congested()): it misses
// the message, or it is closed with 1013, so that it knows that it has missed something. Either way
// what waits for it stays bounded.
enum class slow_subscriber : std::uint8_t { skip, close };

// Copies are the same set of topics; it lives as long as one of them or a subscription.
class topics {
public:
    explicit topics(slow_subscriber policy = slow_subscriber::skip);

    // On the session's thread. Doing it twice is doing it once. Errors: too_many_topics beyond
    // limits::max_topics, bad_argument for a name longer than limits::max_topic_bytes, stopped for
    // a session that is not open.
    result<void> subscribe(session& s, std::string_view topic) const;
    // On the session's thread. False when it had not subscribed.
    bool unsubscribe(session& s, std::string_view topic) const;

    // Any thread. Those of one thread arrive in order; on a subscriber's own loop at once, on
    // others in one of the next turns. Text must be UTF-8.
    void publish(std::string_view topic, std::string_view data, opcode op = opcode::text) const;
    // The same from a session, on its thread, to all but itself.
    void publish_from(const session& from, std::string_view topic, std::string_view data,
                      opcode op = opcode::text) const;

private:
    friend struct detail::subscription;
    struct hub;
    struct member;
    struct entry;
    struct message;
    void publish(const session* from, std::string_view topic, std::string_view data,
                 opcode op) const;
    std::shared_ptr<hub> hub_;
};

}  // namespace wire::ws
