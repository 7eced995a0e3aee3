// C++20 coroutines on an event_loop.
//
//     wire::task<int> answer(wire::event_loop& loop) {
//         co_await wire::sleep_for(loop, std::chrono::seconds(1));
//         co_return 42;
//     }
//     int n = wire::block_on(loop, answer(loop));
//
// A task does nothing until it is awaited, and costs one allocation, its frame. Destroying a task
// that waits ends it: what its frame holds is destroyed, and what it waited for is given up.
//
//     state of a task    comes about by              leaves by
//     not begun          calling the coroutine       co_await, spawn(), destruction
//     running            being resumed               co_await inside it, co_return, throwing
//     waiting            co_await inside it          being resumed from the loop, destruction
//     ended              co_return, throwing         destruction
//
// All belongs to the loop's thread. What a task awaits must belong to the same loop.
#pragma once

#ifdef WIRE_WITHOUT_COROUTINES
#error "this wire was built without coroutines: build it with -D WIRE_WITH_COROUTINES=ON"
#endif

#include <chrono>
#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "wire/loop/detail/running_tasks.hpp"
#include "wire/loop/detail/task_promise.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire {

// What a coroutine returns that gives a T, or nothing (task<>), when it is awaited: once, as
// `co_await std::move(t)` or `co_await f()`. An exception that leaves the coroutine comes out of
// that co_await. Movable; a task that was moved from may only be destroyed or assigned to.
template <typename T> class [[nodiscard]] task {
public:
    // The compiler looks for this name.
    using promise_type = detail::task_promise<T>;

    task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    // Ends the task that it held.
    task& operator=(task&& other) noexcept {
        task moved(std::move(other));
        std::swap(frame_, moved.frame_);
        return *this;
    }
    // Destroys the coroutine with all that its frame holds. Not from inside it.
    ~task() {
        if (frame_) frame_.destroy();
    }

    // What co_await makes of a task.
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

    // Not for users: how the compiler makes a task for the frame that it owns from now on.
    explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

private:
    std::coroutine_handle<promise_type> frame_;
};

namespace detail {

inline task<void> task_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

}  // namespace detail

// Tasks that run beside each other, with nobody waiting for any one of them. Destroy it before what
// its tasks use, and not from inside one of them. One thread's.
class task_group {
public:
    // Empty.
    task_group() noexcept = default;
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    // Destroys the tasks that have not ended.
    ~task_group() = default;

    // Destroys the tasks that have not ended. A join() that waits is not resumed.
    void clear() noexcept { running_.clear(); }

    // Owns the task from now on, and runs it up to where it first waits. An exception that leaves
    // it ends the program, as it would in any callback of a loop. Throws std::bad_alloc.
    void spawn(task<void> t) { running_.spawn(std::move(t)); }
    // Whether all have ended.
    bool empty() const noexcept { return running_.empty(); }

    // What join() returns, to be awaited at once.
    class [[nodiscard]] joining {
    public:
        explicit joining(detail::running_tasks& running) noexcept : running_(&running) {}
        joining(const joining&) = delete;
        joining& operator=(const joining&) = delete;
        ~joining() {
            if (waits_) running_->set_joiner(nullptr);
        }
        bool await_ready() const noexcept { return running_->empty(); }
        void await_suspend(std::coroutine_handle<> waiting) noexcept {
            running_->set_joiner(waiting);
            waits_ = true;
        }
        void await_resume() noexcept { waits_ = false; }

    private:
        detail::running_tasks* running_;
        bool waits_ = false;
    };
    // `co_await group.join()` waits until all have ended, those spawned meanwhile too. One caller
    // at a time. The group must outlive the wait.
    joining join() noexcept { return joining(running_); }

private:
    detail::running_tasks running_;
};

// `co_await sleep_until(loop, when)`: goes on, from the loop, at `when` or soon after. A moment
// that has passed costs one loop iteration. Destroying the coroutine that sleeps disarms it.
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
// `co_await sleep_for(loop, 10ms)`: the same after `delay`, which counts from loop.now(), the
// beginning of the loop iteration, and outside of one from the call, as all delays of timers do.
template <typename Rep, typename Period>
sleep_until sleep_for(event_loop& loop, std::chrono::duration<Rep, Period> delay) noexcept {
    return {loop, loop.core().present() + detail::capped(delay)};
}

namespace detail {

// What block_on() spawns.
template <typename T> task<void> keep_result(task<T> t, std::optional<T>& out) {
    out.emplace(co_await std::move(t));
}
inline task<void> keep_result(task<void> t, bool& out) {
    co_await std::move(t);
    out = true;
}

}  // namespace detail

// Runs the loop on the calling thread until the task has ended, and gives what it returned. Not
// from inside a callback or task of that loop. An exception that leaves the task ends the program.
// stop() does not end it.
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
