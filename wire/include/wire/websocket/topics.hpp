// Publish and subscribe: a message that is published to a topic goes to every session that has
// subscribed to it, on all loops.
//
//     ws::topics rooms;
//     routes.websocket("/room", [rooms](ws::session& s, const http::request& r) mutable {
//         if (!rooms.subscribe(s, r.query())) s.close();
//     });
//     ...
//     rooms.publish("news", "hello");  // from any thread
//
// A message is framed once, and the frame is shared by all loops and sessions. It therefore goes
// out uncompressed, also to sessions that agreed on compression. A topic exists as long as it has
// subscribers: there is nothing to create or delete. A session leaves its topics when it closes.
#pragma once

#ifdef WIRE_WITHOUT_TOPICS
#error "this wire was built without topics: build it with -D WIRE_WITH_TOPICS=ON"
#endif

#include <cstdint>
#include <memory>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/websocket/session.hpp"

namespace wire::ws {

namespace detail {
struct topic_hub;
}  // namespace detail

// What happens to a message for a session that is congested (session::is_congested()). Either way
// the bytes queued for one session stay bounded.
enum class slow_subscriber : std::uint8_t {
    skip,   // the session misses this message, and is not told
    close,  // the session is closed with 1013 (try again later), so that it knows it missed one
};

// A set of topics. Copies refer to the same set; it lives as long as one of them or a subscription.
class WIRE_EXPORT topics {
public:
    // `policy` holds for all topics of this set.
    explicit topics(slow_subscriber policy = slow_subscriber::skip);

    // Adds `s` to the subscribers of `topic`, a name of any bytes. Call it on the session's thread.
    // A second subscription to the same topic changes nothing. Takes time linear in the topics that
    // `s` has already. Errors: too_many_topics beyond limits::max_topics for this session,
    // bad_argument for a name longer than limits::max_topic_bytes, stopped for a session that is
    // not open.
    result<void> subscribe(session& s, std::string_view topic) const;
    // Removes `s` from the subscribers. Call it on the session's thread. False when it had not
    // subscribed.
    bool unsubscribe(session& s, std::string_view topic) const;

    // Sends `data` as one message to every subscriber. Any thread. Copies `data`, and takes a lock
    // for the length of a walk over the loops that have subscribers. Sessions on loops of the
    // calling thread are sent the message before this returns, those on other loops in one of their
    // next loop iterations. Messages of one publishing thread arrive in order. Text must be UTF-8,
    // which is not checked.
    void publish(std::string_view topic, std::string_view data, opcode op = opcode::text) const;
    // The same from one session to all other subscribers. Call it on the thread of `from`, which
    // need not have subscribed.
    void publish_from(const session& from, std::string_view topic, std::string_view data,
                      opcode op = opcode::text) const;

private:
    std::shared_ptr<detail::topic_hub> hub_;
};

}  // namespace wire::ws
