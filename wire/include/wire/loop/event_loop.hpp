// One thread's events: descriptors, timers, work posted from other threads.
//
// A turn: wait; take all that is ready; run due timers and posted work; then run the turn hooks, in
// which streams send what the turn gave them to send. (Taking all before writing is worth more than
// any other single choice here: small batches of 2-6 events cost a third of the throughput.)
//
// Everything belongs to the thread that runs the loop, except post() and stop().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "wire/base/buffer.hpp"
#include "wire/base/function.hpp"
#include "wire/base/result.hpp"

struct epoll_event;

namespace wire {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;

class event_loop;
namespace detail {
class poll_engine;
class resolver;
class uring_engine;
std::unique_ptr<event_loop> blocking_loop();
}  // namespace detail

// What a descriptor is watched for, and what it turned out to be ready for.
enum class ready : std::uint32_t { none = 0, read = 1, write = 2, failed = 4 };
constexpr ready operator|(ready a, ready b) noexcept {
    return static_cast<ready>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool has(ready set, ready flag) noexcept {
    return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(flag)) != 0;
}

// A descriptor known to a loop: embed it, or derive from it. Level-triggered. The callback may
// unwatch and destroy its own source or any other. Watching does not own the descriptor.
class io_source {
public:
    using callback = void (*)(io_source&, ready) noexcept;

    explicit io_source(callback fn) noexcept : on_ready_(fn) {}
    ~io_source();  // unwatches
    io_source(const io_source&) = delete;
    io_source& operator=(const io_source&) = delete;

    int fd() const noexcept { return fd_; }
    bool watched() const noexcept { return loop_ != nullptr; }
    event_loop* loop() const noexcept { return loop_; }

private:
    friend class event_loop;
    friend class detail::poll_engine;
    friend class detail::uring_engine;
    callback on_ready_;
    event_loop* loop_ = nullptr;
    int fd_ = -1;
    ready interest_ = ready::none;
};

// A moment at which to be called. Embed it. Setting a later deadline on an armed timer is one store
// (the loop finds out when the earlier one comes), so that a connection may push its timeout on at
// every request.
class timer {
public:
    using callback = void (*)(void*);

    timer(callback fn, void* context) noexcept : fn_(fn), context_(context) {}
    // `timer t = timer::calling<&thing::on_timeout>(this);`
    template <auto Method, typename T> static timer calling(T* object) noexcept {
        return timer([](void* p) { (static_cast<T*>(p)->*Method)(); }, object);
    }
    ~timer();  // disarms
    timer(const timer&) = delete;
    timer& operator=(const timer&) = delete;

    bool armed() const noexcept { return deadline_ != time_point::max(); }
    time_point deadline() const noexcept { return deadline_; }

private:
    friend class event_loop;
    callback fn_;
    void* context_;
    event_loop* loop_ = nullptr;  // set while it has a place in the heap
    time_point deadline_ = time_point::max();
    std::uint32_t place_ = 0;
};

// Something to be done once at the end of the present turn. Embed it.
class iteration_hook {
public:
    using callback = void (*)(iteration_hook&) noexcept;

    explicit iteration_hook(callback fn) noexcept : fn_(fn) {}
    ~iteration_hook() { unlink(); }
    iteration_hook(const iteration_hook&) = delete;
    iteration_hook& operator=(const iteration_hook&) = delete;

    bool queued() const noexcept { return next_ != nullptr; }
    void unlink() noexcept {
        if (next_ == nullptr) return;
        next_->previous_ = previous_;
        previous_->next_ = next_;
        next_ = previous_ = nullptr;
    }

private:
    friend class event_loop;
    callback fn_;
    iteration_hook* next_ = nullptr;
    iteration_hook* previous_ = nullptr;
};

// How a loop hears of what happens. Both do the same for their users; io_uring keeps the sockets of
// streams in a table of the loop's own, so that N loops hold N times as many as the process may
// open files, and is some percent cheaper at thousands of connections. Where a socket is no
// descriptor, stream::fd() is negative.
enum class loop_engine : std::uint8_t { automatic, epoll, io_uring };

struct loop_options {
    // automatic: epoll. With io_uring (Linux 6.1) create() fails where the host forbids it, and
    // says what does; the loop must then be run by one and the same thread, though it may be made
    // and furnished by another before.
    loop_engine engine = loop_engine::automatic;
    // io_uring: the streams that the loop can hold; 0 stands for the most, RLIMIT_NOFILE.
    std::size_t max_streams = 0;
    // io_uring: buffers of 4 KiB that the streams receive into, a power of two; one turn serves no
    // more events than that.
    std::size_t receive_buffers = 256;
    // What one turn takes at most. Enough to write in large batches, few enough for what they hold
    // to stay in the cache.
    std::size_t events_per_wait = 1024;
    // The one buffer that all streams of the loop receive into.
    std::size_t receive_bytes = 64 * 1024;
    std::size_t block_bytes = 1024;  // what pool() lends
};

class event_loop {
public:
    static result<std::unique_ptr<event_loop>> create(const loop_options& options = {});
    ~event_loop();  // sources, timers and hooks must be gone or never used again
    event_loop(const event_loop&) = delete;
    event_loop& operator=(const event_loop&) = delete;

