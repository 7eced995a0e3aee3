// Who has to leave when unfinished messages hold too much: those that have held most for longest.
#include "message_budget.hpp"

#include <algorithm>
#include <utility>

#include "session_core.hpp"

namespace wire::ws::detail {

void message_budget::hold(session_core& s, std::size_t bytes) {
    unfinished_message& one = s.more->unfinished;
    if (!one.followed()) {
        one.place = holders_.size();
        holders_.push_back(&s);
    }
    held_ += bytes - one.held_bytes;
    one.held_bytes = bytes;
    const std::uint64_t most = s.bounds->max_unfinished_message_bytes;
    if (most != 0 && held_ > most) make_room(most - most / 8, s.on->now());
}

void message_budget::forget(session_core& s) noexcept {
    unfinished_message& one = s.more->unfinished;
    held_ -= std::exchange(one.held_bytes, 0);
    holders_[one.place] = holders_.back();
    holders_[one.place]->more->unfinished.place = one.place;
    holders_.pop_back();
    one.place = unfinished_message::nowhere;
}

// Bytes times age is what a message has cost: one that is sent as fast as it goes is young, one
// that waits to be finished is not. An eighth is freed at once, so that the sessions are not looked
// through for each byte.
void message_budget::make_room(std::uint64_t most, time_point now) {
    std::vector<std::pair<double, session_core*>> by_cost;
    by_cost.reserve(holders_.size());
    for (session_core* s : holders_) {
        const unfinished_message& one = s->more->unfinished;
        const std::chrono::duration<double> age = now - one.began + std::chrono::milliseconds(1);
        by_cost.emplace_back(static_cast<double>(one.held_bytes) * age.count(), s);
    }
    std::sort(by_cost.begin(), by_cost.end(), std::greater<>());
    // on_close() handlers run here. They may end other sessions, which are destroyed later.
    for (const auto& [cost, s] : by_cost) {
        if (held_ <= most) return;
        if (s->follows_message())
            s->refuse_message(close_code::try_again_later, "too many unfinished messages");
    }
}

}  // namespace wire::ws::detail
