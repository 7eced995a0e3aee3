// One thread's loop: its iterations, and what other threads ask of it.
//
// run() and run_once() repeat this; all of it is on the loop's thread:
//
//     begin_iteration()                 in_iteration() from here on
//     engine: wait, dispatch events     refreshes now()
//     end_iteration(): due timers, posted work, hooks until none is queued
//
// The wait ends early for: an event; the earliest timer; post() and stop(), which write to the
// eventfd. It is skipped when hooks were queued between two iterations. stop() sets a flag that
// run() looks at before each iteration.
//
//     owner          of
//     event_loop     loop_core: engine, timers, posted work, pool, scratch, eventfd
//     users          sources, streams, timers, hooks; the loop only links them
//     any thread     may add to posted_ (under posted_mutex_), set stopping_, write to the eventfd
#include "wire/loop/event_loop.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine.hpp"

namespace wire {

io_source::~io_source() {
    if (loop_ != nullptr) loop_->unwatch(*this);
}

timer::~timer() {
    if (heap_ != nullptr) heap_->forget(*this);
}

result<std::unique_ptr<event_loop>> event_loop::create(const loop_options& options) {
    auto loop = std::make_unique<event_loop>(detail::without_engine{}, options);
    auto made = detail::make_engine(*loop, options, detail::loop_use::any);
    if (!made) return made.error();
    loop->core().use(*std::move(made));
    if (auto r = loop->core().make_wakeable(); !r) return r.error();
    return loop;
}

loop_engine event_loop::engine() const noexcept { return core_.engine().name(); }

int event_loop::descriptor() noexcept { return core_.engine().descriptor(); }

result<void> event_loop::watch(io_source& source, int fd, ready interest) {
    return core_.engine().watch(source, fd, interest);
}

void event_loop::rewatch(io_source& source, ready interest) noexcept {
    core_.engine().rewatch(source, interest);
}

void event_loop::unwatch(io_source& source) noexcept {
    if (source.loop_ == this) core_.engine().unwatch(source);
}

namespace detail {

engine::~engine() = default;

loop_core::loop_core(const loop_options& options)
    : hooks_(nullptr),
      scratch_size_(std::max<std::size_t>(options.receive_bytes, 1024)),
      pool_(std::max<std::size_t>(options.block_bytes, 512)),
      wake_source_(&loop_core::on_wake) {
    scratch_ = std::make_unique_for_overwrite<char[]>(scratch_size_);
    hooks_.next_ = hooks_.previous_ = &hooks_;
    refresh_now();
}

loop_core::~loop_core() {
    // What is dropped may post as it goes.
    do {
        running_.clear();
        running_.swap(posted_);
    } while (!running_.empty());
    while (has_hooks()) hooks_.next_->unlink();
    if (wake_source_.watched()) engine_->unwatch(wake_source_);
    if (wake_fd_ >= 0) ::close(wake_fd_);
}

void loop_core::use(std::unique_ptr<detail::engine> engine) noexcept {
    engine_ = std::move(engine);
}

result<void> loop_core::make_wakeable() {
    if (wake_fd_ >= 0) return {};
    wake_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_fd_ < 0) return system_failure(errno, "cannot make an eventfd");
    return engine_->watch(wake_source_, wake_fd_, ready::read);
}

// ---- iterations ----

void loop_core::run() {
    while (!stopping_.load(std::memory_order_acquire)) iterate(clock::duration::max());
    engine_->submit();
    stopping_.store(false, std::memory_order_release);
}

std::size_t loop_core::run_once(clock::duration longest) {
    const std::size_t served = iterate(longest);
    engine_->submit();  // nobody knows when the next iteration comes
    return served;
}

std::size_t loop_core::iterate(clock::duration longest) {
    if (!timers_.empty() && longest > clock::duration::zero()) {
        const auto until = timers_.earliest() - clock::now();
        longest = std::clamp(until, clock::duration::zero(), longest);
    }
    const bool queued = has_hooks();  // between two iterations
    begin_iteration();
    const std::size_t served = engine_->wait_and_dispatch(longest, queued);
    return served + end_iteration();
}

void loop_core::begin_iteration() noexcept {
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    in_iteration_ = true;
}

std::size_t loop_core::end_iteration() {
    std::size_t served = timers_.run(now_);
    served += run_posted();
    run_hooks();
    in_iteration_ = false;
    return served;
}

clock::duration loop_core::next_timeout() const noexcept {
    if (has_hooks() || engine_->wants_iteration()) return clock::duration::zero();
    if (timers_.empty()) return clock::duration::max();
    return std::max(clock::duration(timers_.earliest() - clock::now()), clock::duration::zero());
}

// Hooks may queue others, and unlink or destroy any.
void loop_core::run_hooks() noexcept {
    while (has_hooks()) {
        hook_node& hook = *hooks_.next_;
        hook.unlink();
        hook.fn_(static_cast<iteration_hook&>(hook));
    }
}

// ---- other threads ----

void loop_core::stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    wake();
}

void loop_core::wake() noexcept {
    if (wake_fd_ < 0) return;
    const std::uint64_t one = 1;
    // It can only fail when the counter is full, and then the loop is being woken already.
    [[maybe_unused]] const auto n = ::write(wake_fd_, &one, sizeof one);
}

void loop_core::on_wake(io_source& source, ready) noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto n = ::read(source.fd(), &count, sizeof count);
}

void loop_core::post(unique_function<void()> work) {
    bool first = false;
    {
        const std::lock_guard lock(posted_mutex_);
        first = posted_.empty();
        posted_.push_back(std::move(work));
    }
    has_posted_.store(true, std::memory_order_release);
    if (first) wake();
}

std::size_t loop_core::run_posted() {
    if (!has_posted()) return 0;
    {
        const std::lock_guard lock(posted_mutex_);
        running_.swap(posted_);
        has_posted_.store(false, std::memory_order_release);
    }
    // What these post waits for the next iteration.
    for (auto& work : running_) work();
    const std::size_t n = running_.size();
    running_.clear();
    constexpr std::size_t most_kept = 4096;  // of places: what a burst took is given back
    if (running_.capacity() > most_kept) std::vector<unique_function<void()>>().swap(running_);
    return n;
}

}  // namespace detail
}  // namespace wire
