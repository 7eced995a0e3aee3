#include "wire/loop/event_loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "poll_engine.hpp"
#include "uring_engine.hpp"
#include "wire/loop/stream.hpp"

namespace wire {

namespace {

std::uint32_t epoll_mask(ready interest) noexcept {
    return (has(interest, ready::read) ? EPOLLIN : 0U) |
           (has(interest, ready::write) ? EPOLLOUT : 0U);
}

ready from_epoll(std::uint32_t events) noexcept {
    ready r = ready::none;
    if ((events & EPOLLIN) != 0) r = r | ready::read;
    if ((events & EPOLLOUT) != 0) r = r | ready::write;
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) r = r | ready::failed;
    return r;
}

}  // namespace

io_source::~io_source() {
    if (loop_ != nullptr) loop_->unwatch(*this);
}

timer::~timer() {
    if (loop_ != nullptr) loop_->forget(*this);
}

namespace {

#ifdef WIRE_AUTOMATIC_IS_IO_URING  // the tests, which so run over both
constexpr loop_engine automatic_engine = loop_engine::io_uring;
#else
constexpr loop_engine automatic_engine = loop_engine::epoll;
#endif

loop_engine engine_for(const loop_options& options) noexcept {
    return options.engine == loop_engine::automatic ? automatic_engine : options.engine;
}

}  // namespace

event_loop::event_loop(const loop_options& options)
    : hooks_(nullptr),
      events_size_(std::max<std::size_t>(options.events_per_wait, 16)),
      scratch_size_(std::max<std::size_t>(options.receive_bytes, 1024)),
      pool_(std::max<std::size_t>(options.block_bytes, 512)),
      wake_source_(&event_loop::on_wake) {
    scratch_ = std::make_unique_for_overwrite<char[]>(scratch_size_);
    hooks_.next_ = hooks_.previous_ = &hooks_;
    refresh_now();
}

result<std::unique_ptr<event_loop>> event_loop::create(const loop_options& options) {
    std::unique_ptr<event_loop> loop(new event_loop(options));
    if (engine_for(options) == loop_engine::io_uring) {
        auto engine = detail::uring_engine::create(*loop, options);
        if (!engine) return engine.error();
        loop->uring_ = *std::move(engine);
    } else {
        loop->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
        if (loop->epoll_ < 0) return system_failure(errno, "cannot make an epoll instance");
        loop->events_ = std::make_unique_for_overwrite<epoll_event[]>(loop->events_size_);
    }
    if (auto r = loop->make_wakeable(); !r) return r.error();
    return loop;
}

std::unique_ptr<event_loop> detail::blocking_loop() {
    std::unique_ptr<event_loop> loop(new event_loop({}));
    loop->poll_ = std::make_unique<poll_engine>();
    return loop;
}

result<void> event_loop::make_wakeable() {
    if (wake_fd_ >= 0) return {};
    wake_fd_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_fd_ < 0) return system_failure(errno, "cannot make an eventfd");
    return watch(wake_source_, wake_fd_, ready::read);
}

event_loop::~event_loop() {
    running_.clear();
    posted_.clear();
    while (hooks_.next_ != &hooks_) hooks_.next_->unlink();
    hooks_.next_ = hooks_.previous_ = nullptr;
    for (const timer_entry& e : heap_) {
        e.t->loop_ = nullptr;
        e.t->deadline_ = time_point::max();
    }
    unwatch(wake_source_);
    if (wake_fd_ >= 0) ::close(wake_fd_);
    if (epoll_ >= 0) ::close(epoll_);
}

result<void> event_loop::watch(io_source& source, int fd, ready interest) {
    if (uring_ != nullptr) return uring_->watch(source, fd, interest);
    if (poll_ != nullptr) {
        poll_->watch(*this, source, fd, interest);
        return {};
    }
    epoll_event event{};
    event.events = epoll_mask(interest);
    event.data.ptr = &source;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
        return system_failure(errno, "cannot watch a descriptor");
    source.loop_ = this;
    source.fd_ = fd;
    source.interest_ = interest;
    return {};
}

