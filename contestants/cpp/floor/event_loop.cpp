#include "event_loop.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace wirebench {
namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t first_room = 1024;
// Queued for one connection in one turn before it has to wait.
constexpr std::size_t stall_bytes = 256 * 1024;
constexpr std::size_t linger_bytes = 256 * 1024;
constexpr std::size_t scratch_kept = 4 * 1024 * 1024;
constexpr std::size_t events_a_turn = 4096;
constexpr std::size_t pieces_a_call = 64;
constexpr std::size_t record_bytes = 16 * 1024;  // the most that one TLS record holds

int checked(int result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
    return result;
}

void add(int epoll, int fd, void* tag) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = tag}};
    checked(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

}  // namespace

event_loop::event_loop(int listener, service& handler, ssl_ctx_st* tls,
                       std::atomic<std::uint64_t>* accepted)
    : epoll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      listener_(listener),
      timer_(
          checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create")),
      service_(handler),
      tls_(tls),
      accepted_(accepted),
      received_(new char[read_bytes]) {
    add(epoll_, listener_, &listener_);
    add(epoll_, timer_, &timer_);
}

void event_loop::run() {
    const auto events = std::make_unique<epoll_event[]>(events_a_turn);
    for (;;) {
        const int ready = epoll_wait(epoll_, events.get(), static_cast<int>(events_a_turn), -1);
        if (ready < 0 && errno != EINTR) checked(ready, "epoll_wait");
        for (int i = 0; i < ready; ++i) {
            void* tag = events[static_cast<std::size_t>(i)].data.ptr;
            if (tag == &listener_) {
                accept_all();
            } else if (tag == &timer_) {
                std::uint64_t times = 0;
                if (::read(timer_, &times, sizeof times) > 0) service_.on_timer(*this);
            } else {
                handle(*static_cast<connection*>(tag), events[static_cast<std::size_t>(i)].events);
            }
        }
        flush_turn();
        resume_all();
        closed_.clear();
    }
}

void event_loop::accept_all() {
    for (;;) {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            // Out of files: leave the rest in the backlog until a connection closes, rather than
            // spin.
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_accept(true);
            if (errno == EINTR || errno == ECONNABORTED) continue;
            return;
        }
        if (accepted_ != nullptr) accepted_->fetch_add(1, std::memory_order_relaxed);
        auto c = std::make_unique<connection>();
        c->fd = fd;
        c->interest = EPOLLIN;
        if (tls_ != nullptr && (c->tls = accept_tls(*tls_, fd)) == nullptr) {
            ::close(fd);
            continue;
        }
        add(epoll_, fd, c.get());
        static_cast<void>(c.release());  // epoll holds it from here; `close` takes it back
    }
}

void event_loop::pause_accept(bool paused) {
    if (paused == accept_paused_) return;
    epoll_event event{.events = paused ? 0u : EPOLLIN, .data = {.ptr = &listener_}};
    checked(epoll_ctl(epoll_, EPOLL_CTL_MOD, listener_, &event), "epoll_ctl");
    accept_paused_ = paused;
}

void event_loop::handle(connection& c, std::uint32_t events) {
    if (c.out != nullptr && (events & EPOLLOUT) != 0) on_writable(c);
    else if ((events & (EPOLLERR | EPOLLHUP)) != 0 &&
             (c.held || c.out != nullptr || (events & EPOLLIN) == 0))
        close(c);
    else if (c.held) watch(c, 0);
    else receive(c);
}

// Until nothing is left that epoll will not tell of: OpenSSL reads ahead.
void event_loop::receive(connection& c) {
    while (on_readable(c) && c.tls != nullptr && c.fd >= 0 && !c.held && !c.stalled && !c.closing &&
           tls_may_have_more(*c.tls))
        continue;
}

// Whether anything came.
bool event_loop::on_readable(connection& c) {
    char* to = received_.get();
    std::size_t room = read_bytes;
    if (c.in != nullptr && !c.lingering) {
        auto& in = *c.in;
        if (in.size == in.capacity || in.capacity < in.state.need) {
            // Room for all that is known to come: memory the peer never fills is never touched.
            const auto capacity = std::max(in.state.need, in.size + std::max(in.size, first_room));
            std::unique_ptr<char[]> larger(new char[capacity]);
            std::memcpy(larger.get(), in.data.get(), in.size);
            in.data = std::move(larger);
            in.capacity = capacity;
        }
        to = in.data.get() + in.size;
        room = in.capacity - in.size;
    }
    const auto got =
        c.tls != nullptr && !c.lingering ? tls_receive(*c.tls, to, room) : recv(c.fd, to, room, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        close(c);
        return false;
    }
    const auto size = static_cast<std::size_t>(got);
    if (c.lingering) {
        c.drained += static_cast<std::uint32_t>(size);
        if (c.drained > linger_bytes) close(c);
        return true;
    }
    if (c.in != nullptr) {
        c.in->size += size;
        feed(c);
        return true;
    }
    queued_bytes_ = 0;
    const auto used = service_.on_bytes(*this, c, to, size, state_);
    if (used == size) return true;
    if (c.closing || c.fd < 0) state_ = {};
    else keep(c, to + used, size - used);
    return true;
}

