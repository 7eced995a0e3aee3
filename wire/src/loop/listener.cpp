// Accepts connections.
//
//     state       watched for    leaves by
//     closed      -              start()
//     accepting   read           close(), finish(); accept() fails -> pausing
//     pausing     nothing        retry_, every 100 ms -> accepting; close(), finish()
//
// The listener owns its socket; an accepted one belongs to the handler. All on the loop's thread.
#include "wire/loop/listener.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace wire {

namespace {

constexpr int most_at_once = 512;
constexpr int most_at_the_end = 64 * 1024;  // more than wait in any queue

}  // namespace

listener::listener() noexcept
    : source_(&listener::on_ready, *this), retry_(timer::calling<&listener::retry>(this)) {}

listener::~listener() { close(); }

result<void> listener::start(event_loop& loop, unique_fd listening, accept_handler on_accept,
                             use how) {
    close();
    loop_ = &loop;
    use_ = how;
    fd_ = std::move(listening);
    if (auto r = watch(); !r) {
        fd_.reset();
        return r;
    }
    on_accept_ = std::move(on_accept);
    return {};
}

result<void> listener::watch() noexcept {
    return loop_->watch(source_, fd_.get(),
                        use_ == use::shared ? ready::read | ready::shared : ready::read);
}

void listener::close() noexcept {
    if (!fd_) return;
    loop_->unwatch(source_);
    loop_->disarm(retry_);
    fd_.reset();
}

void listener::on_ready(io_source& s, ready) noexcept {
    listener& l = *static_cast<source&>(s).self;
    // A bound, so that a storm of connections does not keep those that are open from being served.
    l.accept(l.use_ == use::shared ? 16 : most_at_once);
}

void listener::finish() noexcept {
    if (!fd_) return;
    loop_->unwatch(source_);  // from here on others are woken
    accept(use_ == use::shared ? most_at_once : most_at_the_end);
    close();
}

void listener::accept(int most) noexcept {
    for (int i = 0; i < most && fd_; ++i) {
        sockaddr_storage peer;
        socklen_t size = sizeof peer;
        unique_fd fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                               SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            if (errno != EAGAIN) {
                // No descriptor, no memory, no right, or the socket listens no more. It stays
                // readable; looking away for a moment beats spinning on it.
                loop_->unwatch(source_);
                loop_->arm_after(retry_, std::chrono::milliseconds(100));
            }
            return;
        }
        on_accept_(std::move(fd), address::from(reinterpret_cast<const sockaddr*>(&peer)));
    }
}

void listener::retry() noexcept {
    if (fd_ && !watch()) loop_->arm_after(retry_, std::chrono::milliseconds(100));
}

}  // namespace wire