void event_loop::rewatch(io_source& source, ready interest) noexcept {
    if (uring_ != nullptr) {
        uring_->rewatch(source, interest);
        return;
    }
    if (poll_ != nullptr) {
        poll_->rewatch(source, interest);
        return;
    }
    if (source.interest_ == interest) return;
    epoll_event event{};
    event.events = epoll_mask(interest);
    event.data.ptr = &source;
    // Cannot fail for a descriptor that is watched and open.
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, source.fd_, &event);
    source.interest_ = interest;
}

void event_loop::unwatch(io_source& source) noexcept {
    if (source.loop_ != this) return;
    if (uring_ != nullptr) {
        uring_->unwatch(source);
        return;
    }
    if (poll_ != nullptr) {
        poll_->unwatch(source);
        return;
    }
    epoll_event ignored{};
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, source.fd_, &ignored);
    source.loop_ = nullptr;
    source.fd_ = -1;
    source.interest_ = ready::none;
    // It may be gone before its turn comes in the events already taken.
    for (std::size_t i = event_next_; i < event_end_; ++i) {
        if (events_[i].data.ptr == &source) events_[i].data.ptr = nullptr;
    }
}

std::size_t event_loop::take_events(clock::duration longest) {
    if (uring_ != nullptr) return uring_->turn(longest);
    if (poll_ != nullptr)
        return poll_->turn(*this, wake_fd_ >= 0
                                      ? longest
                                      : std::min<clock::duration>(longest, stream::alone_at_most));
    const int n = wait(longest);
    refresh_now();
    if (n <= 0) return 0;
    event_end_ = static_cast<std::size_t>(n);
    for (event_next_ = 0; event_next_ < event_end_;) {
        const epoll_event& event = events_[event_next_++];
        if (auto* source = static_cast<io_source*>(event.data.ptr))
            source->on_ready_(*source, from_epoll(event.events));
    }
    event_next_ = event_end_ = 0;
    return static_cast<std::size_t>(n);
}

int event_loop::wait(clock::duration longest) noexcept {
    const int size = static_cast<int>(events_size_);
    if (longest <= clock::duration::zero()) return ::epoll_wait(epoll_, events_.get(), size, 0);
    if (longest == forever) return ::epoll_wait(epoll_, events_.get(), size, -1);
    if (!coarse_wait_) {
        // Nanoseconds rather than milliseconds, since Linux 5.11: schedules of a load generator
        // need them.
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
        timespec limit{};
        limit.tv_sec = static_cast<time_t>(seconds.count());
        limit.tv_nsec = static_cast<long>(std::chrono::nanoseconds(longest - seconds).count());
        const int n = ::epoll_pwait2(epoll_, events_.get(), size, &limit, nullptr);
        if (n >= 0 || (errno != ENOSYS && errno != EPERM)) return n;
        coarse_wait_ = true;
    }
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
    return ::epoll_wait(epoll_, events_.get(), size,
                        static_cast<int>(std::min<long long>(whole, 1 << 30)));
}

std::size_t event_loop::run_once(clock::duration longest) {
    const std::size_t served = turn(longest);
    if (uring_ != nullptr) uring_->submit();  // who knows when the next turn comes
    return served;
}

void event_loop::begin_iteration() noexcept {
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    in_iteration_ = true;
}

std::size_t event_loop::end_iteration() {
    std::size_t served = run_timers();
    served += run_posted();
    run_hooks();
    in_iteration_ = false;
    return served;
}

std::size_t event_loop::turn(clock::duration longest) {
    if (!heap_.empty() && longest > clock::duration::zero()) {
        const auto until = heap_.front().at - clock::now();
        longest = std::clamp(until, clock::duration::zero(), longest);
    }
    const bool queued = hooks_.next_ != &hooks_;  // from outside a turn
    begin_iteration();
    if (poll_ != nullptr && longest > clock::duration::zero() &&
        (queued || has_posted_.load(std::memory_order_acquire))) {
        refresh_now();  // who blocks comes round again at once if this was not what he waits for
        return end_iteration();
    }
    const std::size_t served = take_events(queued ? clock::duration::zero() : longest);
    return served + end_iteration();
}

