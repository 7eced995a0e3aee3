// The streams of the two readiness engines: recv() and send() on sockets that the loop watches.
//
//     on_ready(), the stream is      what is done
//     connecting                     SO_ERROR says how it ended: connected()
//     waiting to write, writable     send(); when all has gone, on_drained() and no more: readable
//                                    bytes are announced again in the next iteration
//     not reading, or ended          only an error or the end of both directions is of interest,
//                                    and announced once
//     otherwise                      one recv(), to on_data() or the filter
//
// The socket is watched for reading while the stream wants to read, and for writing while it waits
// to write. It belongs to the stream: attach() takes it over, close() closes it. All is on the
// loop's thread.
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "readiness_engine.hpp"
#include "socket_parts.hpp"
#include "wire/loop/stream.hpp"

namespace wire::detail {

using state = stream_core::state;

// ---- beginning and end ----

result<void> readiness_engine::attach(stream_core& s, unique_fd socket) {
    s.on_ready_ = &readiness_engine::on_ready;
    if (auto r = watch(s, socket.get(), ready::read); !r) return r;
    socket.release();
    return {};
}

result<void> readiness_engine::connect(stream_core& s, const address& to,
                                       const connect_options& options) {
    auto socket = connect_tcp(to, options);
    if (!socket) return socket.error();
    s.on_ready_ = &readiness_engine::on_ready;
    if (auto r = watch(s, socket->get(), ready::write); !r) return r;
    socket->release();
    return {};
}

void readiness_engine::close(stream_core& s, bool reset) noexcept {
    const int fd = s.fd_;
    unwatch(s);
    if (reset) {
        const linger now{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    ::close(fd);
}

// ---- what the kernel announces ----

void readiness_engine::on_ready(io_source& source, ready what) noexcept {
    auto& self = static_cast<readiness_engine&>(source.loop_->core().engine());
    self.serve(static_cast<stream_core&>(source), what);
}

// May end with the stream destroyed.
void readiness_engine::serve(stream_core& s, ready what) noexcept {
    if (s.state_ == state::connecting) {
        on_connect_ready(s);
        return;
    }
    if (s.broken_) return;
    const bool reads_first = has(what, ready::failed) && reads(s);
    if (s.waiting_to_write_ && !reads_first && has(what, ready::write | ready::failed)) {
        int number = 0;
        if (!send(s, number)) {
            s.fail(number, "send");
            return;
        }
        if (!s.waiting_to_write_) {
            // Readable bytes are announced again in the next iteration: the callback may have
            // destroyed the stream.
            if (s.state_ == state::open) s.on_drained();
            return;
        }
    }
    if ((!s.reading_ && s.state_ == state::open) || s.ended_) {
        on_unread_ready(s, what);
        return;
    }
    receive(s, MSG_DONTWAIT);
}

void readiness_engine::on_connect_ready(stream_core& s) noexcept {
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(s.fd_, SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
    s.connected(number);
}

bool readiness_engine::reads(const stream_core& s) noexcept {
    return s.state_ == state::open && s.reading_ && !s.ended_;
}

bool readiness_engine::read_rest(stream_core& s) noexcept {
    char byte;
    if (!reads(s) || ::recv(s.fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) return false;
    receive(s, MSG_DONTWAIT);
    return true;
}

// The kernel tells those who asked for nothing only that nothing more will happen.
void readiness_engine::on_unread_ready(stream_core& s, ready what) noexcept {
    if (!has(what, ready::failed)) return;
    int number = 0;
    socklen_t size = sizeof number;
    ::getsockopt(s.fd_, SOL_SOCKET, SO_ERROR, &number, &size);
    if (number != 0) {
        s.receive_failed(number);
    } else if (s.ended_) {
        s.both_finished();
    }  // else the peer's end is read when the user reads again
}

void readiness_engine::update_interest(stream_core& s) noexcept {
    const ready read = s.wants_to_read() ? ready::read : ready::none;
    rewatch(s, s.waiting_to_write_ ? read | ready::write : read);
}

// ---- receiving ----

// False when nothing came. May end with the stream destroyed.
bool readiness_engine::receive(stream_core& s, int flags) noexcept {
    const auto scratch = core_.scratch();
    const bool filtered = s.filter_ != nullptr;
    // With a filter the back half of the scratch is for what comes, the front half for what is made
    // of it.
    const auto space = filtered ? scratch.subspan(scratch.size() / 2) : s.receive_space(scratch);
    const ssize_t n = s.notes_arrivals_ ? receive_noting_arrival(s, space, flags)
                                        : ::recv(s.fd_, space.data(), space.size(), flags);
    if (flags == 0) core_.refresh_now();  // it may have waited
    if (n > 0) {
        const auto bytes = space.first(static_cast<std::size_t>(n));
        if (filtered) {
            s.take_raw(bytes);
        } else {
            s.on_data(bytes);
        }
    } else if (n == 0) {
        // The kernel announces it again when that has been given.
        if (!s.holds_back()) s.peer_finished();
    } else if (errno != EAGAIN && errno != EINTR) {
        s.receive_failed(errno);
    } else {
        return false;
    }
    return true;
}

// As recv() does, errno included.
ssize_t readiness_engine::receive_noting_arrival(stream_core& s, std::span<char> space,
                                                 int flags) noexcept {
    iovec bytes{space.data(), space.size()};
    alignas(cmsghdr) char notes[arrival_note_bytes];
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = notes;
    message.msg_controllen = sizeof notes;
    const ssize_t n = ::recvmsg(s.fd_, &message, flags);
    if (flags == 0) core_.refresh_now();
    if (n > 0) core_.arrivals().note(arrival_stamp(message), core_.now());
    return n;
}

bool readiness_engine::quiet(const stream_core& s) noexcept {
    char byte;
    return ::recv(s.fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool readiness_engine::run_alone(stream_core& s) noexcept {
    if (!s.blocking_ && !let_block(s)) return false;
    core_.begin_iteration();
    const bool came = receive(s, 0);
    core_.end_iteration();
    return came;
}

// Every other call on the socket says MSG_DONTWAIT.
bool readiness_engine::let_block(stream_core& s) noexcept {
    constexpr timeval limit{.tv_sec = 0,
                            .tv_usec = std::chrono::microseconds(longest_alone).count()};
    int off = 0;
    if (::setsockopt(s.fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) return false;
    if (sockets_ == sockets::non_blocking && ::ioctl(s.fd_, FIONBIO, &off) != 0) return false;
    s.blocking_ = true;
    return true;
}

// ---- sending ----

bool readiness_engine::send(stream_core& s, int& number) noexcept {
    if (s.filter_ != nullptr && !s.encode_some()) return false;
    buffer& raw = s.raw_out();
    if (!raw.empty() && s.state_ == state::open) s.before_send();
    while (!raw.empty()) {
        const ssize_t n = ::send(s.fd_, raw.data(), raw.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            raw.consume(static_cast<std::size_t>(n));
            s.note_taken(static_cast<std::size_t>(n));
            if (s.filter_ != nullptr && raw.empty() && !s.encode_some()) return false;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            number = errno;
            return false;
        }
    }
    if (s.out_.empty()) core_.pool().reclaim(s.out_);
    if (raw.empty()) {
        core_.pool().reclaim(raw);
        if (s.shutdown_wanted_ && s.state_ == state::open) {
            s.shutdown_wanted_ = false;
            ::shutdown(s.fd_, SHUT_WR);
        }
    }
    if (s.waiting_to_write_ == raw.empty()) {
        s.waiting_to_write_ = !raw.empty();
        update_interest(s);
    }
    return true;
}

bool readiness_engine::send_lasting(stream_core& s, std::string_view bytes, int& number) noexcept {
    s.before_send();
    const ssize_t n = ::send(s.fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
        s.note_taken(static_cast<std::size_t>(n));
        if (bytes.empty()) return true;
    } else if (errno != EAGAIN && errno != EINTR) {
        number = errno;
        return false;
    }
    s.out().append(bytes);
    return send(s, number);  // which finds the socket full, and waits for room
}

void readiness_engine::send_at_once(stream_core& s, buffer& last) noexcept {
    ::send(s.fd_, last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace wire::detail
