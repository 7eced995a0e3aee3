// Objects that ended while they may still be on the stack: destroyed at the end of the turn.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "wire/loop/event_loop.hpp"

namespace wire::detail {

template <typename T>
class graveyard : private turn_hook {
public:
    graveyard() noexcept : turn_hook(&graveyard::on_turn_end) {}

    void bury(event_loop& loop, std::unique_ptr<T> dead) {
        dead_.push_back(std::move(dead));
        loop.at_turn_end(*this);
    }
    void clear() noexcept {
        // Destroying one may end others: what they own is the user's.
        while (!dead_.empty()) {
            auto now = std::move(dead_);
            dead_.clear();
            now.clear();
        }
    }

private:
    static void on_turn_end(turn_hook& hook) noexcept { static_cast<graveyard&>(hook).clear(); }
    std::vector<std::unique_ptr<T>> dead_;
};

}  // namespace wire::detail
