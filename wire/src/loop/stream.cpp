#include "wire/loop/stream.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "socket_parts.hpp"
#include "uring_engine.hpp"

namespace wire {

stream::stream() noexcept
    : io_source(&stream::ready_callback), iteration_hook(&stream::hook_callback) {}

stream::~stream() { close(); }

result<void> stream::attach(event_loop& loop, unique_fd socket) {
    close();
    out_.release();
    reading_ = true;
    if (loop.uring_ != nullptr) {
        if (auto r = loop.uring_->attach(*this, std::move(socket)); !r) return r;
    } else {
        if (auto r = loop.watch(*this, socket.get(), ready::read); !r) return r;
        socket.release();
    }
    state_ = filter_ != nullptr ? state::securing : state::open;
    if (filter_ == nullptr) return {};
    const auto begun = filter_->begin(filter_->to_peer_);
    if (!begun) {
        close();
        return begun;
    }
    if (!filter_->to_peer_.empty()) loop.at_iteration_end(*this);
    return {};
}

result<void> stream::connect(event_loop& loop, const address& to, const connect_options& options) {
    close();
    out_.release();
    reading_ = true;
    if (loop.uring_ != nullptr) {
        auto unconnected = detail::open_tcp(to, options);
        if (!unconnected) return unconnected.error();
        if (auto r = loop.uring_->connect(*this, *std::move(unconnected), to); !r) return r;
        state_ = state::connecting;
        return {};
    }
    auto socket = connect_tcp(to, options);
    if (!socket) return socket.error();
    if (auto r = loop.watch(*this, socket->get(), ready::write); !r) return r;
    socket->release();
    state_ = state::connecting;
    return {};
}

void stream::close(bool reset) noexcept {
    if (state_ == state::closed) return;
    if (filter_ != nullptr && !reset) say_last_words();
    state_ = state::closed;
    notes_arrivals_ = false;
    iteration_hook::unlink();
    if (filter_ != nullptr) {
        loop()->pool().reclaim(filter_->to_peer_);
        filter_.reset();
    }
    loop()->pool().reclaim(out_);
    if (loop()->uring_ != nullptr) {
        loop()->uring_->close(*this, reset);
    } else {
        const int fd = io_source::fd();
        loop()->unwatch(*this);
        if (reset) {
            const linger now{.l_onoff = 1, .l_linger = 0};
            ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        }
        ::close(fd);
    }
    failed_errno_ = 0;
    waiting_to_write_ = ended_ = shutdown_wanted_ = sending_ = blocking_ = false;
}

void stream::ready_callback(io_source& source, ready what) noexcept {
    auto& s = static_cast<stream&>(source);
    if (s.state_ == state::connecting) {
        s.on_connect_ready();
        return;
    }
    if (s.waiting_to_write_ && has(what, ready::write | ready::failed)) {
        int number = 0;
        if (!s.send_some(number)) {
            s.fail(number, "send");
            return;
        }
        if (!s.waiting_to_write_) {
            // Readable bytes are announced again in the next turn: the callback may have destroyed
            // the stream.
            if (s.state_ == state::open) s.on_drained();
            return;
        }
    }
    if ((!s.reading_ && s.state_ == state::open) || s.ended_) {
        // The kernel announces to those who do not ask only that nothing more will happen.
        if (has(what, ready::failed)) {
            int number = 0;
            socklen_t size = sizeof number;
            ::getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &number, &size);
            if (number == 0 && s.ended_) {
                s.close();
                s.on_failure(error(errc::none, "both directions have finished"));
            } else {
                s.fail(number != 0 ? number : ECONNRESET, "connection");
            }
        }
        return;
    }
    s.receive_some(MSG_DONTWAIT);
}

// False when nothing came. May end with the stream destroyed.
bool stream::receive_some(int flags) noexcept {
    if (filter_ != nullptr) return receive_filtered(flags);
    const auto space = receive_space(loop()->scratch());
    const ssize_t n = receive_into(space, flags);
    if (n > 0) {
        on_data(space.first(static_cast<std::size_t>(n)));
    } else if (n == 0) {
        peer_finished();
    } else if (errno != EAGAIN && errno != EINTR) {
        receive_failed(errno);
    } else {
        return false;
    }
    return true;
}

// As recv() does, errno included.
ssize_t stream::receive_into(std::span<char> space, int flags) noexcept {
    ssize_t n = 0;
    if (!notes_arrivals_) [[likely]] {
        n = ::recv(fd(), space.data(), space.size(), flags);
        if (flags == 0) loop()->refresh_now();  // it may have waited
        return n;
    }
    iovec bytes{space.data(), space.size()};
    alignas(cmsghdr) char notes[CMSG_SPACE(sizeof(timespec))];
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = notes;
    message.msg_controllen = sizeof notes;
    n = ::recvmsg(fd(), &message, flags);
    if (flags == 0) loop()->refresh_now();
    if (n <= 0) return n;
    loop()->arrived_ = loop()->now();  // of bytes that came before the kernel was asked
    const cmsghdr* const note = CMSG_FIRSTHDR(&message);
    if (note == nullptr || note->cmsg_level != SOL_SOCKET || note->cmsg_type != SCM_TIMESTAMPNS)
        return n;
    timespec wall;
    std::memcpy(&wall, CMSG_DATA(note), sizeof wall);
    loop()->note_arrival(std::chrono::seconds(wall.tv_sec) +
                         std::chrono::nanoseconds(wall.tv_nsec));
    return n;
}

