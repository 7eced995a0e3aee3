// C++20 coroutines on an event_loop.
//
//     wire::task<int> answer(wire::event_loop& loop) {
//         co_await wire::sleep_for(loop, std::chrono::seconds(1));
//         co_return 42;
//     }
//     int n = wire::block_on(loop, answer(loop));
//
// A task does nothing until it is awaited, and costs one allocation, its frame. Whoever destroys a
// task that waits ends it: what its frame holds is destroyed, and what it waited for is given up.
// All belongs to the loop's thread.
#pragma once

#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "wire/loop/event_loop.hpp"

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
    task<T> get_return_object() noexcept;
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

// Awaited once, as `co_await std::move(t)` or `co_await f()`. What it throws comes out there.
template <typename T> class [[nodiscard]] task {
public:
    using promise_type = detail::task_promise<T>;

    task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    task& operator=(task&& other) noexcept {
        task moved(std::move(other));
        std::swap(frame_, moved.frame_);
        return *this;
    }
    ~task() {
        if (frame_) frame_.destroy();
    }

    class awaiter {
    public:
        explicit awaiter(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> next) const {
            return frame_.promise().start(frame_, next);
        }
        T await_resume() const { return frame_.promise().take(); }

    private:
        std::coroutine_handle<promise_type> frame_;
    };
    awaiter operator co_await() && noexcept { return awaiter(frame_); }

private:
    friend promise_type;
    explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
    std::coroutine_handle<promise_type> frame_;
};

namespace detail {

template <typename T> task<T> task_promise<T>::get_return_object() noexcept {
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

}  // namespace detail

// Tasks that run beside each other, with nobody waiting for any one of them. Destroying it destroys
// those that have not ended; so it comes after what they use. Not from inside one of them. One
// thread's.
class task_group {
    struct node {
        task_group* group = nullptr;
        node* next = this;
        node* previous = this;
        void unlink() noexcept {
            next->previous = previous;
            previous->next = next;
            next = previous = this;
        }
    };
    struct runner {
        struct promise_type;
        struct ending {
            bool await_ready() const noexcept { return false; }
            void await_suspend(std::coroutine_handle<promise_type> ended) const noexcept {
                task_group* const group = ended.promise().group;
                ended.destroy();  // and this awaiter with it
                if (group->empty() && group->joiner_)
                    std::exchange(group->joiner_, nullptr).resume();
            }
            void await_resume() const noexcept {}
        };
        struct promise_type : node {
            runner get_return_object() noexcept { return {this}; }
            std::suspend_always initial_suspend() const noexcept { return {}; }
            ending final_suspend() const noexcept { return {}; }
            void return_void() const noexcept {}
            void unhandled_exception() const noexcept { std::terminate(); }
            ~promise_type() { this->unlink(); }
        };
        promise_type* promise;
    };
    static std::coroutine_handle<runner::promise_type> handle_of(node* n) noexcept {
        return std::coroutine_handle<runner::promise_type>::from_promise(
            *static_cast<runner::promise_type*>(n));
    }
    static runner run(task<void> t) { co_await std::move(t); }

public:
    task_group() noexcept = default;
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    ~task_group() { clear(); }

    // Destroys those that have not ended.
    void clear() noexcept {
        while (all_.next != &all_) {
            node* const n = all_.next;
            n->unlink();
            handle_of(n).destroy();
        }
    }

    // Runs it up to where it first waits. An exception that leaves it ends the program, as it would
    // in any callback of a loop.
    void spawn(task<void> t) {
        node* const n = run(std::move(t)).promise;
        n->group = this;
        n->previous = all_.previous;
        n->next = &all_;
        all_.previous->next = n;
        all_.previous = n;
        handle_of(n).resume();
    }
    bool empty() const noexcept { return all_.next == &all_; }

    // `co_await group.join()`: until all have ended. One at a time.
    class [[nodiscard]] joining {
    public:
        explicit joining(task_group& group) noexcept : group_(&group) {}
        joining(const joining&) = delete;
        joining& operator=(const joining&) = delete;
        ~joining() {
            if (waits_) group_->joiner_ = nullptr;
        }
        bool await_ready() const noexcept { return group_->empty(); }
        void await_suspend(std::coroutine_handle<> waiting) noexcept {
            group_->joiner_ = waiting;
            waits_ = true;
        }
        void await_resume() noexcept { waits_ = false; }

    private:
        task_group* group_;
        bool waits_ = false;
    };
    joining join() noexcept { return joining(*this); }

private:
    node all_;  // list head, circular
    std::coroutine_handle<> joiner_;
};

// `co_await sleep_for(loop, 10ms)`.
class [[nodiscard]] sleep_until {
public:
    sleep_until(event_loop& loop, time_point when) noexcept : loop_(&loop), when_(when) {}
    sleep_until(const sleep_until&) = delete;
    sleep_until& operator=(const sleep_until&) = delete;

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
        waiting_ = waiting;
        loop_->arm(timer_, when_);
    }
    void await_resume() const noexcept {}

private:
    void wake() { waiting_.resume(); }

    event_loop* loop_;
    time_point when_;
    std::coroutine_handle<> waiting_;
    timer timer_ = timer::calling<&sleep_until::wake>(this);
};
// Counts from the beginning of the loop's turn, as all its timers do.
inline sleep_until sleep_for(event_loop& loop, clock::duration delay) noexcept {
    return {loop, loop.now() + delay};
}

namespace detail {

template <typename T> task<void> keep_result(task<T> t, std::optional<T>& out) {
    out.emplace(co_await std::move(t));
}
inline task<void> keep_result(task<void> t, bool& out) {
    co_await std::move(t);
    out = true;
}

}  // namespace detail

// Runs the loop until the task has ended. Not from inside a callback or task of that loop.
template <typename T> T block_on(event_loop& loop, task<T> t) {
    loop.refresh_now();
    task_group group;
    if constexpr (std::is_void_v<T>) {
        bool done = false;
        group.spawn(detail::keep_result(std::move(t), done));
        while (!done) loop.run_once();
    } else {
        std::optional<T> got;
        group.spawn(detail::keep_result(std::move(t), got));
        while (!got) loop.run_once();
        return *std::move(got);
    }
}

}  // namespace wire
