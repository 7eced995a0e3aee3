// The tasks of a task_group that have not ended. Not for users: task_group is.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace wire::detail {

// Each task runs inside a small coroutine whose promise is a node of this list: it leaves the list
// when it ends or is destroyed. One thread's.
class running_tasks {
    struct node {
        running_tasks* all = nullptr;
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
                running_tasks* const all = ended.promise().all;
                ended.destroy();  // and this awaiter with it
                if (all->empty() && all->joiner_) std::exchange(all->joiner_, nullptr).resume();
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
    template <typename Task> static runner run(Task t) { co_await std::move(t); }

public:
    running_tasks() noexcept = default;
    running_tasks(const running_tasks&) = delete;
    running_tasks& operator=(const running_tasks&) = delete;
    ~running_tasks() { clear(); }

    void clear() noexcept {
        while (head_.next != &head_) {
            node* const n = head_.next;
            n->unlink();
            handle_of(n).destroy();
        }
    }
    // Runs it up to where it first waits.
    template <typename Task> void spawn(Task t) {
        node* const n = run(std::move(t)).promise;
        n->all = this;
        n->previous = head_.previous;
        n->next = &head_;
        head_.previous->next = n;
        head_.previous = n;
        handle_of(n).resume();
    }
    bool empty() const noexcept { return head_.next == &head_; }
    // Resumed once when the last one ends; null: nobody.
    void set_joiner(std::coroutine_handle<> joiner) noexcept { joiner_ = joiner; }

private:
    node head_;  // circular
    std::coroutine_handle<> joiner_;
};

}  // namespace wire::detail