bool stream::note_arrivals() noexcept {
    const int on = 1;
    notes_arrivals_ = loop()->uring_ == nullptr &&
                      ::setsockopt(fd(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
    return notes_arrivals_;
}

bool stream::run_alone(clock::duration longest) noexcept {
    if (state_ < state::securing || (state_ == state::open && !reading_) || ended_ ||
        waiting_to_write_ || queued())
        return false;
    event_loop& l = *loop();
    if (l.uring_ != nullptr || l.has_posted_.load(std::memory_order_acquire)) return false;
    if (longest < alone_at_most || l.next_timer_within(alone_at_most)) return false;
    if (!blocking_) {
        constexpr timeval limit{.tv_sec = 0,
                                .tv_usec = std::chrono::microseconds(alone_at_most).count()};
        int off = 0;
        if (::setsockopt(fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) return false;
        // A blocking client's do block.
        if (l.poll_ == nullptr && ::ioctl(fd(), FIONBIO, &off) != 0) return false;
        blocking_ = true;
    }
    l.begin_iteration();
    const bool came = receive_some(0);
    l.end_iteration();
    return came;
}

void stream::on_connect_ready() noexcept {
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(fd(), SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
    connected(number);
}

void stream::connected(int number) noexcept {
    if (number != 0) {
        fail(number, "connect");
        return;
    }
    if (filter_ != nullptr) {
        begin_filtered();
        return;
    }
    state_ = state::open;
    update_interest();
    if (!out_.empty() || shutdown_wanted_) flush_later();  // asked for while it was connecting
    on_open();
}

void stream::peer_finished() noexcept {
    if (filter_ != nullptr) {
        fail_filtered({errc::truncated,
                       state_ == state::open
                           ? "the connection's end, without the peer's word that it has sent all"
                           : "handshake: the peer closed the connection"});
        return;
    }
    ended_ = true;
    update_interest();
    on_end();
}

void stream::receive_failed(int number) noexcept {
    fail(number, state_ == state::open ? "receive" : "handshake");
}

void stream::fail(int number, std::string_view what) noexcept {
    if (number == 0 && filter_ != nullptr) {
        fail_filtered(filter_->failure_);
        return;
    }
    if (filter_ != nullptr) filter_->finished_ = true;  // nobody to say it to
    close();
    on_failure(system_failure(number, what));
}

buffer& stream::out() {
    if (state_ != state::closed) loop()->pool().lend(out_);
    return out_;
}

void stream::flush_later() noexcept {
    if (state_ >= state::securing) loop()->at_iteration_end(*this);
}

void stream::hook_callback(iteration_hook& hook) noexcept {
    auto& s = static_cast<stream&>(hook);
    if (s.filter_ != nullptr) {
        if (s.filter_->failure_) {
            s.fail_filtered(s.filter_->failure_);
            return;
        }
        if (s.filter_->more_ && s.reading_ && s.state_ == state::open) {
            s.loop()->at_iteration_end(s);  // for what the callbacks may want to send
            s.loop()->arrived_ = s.loop()->now();
            s.take_raw({});
            return;
        }
    }
    int number = s.failed_errno_;
    if (s.waiting_to_write_ && number == 0) return;
    if (number != 0 || !s.send_some(number)) s.fail(number, "send");
}

bool stream::flush() noexcept {
    if (state_ == state::connecting || state_ == state::securing) return true;
    if (state_ == state::closed || failed_errno_ != 0) return false;
    if (waiting_to_write_) return true;  // the loop goes on when the socket can take more
    int number = 0;
    if (send_some(number)) return true;
    failed_errno_ = number;
    loop()->at_iteration_end(*this);
    return false;
}

// Sends what the socket takes. False, with the errno, when it is broken (no errno: the filter is).
bool stream::send_some(int& number) noexcept {
    if (loop()->uring_ != nullptr) return loop()->uring_->send(*this);
    if (filter_ != nullptr && !encode_some()) return false;
    buffer& raw = raw_out();
    if (!raw.empty() && state_ == state::open) before_send();
    while (!raw.empty()) {
        const ssize_t n = ::send(fd(), raw.data(), raw.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            raw.consume(static_cast<std::size_t>(n));
            if (filter_ != nullptr && raw.empty() && !encode_some()) return false;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            number = errno;
            return false;
        }
    }
    if (out_.empty()) loop()->pool().reclaim(out_);
    if (raw.empty() && state_ == state::open) {
        loop()->pool().reclaim(raw);
        if (shutdown_wanted_) {
            shutdown_wanted_ = false;
            ::shutdown(fd(), SHUT_WR);
        }
    }
    if (waiting_to_write_ == raw.empty()) {
        waiting_to_write_ = !raw.empty();
        update_interest();
    }
    return true;
}

std::size_t stream::under_way() const noexcept { return loop()->uring_->under_way(*this); }

bool stream::quiet() const noexcept {
    if (loop()->uring_ != nullptr) return loop()->uring_->quiet(*this);
    char byte;
    return ::recv(fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void stream::pause_reading() noexcept {
    reading_ = false;
    update_interest();
}

void stream::resume_reading() noexcept {
    reading_ = true;
    update_interest();
    // What came before the pause is given from there.
    if (filter_ != nullptr && filter_->more_) flush_later();
}

void stream::shutdown_write() noexcept {
    if (state_ == state::closed) return;
    shutdown_wanted_ = true;
    flush_later();
}

void stream::update_interest() noexcept {
    if (state_ < state::securing) return;
    if (loop()->uring_ != nullptr) {
        loop()->uring_->update_reading(*this);
        return;
    }
    const ready read =
        (reading_ || state_ == state::securing) && !ended_ ? ready::read : ready::none;
    loop()->rewatch(*this, waiting_to_write_ ? read | ready::write : read);
}

}  // namespace wire