    // epoll or io_uring.
    loop_engine engine() const noexcept {
        return uring_ == nullptr ? loop_engine::epoll : loop_engine::io_uring;
    }

    // Runs turns until stop(). Callbacks must not throw.
    void run();
    // One turn, waiting at most `longest` (0: not at all) for something to happen. How many events,
    // timers and posted calls it served.
    std::size_t run_once(clock::duration longest = forever);
    static constexpr clock::duration forever = clock::duration::max();

    // ---- inside another loop: poll(), epoll, GLib, Qt, libuv ----
    //
    // Wait for descriptor() to be readable, for next_timeout() at most, then call
    // run_once(clock::duration::zero()); always on the same thread. With stop() the program simply
    // no longer does so.

    // Owned by the loop. Readable means that a turn may have something to do; watch it
    // level-triggered, for nothing else. -1 when the process may open no more descriptors
    // (io_uring).
    int descriptor() noexcept;
    // How long one may wait without missing a timer: zero when there is something to do already,
    // `forever` when there is no timer. Ask after all that was done to the loop's sources and
    // streams, right before waiting. (In milliseconds for poll(): round up.)
    clock::duration next_timeout() const noexcept;
    // stop() was called, and run() has not returned for it.
    bool stop_requested() const noexcept { return stopping_.load(std::memory_order_acquire); }

    // Any thread, and async-signal-safe: run() returns after its present turn, or, when it is not
    // running, at once when it is next called.
    void stop() noexcept;
    // Any thread: `work` runs on the loop's thread. The only way to it from another.
    void post(unique_function<void()> work);

    // Whether the caller is the thread that runs the loop (any thread may ask).
    bool in_loop_thread() const noexcept {
        return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    // The time at which the present turn's events were taken.
    time_point now() const noexcept { return now_; }
    void refresh_now() noexcept { now_ = clock::now(); }

    result<void> watch(io_source& source, int fd, ready interest);
    void rewatch(io_source& source, ready interest) noexcept;
    void unwatch(io_source& source) noexcept;

    // Call it at `deadline`, or soon after; moves one that is armed already.
    void arm(timer& t, time_point deadline);
    // `delay` counts from now(), the beginning of this turn.
    void arm_after(timer& t, clock::duration delay) { arm(t, now_ + delay); }
    void disarm(timer& t) noexcept;

    // Queues the hook for the end of this turn, if it is not queued yet.
    void at_iteration_end(iteration_hook& hook) noexcept {
        if (hook.next_ != nullptr) return;
        hook.previous_ = hooks_.previous_;
        hook.next_ = &hooks_;
        hooks_.previous_->next_ = &hook;
        hooks_.previous_ = &hook;
    }

    buffer_pool& pool() noexcept { return pool_; }
    // Scratch that any callback may receive into; its content dies when the callback returns.
    std::span<char> scratch() noexcept { return {scratch_.get(), scratch_size_}; }

private:
    struct timer_entry {
        time_point at;  // never later than the timer's own deadline
        timer* t;
    };

    friend class timer;
    friend class stream;
    friend class detail::resolver;
    friend class detail::uring_engine;
    friend std::unique_ptr<event_loop> detail::blocking_loop();

    explicit event_loop(const loop_options& options);
    result<void> make_wakeable();  // a blocking client's, before another thread may post
    std::size_t turn(clock::duration longest);
    // The same in parts, for stream::run_alone().
    void begin_iteration() noexcept;
    std::size_t end_iteration();
    // Whether a timer may be due within that time from now().
    bool next_timer_within(clock::duration time) const noexcept {
        return !heap_.empty() && heap_.front().at < now_ + time;
    }
    int wait(clock::duration longest) noexcept;
    std::size_t take_events(clock::duration longest);
    std::size_t run_timers();
    std::size_t run_posted();
    void run_hooks() noexcept;
    void sift_up(std::size_t i) noexcept;
    void sift_down(std::size_t i) noexcept;
    void drop_entry(std::size_t i) noexcept;
    // Of the bytes that were just received, on CLOCK_REALTIME; for stream::arrival().
    void note_arrival(std::chrono::nanoseconds wall) noexcept;
    void forget(timer& t) noexcept;
    void place(std::size_t i, timer_entry e) noexcept;
    void wake() noexcept;
    static void on_wake(io_source& source, ready) noexcept;

    std::unique_ptr<detail::uring_engine> uring_;  // null, like poll_: epoll
    std::unique_ptr<detail::poll_engine> poll_;    // of a blocking client's loop
    int epoll_ = -1;    // with io_uring: what descriptor() is, once asked for
    int wake_fd_ = -1;  // with poll_: unless another thread may post
    bool in_iteration_ = false;
    time_point now_{};
    time_point arrived_{};
    time_point wall_read_{};         // the turn in which wall_ahead_ was found
    clock::duration wall_ahead_{};   // of CLOCK_REALTIME before the loop's clock
    std::vector<timer_entry> heap_;  // 4-ary, earliest first
    bool ringing_ = false;           // inside run_timers()
    iteration_hook hooks_;           // list head, circular
    std::unique_ptr<epoll_event[]> events_;
    std::size_t events_size_;
    std::size_t event_next_ = 0;  // the part of events_ not yet dispatched
    std::size_t event_end_ = 0;
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
    bool coarse_wait_ = false;  // the kernel has no epoll_pwait2
};

}  // namespace wire
