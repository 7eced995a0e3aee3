// The inside of an event_loop: what its engine, its streams and the blocking clients share. Not for
// users: event_loop is.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/clock.hpp"
#include "wire/loop/detail/arrival_clock.hpp"
#include "wire/loop/detail/nodes.hpp"
#include "wire/loop/detail/timer_heap.hpp"
#include "wire/loop/io_source.hpp"
#include "wire/loop/loop_options.hpp"

namespace wire::detail {

class engine;

// Says that the constructor of an event_loop leaves the engine to its caller.
struct without_engine {};

// Everything but post(), stop() and in_loop_thread() belongs to the loop's thread. What runs inline
// is what streams do for each event or each request.
class WIRE_EXPORT loop_core {
public:
    explicit loop_core(const loop_options& options);
    ~loop_core();
    loop_core(const loop_core&) = delete;
    loop_core& operator=(const loop_core&) = delete;

    // ---- engine ----

    // Once, before anything else is asked of the loop.
    void use(std::unique_ptr<detail::engine> engine) noexcept;
    detail::engine& engine() const noexcept { return *engine_; }
    // Lets post() and stop() end a wait; nothing happens the second time. Blocking clients call it
    // before another thread may post, and do without it as long as none does.
    result<void> make_wakeable();
    // What becomes readable for that; -1 before make_wakeable().
    int wake_descriptor() const noexcept { return wake_fd_; }

    // ---- iterations ----

    void run();
    std::size_t run_once(clock::duration longest);
    clock::duration next_timeout() const noexcept;
    // One iteration without its events, for code that waits by itself: begin_iteration(), what
    // came, end_iteration().
    void begin_iteration() noexcept;
    std::size_t end_iteration();
    // Between those two.
    bool in_iteration() const noexcept { return in_iteration_; }
    // Whether a timer may be due within that time from now().
    bool next_timer_within(clock::duration time) const noexcept {
        return !timers_.empty() && timers_.earliest() < now_ + time;
    }

    time_point now() const noexcept { return now_; }
    void refresh_now() noexcept { now_ = clock::now(); }
    // now(), read anew where no iteration runs: the last one may be long over.
    time_point present() noexcept {
        if (!in_iteration_) refresh_now();
        return now_;
    }

    // ---- other threads ----

    void post(unique_function<void()> work);
    bool has_posted() const noexcept { return has_posted_.load(std::memory_order_acquire); }
    void stop() noexcept;
    bool stop_requested() const noexcept { return stopping_.load(std::memory_order_acquire); }
    bool in_loop_thread() const noexcept {
        return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    // ---- what callbacks use ----

    timer_heap& timers() noexcept { return timers_; }
    arrival_clock& arrivals() noexcept { return arrivals_; }
    buffer_pool& pool() noexcept { return pool_; }
    std::span<char> scratch() noexcept { return {scratch_.get(), scratch_size_}; }
    void queue(hook_node& hook) noexcept {
        if (hook.next_ == nullptr) hook.link_before(hooks_);
    }

private:
    std::size_t iterate(clock::duration longest);
    bool has_hooks() const noexcept { return hooks_.next_ != &hooks_; }
    std::size_t run_posted();
    void run_hooks() noexcept;
    void wake() noexcept;
    static void on_wake(io_source& source, ready) noexcept;

    std::unique_ptr<detail::engine> engine_;
    int wake_fd_ = -1;  // an eventfd
    bool in_iteration_ = false;
    time_point now_{};
    arrival_clock arrivals_;
    timer_heap timers_;
    hook_node hooks_;                  // list head, circular
    std::unique_ptr<char[]> scratch_;  // not cleared: pages that are not used cost nothing
    std::size_t scratch_size_;
    buffer_pool pool_;
    io_source wake_source_;

    std::mutex posted_mutex_;
    std::vector<unique_function<void()>> posted_;  // guarded by posted_mutex_
    std::vector<unique_function<void()>> running_;
    std::atomic<bool> has_posted_{false};
    std::atomic<std::thread::id> thread_{};
    std::atomic<bool> stopping_{false};
};

}  // namespace wire::detail
