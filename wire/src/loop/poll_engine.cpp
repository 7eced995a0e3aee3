// poll(): the sources and their pollfd entries lie in two parallel arrays, in any order. As with
// epoll, a source that is watched for nothing is told of a failure once.
#include "poll_engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "wire/loop/stream.hpp"

namespace wire::detail {

namespace {

short poll_mask(ready interest) noexcept {
    return static_cast<short>((has(interest, ready::read) ? POLLIN : 0) |
                              (has(interest, ready::write) ? POLLOUT : 0));
}

ready from_poll(short events) noexcept {
    ready r = ready::none;
    if ((events & POLLIN) != 0) r = r | ready::read;
    if ((events & POLLOUT) != 0) r = r | ready::write;
    if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0) r = r | ready::failed;
    return r;
}

}  // namespace

std::size_t poll_engine::place_of(const io_source& source) const noexcept {
    return static_cast<std::size_t>(std::find(sources_.begin(), sources_.end(), &source) -
                                    sources_.begin());
}

result<void> poll_engine::watch(io_source& source, int fd, ready interest) {
    const auto free = std::find(sources_.begin(), sources_.end(), nullptr);
    const auto place = static_cast<std::size_t>(free - sources_.begin());
    if (free == sources_.end()) {
        sources_.emplace_back();
        polled_.emplace_back();
    }
    sources_[place] = &source;
    polled_[place] = {.fd = fd, .events = poll_mask(interest), .revents = 0};
    watched(source, fd, interest);
    return {};
}

void poll_engine::rewatch(io_source& source, ready interest) noexcept {
    if (source.interest_ == interest) return;
    pollfd& polled = polled_[place_of(source)];
    polled.fd = source.fd_;
    polled.events = poll_mask(interest);
    source.interest_ = interest;
}

void poll_engine::unwatch(io_source& source) noexcept {
    const std::size_t place = place_of(source);
    sources_[place] = nullptr;
    polled_[place] = {.fd = -1, .events = 0, .revents = 0};
    while (!sources_.empty() && sources_.back() == nullptr) {
        sources_.pop_back();
        polled_.pop_back();
    }
    unwatched(source);
}

std::size_t poll_engine::wait_and_dispatch(clock::duration longest, bool queued) {
    if (longest > clock::duration::zero() && (queued || core_.has_posted())) {
        // A caller that blocks iterates again at once if this was not what it waits for: that saves
        // a system call.
        core_.refresh_now();
        return 0;
    }
    // ppoll() looks at nothing where it is given a time below zero, that of a moment just gone.
    if (queued || longest < clock::duration::zero()) longest = clock::duration::zero();
    // Nothing ends the wait when another thread posts: look every now and then.
    if (core_.wake_descriptor() < 0)
        longest = std::min<clock::duration>(longest, stream::alone_at_most);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    timespec limit{};
    limit.tv_sec = static_cast<time_t>(seconds.count());
    limit.tv_nsec = static_cast<long>(std::chrono::nanoseconds(longest - seconds).count());
    const int n = ::ppoll(polled_.data(), polled_.size(),
                          longest == event_loop::forever ? nullptr : &limit, nullptr);
    core_.refresh_now();
    if (n <= 0) return 0;
    // Callbacks may change both ends of it.
    for (std::size_t place = 0; place < polled_.size(); ++place) {
        const short events = std::exchange(polled_[place].revents, short{0});
        if (events == 0) continue;
        if (polled_[place].events == 0) polled_[place].fd = -1;
        sources_[place]->on_ready_(*sources_[place], from_poll(events));
    }
    return static_cast<std::size_t>(n);
}

}  // namespace wire::detail