// The rest of what came waits in a buffer of its own.
void event_loop::keep(connection& c, const char* data, std::size_t size) {
    c.in = std::make_unique<input>();
    c.in->capacity = size + first_room;
    c.in->data.reset(new char[c.in->capacity]);
    std::memcpy(c.in->data.get(), data, size);
    c.in->size = size;
    c.in->state = std::exchange(state_, {});
}

void event_loop::feed(connection& c) {
    if (c.in == nullptr || c.in->size < c.in->state.need) return;
    auto& in = *c.in;
    queued_bytes_ = 0;
    const auto used = service_.on_bytes(*this, c, in.data.get(), in.size, in.state);
    if (used == in.size || c.closing || c.fd < 0) {
        c.in.reset();
        return;
    }
    std::memmove(in.data.get(), in.data.get() + used, in.size - used);
    in.size -= used;
}

void event_loop::queue(connection& to, piece what) {
    queued_bytes_ += what.size;
    if (queued_bytes_ > stall_bytes) to.stalled = true;
    if (!items_.empty() && items_.back().to == &to && what.fixed == nullptr) {
        auto& last = items_.back().what;
        if (last.fixed == nullptr && last.offset + last.size == what.offset) {
            last.size += what.size;
            return;
        }
    }
    items_.push_back({&to, what});
}

void event_loop::queue_scratch(connection& to, std::size_t from) {
    queue(to, {.offset = from, .size = scratch_.size() - from});
}

void event_loop::send_borrowed(connection& to, std::string_view bytes) {
    queue(to, {.fixed = bytes.data(), .size = bytes.size(), .borrowed = true});
    auto begin = items_.size();
    while (begin > 0 && items_[begin - 1].to == &to) --begin;
    write_items(to, begin, items_.size());
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(begin), items_.end());
    if (to.out == nullptr) {
        to.stalled = false;
        queued_bytes_ = 0;
    }
}

void event_loop::flush_turn() {
    for (std::size_t begin = 0, end = 0; begin < items_.size(); begin = end) {
        connection* c = items_[begin].to;
        while (end < items_.size() && items_[end].to == c) ++end;
        write_items(*c, begin, end);
        if (c->fd >= 0 && c->out == nullptr) after_write(*c);
    }
    items_.clear();
    scratch_.clear();
    if (scratch_.capacity() > scratch_kept) scratch_.shrink_to_fit();
}

// Connections whose replies are out and whose next requests are already here.
void event_loop::resume_all() {
    std::vector<connection*> now;
    while (!resumable_.empty()) {
        now.clear();
        now.swap(resumable_);
        for (connection* c : now)
            if (c->fd >= 0 && c->out == nullptr && !c->held) {
                feed(*c);
                if (c->tls != nullptr && c->fd >= 0 && !c->held && !c->stalled && !c->closing)
                    receive(*c);
            }
        flush_turn();
    }
}

namespace {

// Writes pieces in order; returns bytes written, or -1 when the connection is gone.
template <typename PieceAt>
ssize_t write_pieces(int fd, std::size_t count, const std::string& bytes, PieceAt piece_at) {
    const auto address = [&](const piece& p) {
        return p.fixed != nullptr ? p.fixed : bytes.data() + p.offset;
    };
    ssize_t written = 0;
    for (std::size_t at = 0; at < count;) {
        std::array<iovec, pieces_a_call> vectors;
        const auto batch = std::min(count - at, vectors.size());
        std::size_t total = 0;
        for (std::size_t i = 0; i < batch; ++i) {
            const piece& p = piece_at(at + i);
            vectors[i] = {const_cast<char*>(address(p)), p.size};
            total += p.size;
        }
        msghdr message{};
        message.msg_iov = vectors.data();
        message.msg_iovlen = batch;
        const auto sent = batch == 1
                              ? send(fd, vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL)
                              : sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0) return errno == EAGAIN || errno == EINTR ? written : -1;
        written += sent;
        if (static_cast<std::size_t>(sent) < total) return written;
        at += batch;
    }
    return written;
}

