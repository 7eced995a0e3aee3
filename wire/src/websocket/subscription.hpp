// A session's place in a topic. The session owns it, and leaves the topic by destroying it.
#pragma once

#include "wire/websocket/topics.hpp"

namespace wire::ws::detail {

struct subscription {
    // Joins the topic `e`.
    subscription(session& s, topics::entry& e) noexcept;
    ~subscription();
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;

    session* to;
    topics::entry* of;
    subscription* next;
    subscription* previous = nullptr;
};

}  // namespace wire::ws::detail
