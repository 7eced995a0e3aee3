// A session's place in a topic. The session owns it, and leaves the topic by destroying it.
#pragma once

#include "wire/websocket/session.hpp"

namespace wire::ws::detail {

struct topic_entry;

struct subscription {
    // Joins the topic `e`.
    subscription(session_core& s, topic_entry& e) noexcept;
    ~subscription();
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;

    session_core* to;
    topic_entry* of;
    // The list of the topic's subscribers on this loop.
    subscription* next;
    subscription* previous = nullptr;
};

}  // namespace wire::ws::detail
