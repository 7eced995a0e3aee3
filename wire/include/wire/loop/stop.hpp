// Waiting for a std::stop_token in a coroutine, alone or with a time limit.
//
//     const std::stop_token stopping = res.stop_token();  // wire/server/response.hpp
//     while (co_await wire::sleep_for(loop, std::chrono::seconds(1), stopping)) tick();
//     co_await wire::stop_requested(loop, stopping);
//
// Any token will do: a server's, or that of a std::stop_source of one's own. Where a callback is
// wanted instead of a coroutine, std::stop_callback is there.
#pragma once

#ifdef WIRE_WITHOUT_COROUTINES
#error "this wire was built without coroutines: build it with -D WIRE_WITH_COROUTINES=ON"
#endif

#include <coroutine>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "wire/loop/task.hpp"

namespace wire {

// `co_await sleep_or_stop(loop, when, token)`: goes on, from the loop, at `when` or, when a stop is
// requested before, as soon as the loop hears of it; at once where it was requested already. True:
// the time is over, and no stop was requested. time_point::max() waits for the stop alone.
//
// Belongs to the loop's thread; the stop may be requested on any. Destroying the coroutine that
// waits ends the wait. The loop must outlive it.
class [[nodiscard]] sleep_or_stop {
public:
    sleep_or_stop(event_loop& loop, time_point when, std::stop_token token) noexcept
        : loop_(&loop), when_(when), token_(std::move(token)) {}
    sleep_or_stop(const sleep_or_stop&) = delete;
    sleep_or_stop& operator=(const sleep_or_stop&) = delete;
    ~sleep_or_stop() {
        if (self_ != nullptr) *self_ = nullptr;
    }

    bool await_ready() const noexcept { return token_.stop_requested(); }
    void await_suspend(std::coroutine_handle<> waiting) {
        waiting_ = waiting;
        if (when_ != time_point::max()) loop_->arm(timer_, when_);
        self_ = std::make_shared<sleep_or_stop*>(this);
        on_stop_.emplace(token_, notice{loop_, self_});
    }
    bool await_resume() const noexcept { return !token_.stop_requested(); }

private:
    // Called on the thread that requests the stop. `self` is looked at on the loop's thread.
    struct notice {
        event_loop* loop;
        std::shared_ptr<sleep_or_stop*> self;
        void operator()() const {
            loop->post([self = self] {
                if (*self != nullptr) (*self)->wake();
            });
        }
    };
    // The coroutine, and this object with it, may be gone afterwards.
    void wake() {
        if (waiting_) std::exchange(waiting_, nullptr).resume();
    }

    event_loop* loop_;
    time_point when_;
    std::stop_token token_;
    std::coroutine_handle<> waiting_;
    std::shared_ptr<sleep_or_stop*> self_;  // null in it: this object is gone
    timer timer_ = timer::calling<&sleep_or_stop::wake>(this);
    std::optional<std::stop_callback<notice>> on_stop_;
};

// `co_await sleep_for(loop, 10ms, token)`: the same after `delay`, counted as by sleep_for()
// without a token. False when a stop was requested.
template <typename Rep, typename Period>
sleep_or_stop sleep_for(event_loop& loop, std::chrono::duration<Rep, Period> delay,
                        std::stop_token token) noexcept {
    return {loop, loop.core().present() + detail::capped(delay), std::move(token)};
}
// `co_await stop_requested(loop, token)`: waits for the stop, without a time limit. False always.
inline sleep_or_stop stop_requested(event_loop& loop, std::stop_token token) noexcept {
    return {loop, time_point::max(), std::move(token)};
}

}  // namespace wire