// The same over TLS: small pieces share a record.
template <typename PieceAt>
ssize_t write_records(ssl_st& tls, std::size_t count, const std::string& bytes, PieceAt piece_at) {
    std::array<char, record_bytes> record;
    ssize_t written = 0;
    std::size_t skip = 0;  // of the first piece that is left
    for (std::size_t at = 0; at < count;) {
        const piece& first = piece_at(at);
        const char* from =
            (first.fixed != nullptr ? first.fixed : bytes.data() + first.offset) + skip;
        std::size_t size = std::min(first.size - skip, record_bytes);
        if (size == 0) {
            ++at;
            continue;
        }
        if (size < record_bytes && at + 1 < count) {
            std::memcpy(record.data(), from, size);
            from = record.data();
            for (std::size_t i = at + 1; i < count && size < record_bytes; ++i) {
                const piece& p = piece_at(i);
                const auto part = std::min(p.size, record_bytes - size);
                std::memcpy(record.data() + size,
                            p.fixed != nullptr ? p.fixed : bytes.data() + p.offset, part);
                size += part;
            }
        }
        const auto sent = tls_send(tls, from, size);
        if (sent <= 0) return sent < 0 && errno == EAGAIN ? written : -1;
        written += sent;
        for (skip += static_cast<std::size_t>(sent); at < count && skip >= piece_at(at).size; ++at)
            skip -= piece_at(at).size;
    }
    return written;
}

}  // namespace

void event_loop::write_items(connection& c, std::size_t begin, std::size_t end) {
    if (c.fd < 0) return;
    std::size_t written = 0;
    if (c.out == nullptr) {
        const auto piece_at = [&](std::size_t i) -> const piece& { return items_[begin + i].what; };
        const auto result = c.tls != nullptr
                                ? write_records(*c.tls, end - begin, scratch_, piece_at)
                                : write_pieces(c.fd, end - begin, scratch_, piece_at);
        if (result < 0) return close(c);
        written = static_cast<std::size_t>(result);
    }
    for (; begin < end; ++begin) {
        piece p = items_[begin].what;
        const auto skip = std::min(written, p.size);
        written -= skip;
        if (skip == p.size) continue;
        p.size -= skip;
        if (p.fixed != nullptr) p.fixed += skip;
        else p.offset += skip;
        if (c.out == nullptr) c.out = std::make_unique<backlog>();
        if (p.fixed == nullptr || p.borrowed) {
            const std::string_view copied(p.fixed != nullptr ? p.fixed : scratch_.data() + p.offset,
                                          p.size);
            p = {.offset = c.out->bytes.size(), .size = copied.size()};
            c.out->bytes.append(copied);
        }
        c.out->pieces.push_back(p);
    }
    if (c.out != nullptr) {
        c.stalled = true;
        watch(c, EPOLLOUT);
    }
}

void event_loop::on_writable(connection& c) {
    auto& out = *c.out;
    const auto piece_at = [&](std::size_t i) -> const piece& { return out.pieces[out.first + i]; };
    const auto result =
        c.tls != nullptr ? write_records(*c.tls, out.pieces.size() - out.first, out.bytes, piece_at)
                         : write_pieces(c.fd, out.pieces.size() - out.first, out.bytes, piece_at);
    if (result < 0) return close(c);
    auto written = static_cast<std::size_t>(result);
    while (out.first < out.pieces.size()) {
        auto& p = out.pieces[out.first];
        const auto skip = std::min(written, p.size);
        written -= skip;
        p.size -= skip;
        if (p.fixed != nullptr) p.fixed += skip;
        else p.offset += skip;
        if (p.size != 0) return;
        ++out.first;
    }
    c.out.reset();
    watch(c, EPOLLIN);
    after_write(c);
}

void event_loop::after_write(connection& c) {
    if (c.closing) {
        if (c.lingers) linger(c);
        else close(c);
    } else if (c.stalled) {
        c.stalled = false;
        resumable_.push_back(&c);
    }
}

// RFC 9112 section 9.6: closing with unread bytes would reset the connection, and the peer could
// lose the reply.
void event_loop::linger(connection& c) {
    if (c.lingering) return;
    c.lingering = true;
    c.in.reset();
    if (c.tls != nullptr) tls_say_goodbye(*c.tls);
    shutdown(c.fd, SHUT_WR);
    watch(c, EPOLLIN);
}

void event_loop::release(connection& c) {
    c.held = false;
    if (c.fd < 0) {
        closed_.emplace_back(&c);
        return;
    }
    if (c.out == nullptr) watch(c, EPOLLIN);
    resumable_.push_back(&c);
}

void event_loop::watch(connection& c, std::uint32_t interest) {
    if (c.fd < 0 || c.interest == interest) return;
    epoll_event event{.events = interest, .data = {.ptr = &c}};
    checked(epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &event), "epoll_ctl");
    c.interest = interest;
}

// The memory goes at the end of the turn: a service, items or events of this turn may still point
// to it.
void event_loop::close(connection& c) {
    if (c.fd < 0) return;
    if (c.tls != nullptr && !c.lingering) tls_say_goodbye(*c.tls);
    ::close(c.fd);
    c.fd = -1;
    service_.on_closed(c);
    if (!c.held) closed_.emplace_back(&c);
    pause_accept(false);
}

void event_loop::set_timer(std::int64_t monotonic_ns) {
    itimerspec when{};
    when.it_value.tv_sec = monotonic_ns / 1'000'000'000;
    when.it_value.tv_nsec = monotonic_ns % 1'000'000'000;
    checked(timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr), "timerfd_settime");
}

}  // namespace wirebench
