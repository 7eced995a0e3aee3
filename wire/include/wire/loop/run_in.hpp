// Work that blocks, for coroutines: it runs on a pool's thread while the loop goes on.
//
//     auto work = [name] { return read_file(name); };
//     const std::string page = co_await wire::run_in(pool, loop, std::move(work));
//
// GCC 12 destroys twice what a lambda inside an expression with co_await has captured: give such a
// lambda a name before.
#pragma once

#ifdef WIRE_WITHOUT_COROUTINES
#error "this wire was built without coroutines: build it with -D WIRE_WITH_COROUTINES=ON"
#endif

#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "wire/loop/blocking_pool.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire {

namespace detail {

struct nothing {};  // the result of work that returns void

}  // namespace detail

// `co_await run_in(pool, loop, work)` from a coroutine on the loop's thread; the co_await needs an
// object of `Work` that can be called without arguments and moved.
//
// `work` is called once, on a thread of the pool. What it returns, or throws, comes out of
// co_await, on the loop's thread. A coroutine that is destroyed meanwhile does not stop the work,
// which must own what it uses; its result is then dropped.
//
// The loop must outlive the wait, and so must the pool: work that an ending pool drops resumes
// nobody.
template <typename Work> class [[nodiscard]] run_in {
public:
    // What co_await gives.
    using value = std::invoke_result_t<Work&>;

    // Nothing runs before co_await.
    run_in(blocking_pool& pool, event_loop& loop, Work work)
        : pool_(&pool), loop_(&loop), work_(std::move(work)) {}
    run_in(const run_in&) = delete;
    run_in& operator=(const run_in&) = delete;
    // Called for a coroutine that is destroyed while it waits, too.
    ~run_in() {
        if (shared_ == nullptr) return;
        const std::lock_guard lock(shared_->mutex);
        shared_->loop = nullptr;
        shared_->waiting = nullptr;
    }

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
        shared_ = std::make_shared<shared>();
        shared_->loop = loop_;
        shared_->waiting = waiting;
        pool_->run([work = std::move(work_), to = shared_]() mutable {
            to->run(work);
            const std::lock_guard lock(to->mutex);
            if (to->loop == nullptr) return;
            to->loop->post([to] {
                if (to->waiting) to->waiting.resume();
            });
        });
    }
    value await_resume() {
        if (shared_->thrown != nullptr) std::rethrow_exception(shared_->thrown);
        if constexpr (!std::is_void_v<value>) return *std::move(shared_->got);
    }

private:
    // Outlives whichever of the coroutine and the work ends first.
    struct shared {
        std::mutex mutex;
        event_loop* loop = nullptr;       // guarded by mutex; null once nobody waits
        std::coroutine_handle<> waiting;  // the loop's thread
        // The pool's thread until posted, then the loop's.
        std::optional<std::conditional_t<std::is_void_v<value>, detail::nothing, value>> got;
        std::exception_ptr thrown;

        void run(Work& work) noexcept {
            try {
                if constexpr (std::is_void_v<value>) {
                    work();
                } else {
                    got.emplace(work());
                }
            } catch (...) {
                thrown = std::current_exception();
            }
        }
    };

    blocking_pool* pool_;
    event_loop* loop_;
    Work work_;
    std::shared_ptr<shared> shared_;
};

}  // namespace wire
