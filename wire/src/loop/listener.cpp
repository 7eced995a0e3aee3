// Accepts connections.
//
//     state       watched for    leaves by
//     closed      -              start()
//     accepting   read           close(); no descriptor left -> pausing
//     pausing     nothing        retry_, 100 ms later -> accepting; close()
//
// The listener owns its socket; an accepted one belongs to the handler. All on the loop's thread.
#include "wire/loop/listener.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace wire {

listener::listener() noexcept
    : source_(&listener::on_ready, *this), retry_(timer::calling<&listener::retry>(this)) {}

listener::~listener() { close(); }

result<void> listener::start(event_loop& loop, unique_fd listening, accept_handler on_accept) {
    close();
    if (auto r = loop.watch(source_, listening.get(), ready::read); !r) return r;
    loop_ = &loop;
    fd_ = std::move(listening);
    on_accept_ = std::move(on_accept);
    return {};
}

void listener::close() noexcept {
    if (!fd_) return;
    loop_->unwatch(source_);
    loop_->disarm(retry_);
    fd_.reset();
}

void listener::on_ready(io_source& s, ready) noexcept {
    static_cast<source&>(s).self->accept_all();
}

void listener::accept_all() noexcept {
    // A bound, so that a storm of connections does not keep those that are open from being served.
    for (int i = 0; i < 512 && fd_; ++i) {
        sockaddr_storage peer;
        socklen_t size = sizeof peer;
        unique_fd fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                               SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                // The socket stays readable; looking away for a moment beats spinning on it.
                loop_->rewatch(source_, ready::none);
                loop_->arm_after(retry_, std::chrono::milliseconds(100));
            }
            return;
        }
        on_accept_(std::move(fd), address::from(reinterpret_cast<const sockaddr*>(&peer)));
    }
}

void listener::retry() noexcept {
    if (fd_) loop_->rewatch(source_, ready::read);
}

}  // namespace wire
