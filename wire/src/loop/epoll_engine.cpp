// epoll: one iteration takes up to events_per_wait events, then dispatches them one by one.
//
// An event that was taken holds the address of its source. A callback may unwatch or destroy any
// source, so that unwatch() looks through the events not yet dispatched and clears its own.
//
// A source that is watched for nothing is told of a failure once: epoll would announce it for as
// long as nobody acts on it, and what is held back from a stream may have to wait for its user.
#include "epoll_engine.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace wire::detail {

namespace {

std::uint32_t epoll_mask(ready interest) noexcept {
    if (interest == ready::none) return EPOLLONESHOT;
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

epoll_engine::epoll_engine(event_loop& loop, unique_fd epoll, std::size_t most)
    : readiness_engine(loop, sockets::non_blocking),
      epoll_(std::move(epoll)),
      events_(std::make_unique_for_overwrite<epoll_event[]>(most)),
      events_size_(most) {}

result<std::unique_ptr<epoll_engine>> epoll_engine::create(event_loop& loop,
                                                           const loop_options& options) {
    unique_fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) return system_failure(errno, "cannot make an epoll instance");
    const auto most = std::max<std::size_t>(options.events_per_wait, 16);
    return std::unique_ptr<epoll_engine>(new epoll_engine(loop, std::move(epoll), most));
}

result<void> epoll_engine::watch(io_source& source, int fd, ready interest) {
    epoll_event event{};
    event.events = epoll_mask(interest);
    if (has(interest, ready::shared)) event.events |= EPOLLEXCLUSIVE;
    event.data.ptr = &source;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return system_failure(errno, "cannot watch a descriptor");
    watched(source, fd, interest);
    return {};
}

void epoll_engine::rewatch(io_source& source, ready interest) noexcept {
    if (source.interest_ == interest) return;
    epoll_event event{};
    event.events = epoll_mask(interest);
    event.data.ptr = &source;
    // Cannot fail for a descriptor that is watched and open.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, source.fd_, &event);
    source.interest_ = interest;
}

void epoll_engine::unwatch(io_source& source) noexcept {
    epoll_event ignored{};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, source.fd_, &ignored);
    unwatched(source);
    for (std::size_t i = event_next_; i < event_end_; ++i) {
        if (events_[i].data.ptr == &source) events_[i].data.ptr = nullptr;
    }
}

std::size_t epoll_engine::wait_and_dispatch(clock::duration longest, bool queued) {
    const int n = wait(queued ? clock::duration::zero() : longest);
    core_.refresh_now();
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

int epoll_engine::wait(clock::duration longest) noexcept {
    const int size = static_cast<int>(events_size_);
    const int epoll = epoll_.get();
    if (longest <= clock::duration::zero()) return ::epoll_wait(epoll, events_.get(), size, 0);
    if (longest == event_loop::forever) return ::epoll_wait(epoll, events_.get(), size, -1);
    if (!coarse_wait_) {
        // Nanoseconds rather than milliseconds, since Linux 5.11: schedules of a load generator
        // need them.
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
        timespec limit{};
        limit.tv_sec = static_cast<time_t>(seconds.count());
        limit.tv_nsec = static_cast<long>(std::chrono::nanoseconds(longest - seconds).count());
        const int n = ::epoll_pwait2(epoll, events_.get(), size, &limit, nullptr);
        if (n >= 0 || (errno != ENOSYS && errno != EPERM)) return n;
        coarse_wait_ = true;
    }
    const auto whole = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
    return ::epoll_wait(epoll, events_.get(), size,
                        static_cast<int>(std::min<long long>(whole, 1 << 30)));
}

}  // namespace wire::detail
