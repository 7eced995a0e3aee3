// Objects that ended while they may still be on the stack: destroyed at the end of the turn.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "wire/loop/event_loop.hpp"

namespace wire::detail {

template <typename T> class deferred_deletion : private iteration_hook {
public:
    deferred_deletion() noexcept : iteration_hook(&deferred_deletion::on_iteration_end) {}

    void defer(event_loop& loop, std::unique_ptr<T> dead) {
        dead_.push_back(std::move(dead));
        loop.at_iteration_end(*this);
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
    static void on_iteration_end(iteration_hook& hook) noexcept {
        static_cast<deferred_deletion&>(hook).clear();
    }
    std::vector<std::unique_ptr<T>> dead_;
};

}  // namespace wire::detail
