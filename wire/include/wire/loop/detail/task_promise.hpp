// What the compiler's coroutine machinery finds inside a task. Not for users: task is.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace wire {

template <typename T = void> class task;

namespace detail {

class task_promise_base {
    struct final_awaiter {
        bool await_ready() const noexcept { return false; }
        template <typename Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
            task_promise_base& p = ended.promise();
            p.done_ = true;
            return p.starting_ ? std::noop_coroutine() : p.next_;
        }
        void await_resume() const noexcept {}
    };

public:
    std::suspend_always initial_suspend() const noexcept { return {}; }
    final_awaiter final_suspend() const noexcept { return {}; }
    void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

    // Runs the task up to where it first waits; false when it has ended by then, and `next` can go
    // on at once. So a loop that awaits tasks which never wait does not grow the stack, even where
    // the compiler makes no tail calls (GCC below -O2).
    bool start(std::coroutine_handle<> frame, std::coroutine_handle<> next) {
        next_ = next;
        starting_ = true;
        frame.resume();
        starting_ = false;
        return !done_;
    }

protected:
    void rethrow() const {
        if (thrown_ != nullptr) std::rethrow_exception(thrown_);
    }

private:
    std::coroutine_handle<> next_;
    bool starting_ = false;
    bool done_ = false;
    std::exception_ptr thrown_;
};

template <typename T> class task_promise : public task_promise_base {
public:
    task<T> get_return_object() noexcept {
        return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
    }
    template <typename U> void return_value(U&& value) { value_.emplace(std::forward<U>(value)); }
    T take() {
        rethrow();
        return *std::move(value_);
    }

private:
    std::optional<T> value_;
};

template <> class task_promise<void> : public task_promise_base {
public:
    task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
    void take() const { rethrow(); }
};

}  // namespace detail
}  // namespace wire
