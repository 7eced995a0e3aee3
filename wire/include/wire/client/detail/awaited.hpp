// How a call with a callback becomes something that a coroutine can wait for. Not for users; the
// awaitables of wire/client/coroutine.hpp derive from it.
#pragma once

#include <coroutine>
#include <optional>
#include <utility>

#include "wire/loop/event_loop.hpp"

namespace wire::detail {

// The awaiter, which stays where it is, and the callback, which is given away and moved, know each
// other; whichever is destroyed first tells the other. The coroutine is resumed at the end of the
// loop iteration, outside the callback, so that it may destroy the client that called back.
template <typename Value> class awaited : private iteration_hook {
public:
    explicit awaited(event_loop& loop) noexcept
        : iteration_hook(&awaited::on_iteration_end), loop_(&loop) {}
    awaited(const awaited&) = delete;
    awaited& operator=(const awaited&) = delete;
    ~awaited() {
        if (call_ != nullptr) call_->forget();
    }

    // What the client is given to call once.
    class callback {
    public:
        explicit callback(awaited& to) noexcept : to_(&to) { to.call_ = this; }
        callback(callback&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {
            if (to_ != nullptr) to_->call_ = this;
        }
        callback(const callback&) = delete;
        callback& operator=(const callback&) = delete;
        callback& operator=(callback&&) = delete;
        ~callback() { release(); }

        void operator()(Value value) {
            awaited* const to = release();
            if (to == nullptr) return;
            to->value_.emplace(std::move(value));
            to->loop_->at_iteration_end(*to);
        }
        // The awaiter is gone: the value will be dropped.
        void forget() noexcept { to_ = nullptr; }

    private:
        awaited* release() noexcept {
            if (to_ != nullptr) to_->call_ = nullptr;
            return std::exchange(to_, nullptr);
        }

        awaited* to_;
    };

    bool await_ready() const noexcept { return false; }
    Value await_resume() { return *std::move(value_); }

protected:
    // The callback was not called yet, and still can be.
    bool is_awaited() const noexcept { return call_ != nullptr; }

    std::coroutine_handle<> waiting_;
    std::optional<Value> value_;

private:
    static void on_iteration_end(iteration_hook& hook) noexcept {
        static_cast<awaited&>(hook).waiting_.resume();
    }

    event_loop* loop_;
    callback* call_ = nullptr;
};

}  // namespace wire::detail