// With io_uring that of completions and that of posts together: what one eventfd makes a ring say
// to another is told only after an RCU grace period, which is milliseconds.
int event_loop::descriptor() noexcept {
    if (epoll_ >= 0 || uring_ == nullptr) return epoll_;
    const int both = ::epoll_create1(EPOLL_CLOEXEC);
    if (both < 0) return -1;
    for (const int fd : {uring_->descriptor(), wake_fd_}) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (::epoll_ctl(both, EPOLL_CTL_ADD, fd, &event) != 0) {
            ::close(both);
            return -1;
        }
    }
    return epoll_ = both;
}

clock::duration event_loop::next_timeout() const noexcept {
    if (hooks_.next_ != &hooks_ || (uring_ != nullptr && uring_->wants_iteration()))
        return clock::duration::zero();
    if (heap_.empty()) return forever;
    return std::max(clock::duration(heap_.front().at - clock::now()), clock::duration::zero());
}

void event_loop::note_arrival(std::chrono::nanoseconds wall) noexcept {
    using wall_clock = std::chrono::system_clock;
    // Both clocks are read once a turn, the one between two readings of the other: this thread may
    // lose its core between them.
    constexpr clock::duration close_enough = std::chrono::microseconds(1);
    constexpr int most_tries = 4;
    clock::duration nearest = clock::duration::max();
    for (int i = 0; i < most_tries && wall_read_ != now_ && nearest > close_enough; ++i) {
        const auto before = clock::now();
        const auto wall_now = wall_clock::now().time_since_epoch();
        const auto after = clock::now();
        if (after - before >= nearest) continue;
        nearest = after - before;
        wall_ahead_ = wall_now - (before + nearest / 2).time_since_epoch();
    }
    wall_read_ = now_;
    arrived_ = time_point(wall - wall_ahead_);
    // CLOCK_REALTIME may have been set meanwhile.
    if (arrived_ > now_) arrived_ = std::min(arrived_, clock::now());
}

void event_loop::run() {
    while (!stopping_.load(std::memory_order_acquire)) turn(forever);
    if (uring_ != nullptr) uring_->submit();
    stopping_.store(false, std::memory_order_release);
}

void event_loop::stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    wake();
}

void event_loop::wake() noexcept {
    if (wake_fd_ < 0) return;
    const std::uint64_t one = 1;
    // It can only fail when the counter is full, and then the loop is being woken already.
    [[maybe_unused]] const auto n = ::write(wake_fd_, &one, sizeof one);
}

void event_loop::on_wake(io_source& source, ready) noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto n = ::read(source.fd(), &count, sizeof count);
}

void event_loop::post(unique_function<void()> work) {
    bool first = false;
    {
        const std::lock_guard lock(posted_mutex_);
        first = posted_.empty();
        posted_.push_back(std::move(work));
    }
    has_posted_.store(true, std::memory_order_release);
    if (first) wake();
}

std::size_t event_loop::run_posted() {
    if (!has_posted_.load(std::memory_order_acquire)) return 0;
    {
        const std::lock_guard lock(posted_mutex_);
        running_.swap(posted_);
        has_posted_.store(false, std::memory_order_release);
    }
    // What these post in turn waits for the next turn.
    for (auto& work : running_) work();
    const std::size_t n = running_.size();
    running_.clear();
    return n;
}

// Hooks may queue others, and unlink or destroy any.
void event_loop::run_hooks() noexcept {
    while (hooks_.next_ != &hooks_) {
        iteration_hook& hook = *hooks_.next_;
        hook.unlink();
        hook.fn_(hook);
    }
}

}  // namespace wire
