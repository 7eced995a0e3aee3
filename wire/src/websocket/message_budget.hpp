// What the WebSocket messages hold that have begun and not ended, over all sessions of one loop.
// Bounded by limits::max_unfinished_message_bytes: a limit for each message alone would let many
// connections hold one almost whole message each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "wire/loop/clock.hpp"

namespace wire::ws::detail {

struct session_core;

// A session's part: the message that has begun. Kept in session_core::extras.
struct unfinished_message {
    static constexpr std::size_t nowhere = SIZE_MAX;

    bool followed() const noexcept { return place != nowhere; }

    std::size_t place = nowhere;  // in message_budget
    std::size_t held_bytes = 0;
    // Its beginning, moved on by the time in which the peer was held back.
    time_point began{};
    std::optional<time_point> held_back_since;
};

// One for all sessions of a loop or dialer, on its thread. Outlives them.
class message_budget {
public:
    // `s`, which follows a message, holds `bytes` for it. When that is too much, sessions are ended
    // (session_core::refuse_message()), which may include `s`.
    void hold(session_core& s, std::size_t bytes);
    // The message of `s` holds nothing any more, and is not followed.
    void forget(session_core& s) noexcept;

    // Bytes held by all.
    std::uint64_t held_bytes() const noexcept { return held_; }

private:
    void make_room(std::uint64_t most, time_point now);

    std::uint64_t held_ = 0;
    std::vector<session_core*> holders_;
};

}  // namespace wire::ws::detail
