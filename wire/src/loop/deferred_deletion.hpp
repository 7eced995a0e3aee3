// Objects that ended while they may still be on the stack: destroyed at the end of the loop
// iteration. The server's connections and the client's end here.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "wire/loop/event_loop.hpp"

namespace wire::detail {

// One for all objects of a kind on one loop; on its thread. Destroying it destroys what waits.
template <typename T> class deferred_deletion : private iteration_hook {
public:
    deferred_deletion() noexcept : iteration_hook(&deferred_deletion::on_iteration_end) {}

    // Takes `dead` over, to be destroyed when no callback of this iteration can touch it any more.
    void defer(event_loop& loop, std::unique_ptr<T> dead) {
        dead_.push_back(std::move(dead));
        loop.at_iteration_end(*this);
    }
    // Destroys at once all that wait. Not from inside a callback of any of them.
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

// Destroys what may have callbacks on the stack: at the end of the loop iteration, or at once where
// none runs. On the loop's thread.
template <typename T> void destroy_after_callbacks(event_loop& loop, std::unique_ptr<T> dead) {
    struct last_call final : iteration_hook {
        explicit last_call(std::unique_ptr<T> d)
            : iteration_hook(
                  [](iteration_hook& hook) noexcept { delete static_cast<last_call*>(&hook); }),
              of(std::move(d)) {}
        std::unique_ptr<T> of;
    };
    if (!loop.core().in_iteration()) return;
    loop.at_iteration_end(*std::make_unique<last_call>(std::move(dead)).release());
}

}  // namespace wire::detail
