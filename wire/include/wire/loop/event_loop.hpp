// One thread's events: descriptors, timers, and work posted from other threads.
//
// One loop iteration:
//
//     wait -> take all events that are ready -> timers that are due -> posted work -> hooks
//
// Streams send from their hooks what the iteration gave them to send. (Taking all events before
// writing matters more than any other single choice here: batches of 2 to 6 events cost a third of
// the throughput.)
//
// A loop belongs to the thread that runs it, and so does everything attached to it: streams,
// listeners, timers, hooks. Other threads may call only post(), stop(), stop_requested() and
// in_loop_thread(). Until the loop first runs, one other thread may set it up.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/clock.hpp"
#include "wire/loop/detail/loop_core.hpp"
#include "wire/loop/io_source.hpp"
#include "wire/loop/iteration_hook.hpp"
#include "wire/loop/loop_options.hpp"
#include "wire/loop/timer.hpp"

namespace wire {

class WIRE_EXPORT event_loop {
public:
    // A loop that is ready to run. errc::system_error when the kernel grants no epoll instance,
    // eventfd or ring; the message then says what forbids io_uring.
    static result<std::unique_ptr<event_loop>> create(const loop_options& options = {});

    // Streams, sources and hooks must be gone by then, or never be used again; timers that are
    // still armed are disarmed, and posted work that has not run is dropped.
    ~event_loop() = default;
    event_loop(const event_loop&) = delete;
    event_loop& operator=(const event_loop&) = delete;

    // Which one serves this loop: epoll or io_uring, never automatic.
    loop_engine engine() const noexcept;

    // ---- running ----

    // Iterates until stop(). The calling thread is the loop's from now on. Callbacks must not
    // throw.
    void run() { core_.run(); }
    // One iteration, which waits at most `longest` (0: not at all) for something to happen; a timer
    // or queued hook shortens the wait. Returns how many events, timers and posted calls it served.
    std::size_t run_once(clock::duration longest = forever) { return core_.run_once(longest); }
    // The same. A hundred years are the most there is.
    template <typename Rep, typename Period>
    std::size_t run_once(std::chrono::duration<Rep, Period> longest) {
        return core_.run_once(detail::to_wait(longest));
    }
    // Waits without a limit.
    static constexpr clock::duration forever = clock::duration::max();

    // ---- running it inside another loop: poll(), epoll, GLib, Qt, libuv ----
    //
    // Wait for descriptor() to be readable, for next_timeout() at most, then call
    // run_once(clock::duration::zero()); always on the same thread. To stop, the program simply
    // calls it no more.

    // Readable means that an iteration may have something to do. Owned by the loop: watch it
    // level-triggered, for nothing else, and do not close it. -1 when the process may open no more
    // descriptors (io_uring).
    int descriptor() noexcept;
    // How long one may wait without missing a timer: zero when there is something to do already,
    // `forever` when there is no timer. Ask after all that was done to the loop's sources and
    // streams, right before waiting. (In milliseconds for poll(): round up.)
    clock::duration next_timeout() const noexcept { return core_.next_timeout(); }
    // Any thread. Whether stop() was called and run() has not returned for it.
    bool stop_requested() const noexcept { return core_.stop_requested(); }

    // ---- from other threads ----

    // Any thread, and async-signal-safe: run() returns after its present iteration, or, when it is
    // not running, at once when it is next called.
    void stop() noexcept { core_.stop(); }
    // Any thread: `work` runs once on the loop's thread, in the order of posting; what it posts
    // runs in the next iteration. `work` must not throw. It is dropped when the loop is destroyed
    // first. No other call reaches the loop's thread. Throws std::bad_alloc.
    void post(unique_function<void()> work) { core_.post(std::move(work)); }
    // Any thread: whether the caller is the thread that last ran the loop.
    bool in_loop_thread() const noexcept { return core_.in_loop_thread(); }

    // ---- time ----

    // The time at which the present iteration took its events; outside of one, the last one's. It
    // asks nobody, unlike clock::now().
    time_point now() const noexcept { return core_.now(); }
    // Reads the clock anew: after a callback that took long.
    void refresh_now() noexcept { core_.refresh_now(); }

    // ---- descriptors ----

    // Calls `source` back whenever `fd` is ready for what `interest` names, until unwatch(). `fd`
    // must stay open until then. Precondition: the source is not watched. Fails with
    // errc::system_error for a descriptor that is not open, is watched already or cannot be waited
    // for (a plain file).
    result<void> watch(io_source& source, int fd, ready interest);
    // Changes what a watched source is called for; ready::none leaves only `failed`,
    // which may then be told once only.
    void rewatch(io_source& source, ready interest) noexcept;
    // No callback comes from here on, not even for an event that was already taken. Nothing happens
    // when this loop does not watch the source.
    void unwatch(io_source& source) noexcept;

    // ---- timers ----

    // Calls the timer at `deadline` or soon after; moves one that is armed already. One that is
    // armed from a timer's callback rings in the next iteration at the earliest. Precondition: no
    // other loop has it armed. Throws std::bad_alloc.
    void arm(timer& t, time_point deadline) { core_.timers().arm(t, deadline, core_.now()); }
    // The same; `delay` counts from now(), the beginning of this iteration, and outside of one from
    // the call. A hundred years are the most there is.
    template <typename Rep, typename Period>
    void arm_after(timer& t, std::chrono::duration<Rep, Period> delay) {
        arm(t, core_.present() + detail::capped(delay));
    }
    // It does not ring. Nothing happens when it is not armed.
    void disarm(timer& t) noexcept { t.deadline_ = time_point::max(); }

    // ---- the end of an iteration ----

    // Calls the hook once at the end of this iteration, or of the next when none runs, which then
    // does not wait. Nothing happens when it is queued already.
    void at_iteration_end(iteration_hook& hook) noexcept { core_.queue(hook); }

    // ---- memory that the loop lends ----

    // Storage for unsent data; see buffer_pool.
    buffer_pool& pool() noexcept { return core_.pool(); }
    // Scratch of loop_options::receive_bytes that any callback may receive into. Its content dies
    // when the callback returns.
    std::span<char> scratch() noexcept { return core_.scratch(); }

    // ---- not for users ----

    // For create() and detail::blocking_loop(), which give the loop its engine.
    event_loop(detail::without_engine, const loop_options& options) : core_(options) {}
    // For the loop's own streams and engines, and for blocking clients.
    detail::loop_core& core() noexcept { return core_; }

private:
    detail::loop_core core_;
};

}  // namespace wire
