#include "server.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "system.hpp"

namespace truth {
namespace {

// Closer than this to an answer we look again and again instead of sleeping.
constexpr nanos spin_ns = 300'000;
// A request is a head; one larger than this is not from a load generator.
constexpr std::size_t most_head_bytes = 64 * 1024;

constexpr std::uint64_t listener_key = ~std::uint64_t{0}, timer_key = listener_key - 1,
                        stop_key = listener_key - 2;

// The field Connection is for clients of HTTP/1.0 (ab), which close without it.
std::string text_of(std::string_view status, std::string_view body) {
    return fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: "
        "{}\r\n\r\n{}",
        status, body.size(), body);
}

std::string_view reply(answer a) {
    static const std::string right = text_of("200 OK", right_body);
    static const std::string status = text_of("500 Internal Server Error", right_body);
    static const std::string body = text_of("200 OK", "hellO");
    static const std::string length = text_of("200 OK", "hell");
    switch (a) {
    case answer::status: return status;
    case answer::body: return body;
    case answer::length: return length;
    default: return right;
    }
}

}  // namespace

server::server(std::unique_ptr<law> l, const faults& f, std::uint16_t port)
    : law_(std::move(l)), faults_(f), scratch_(256 * 1024, '\0') {
    std::tie(listener_, port_) = listen_on(port);
    // Those that are accepted take it over.
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    timer_ = checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create");
    for (const auto& [fd, key] :
         {std::pair{listener_, listener_key}, std::pair{timer_, timer_key}}) {
        epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
        checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
    }
    unix_offset_ = clock_ns(CLOCK_REALTIME) - now_ns();
}

server::~server() {
    for (connection& c : connections_) {
        if (c.fd >= 0) ::close(c.fd);
    }
    for (const int fd : {listener_, timer_, epoll_}) ::close(fd);
}

void server::run(int stop_fd) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = stop_key}};
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, stop_fd, &event), "epoll_ctl");
    std::array<epoll_event, 256> events;
    while (true) {
        const int n = epoll_wait(epoll_, events.data(), events.size(), patience());
        // Answers that are due come before anything new.
        answer_due();
        for (int i = 0; i < n; ++i) {
            const epoll_event& e = events[static_cast<std::size_t>(i)];
            if (e.data.u64 == stop_key) {
                record_.count.unanswered += waiting_.size();
                epoll_ctl(epoll_, EPOLL_CTL_DEL, stop_fd, nullptr);
                return;
            }
            if (e.data.u64 == timer_key) {
                std::uint64_t expirations = 0;
                (void)!read(timer_, &expirations, sizeof expirations);
            } else if (e.data.u64 == listener_key) {
                accept_all();
            } else {
                const auto slot = static_cast<std::uint32_t>(e.data.u64);
                if ((e.events & EPOLLOUT) != 0) flush_rest(slot);
                if ((e.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_from(slot);
                answer_due();
            }
        }
    }
}

int server::patience() {
    if (waiting_.empty()) return -1;
    const nanos left = waiting_.top().due - now_ns();
    if (left <= spin_ns) return 0;
    const nanos sleep = left - spin_ns;
    const itimerspec at{
        .it_interval = {},
        .it_value = {.tv_sec = sleep / 1'000'000'000, .tv_nsec = sleep % 1'000'000'000}};
    timerfd_settime(timer_, 0, &at, nullptr);
    return -1;
}

void server::accept_all() {
    while (true) {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        std::uint32_t slot = 0;
        if (free_.empty()) {
            slot = static_cast<std::uint32_t>(connections_.size());
            connections_.emplace_back();
        } else {
            slot = free_.back();
            free_.pop_back();
        }
        connections_[slot].fd = fd;
        ++record_.count.connections;
        watch(connections_[slot], slot, false, true);
    }
}

void server::watch(const connection& c, std::uint32_t slot, bool writable, bool add) const {
    epoll_event event{.events = EPOLLIN | (writable ? EPOLLOUT : 0U), .data = {.u64 = slot}};
    epoll_ctl(epoll_, add ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c.fd, &event);
}

void server::read_from(std::uint32_t slot) {
    connection& c = connections_[slot];
    if (c.fd < 0) return;
    iovec bytes{scratch_.data(), scratch_.size()};
    alignas(cmsghdr) char notes[CMSG_SPACE(sizeof(timespec))];
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = notes;
    message.msg_controllen = sizeof notes;
    const ssize_t n = recvmsg(c.fd, &message, 0);
    if (n > 0) {
        take_requests(slot, std::string_view(scratch_).substr(0, static_cast<std::size_t>(n)),
                      arrival(message));
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(c);
        free_.push_back(slot);
    }
}

// When the last of the bytes reached this host: the kernel noted it, and we may come to look much
// later.
nanos server::arrival(const msghdr& message) {
    const cmsghdr* const note = CMSG_FIRSTHDR(&message);
    // The kernel takes a moment to begin with it, when nobody had asked for it before.
    if (note == nullptr || note->cmsg_level != SOL_SOCKET || note->cmsg_type != SCM_TIMESTAMPNS)
        return now_ns();
    timespec t;
    std::memcpy(&t, CMSG_DATA(note), sizeof t);
    // The wall clock may be slewed by 0.5 us in a millisecond: it is compared with the other one
    // every time, and again if the core was lost between the readings.
    nanos before = 0, wall = 0, after = 0;
    do {
        before = now_ns();
        wall = clock_ns(CLOCK_REALTIME);
        after = now_ns();
    } while (after - before > 5'000);
    return nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec - (wall - before);
}

void server::take_requests(std::uint32_t slot, std::string_view bytes, nanos now) {
    connection& c = connections_[slot];
    const bool joined = !c.unread.empty();
    if (joined) bytes = c.unread.append(bytes);
    if (anchor_ == 0) {
        anchor_ = now;
        record_.anchor_unix = now + unix_offset_;
    }
    constexpr std::string_view end_of_head = "\r\n\r\n";
    for (std::size_t end = 0; (end = bytes.find(end_of_head)) != std::string_view::npos;
         bytes.remove_prefix(end + end_of_head.size())) {
        const std::uint64_t index = record_.count.requests++;
        const nanos law = anchor_ + law_->due(index, now - anchor_);
        c.last_due = std::max(c.last_due, law);
        waiting_.push({.due = c.last_due,
                       .index = index,
                       .slot = slot,
                       .generation = c.generation,
                       .received = now,
                       .law = law});
    }
    if (bytes.size() > most_head_bytes) {
        close(c);
        free_.push_back(slot);
        return;
    }
    std::string left(bytes);  // `bytes` may lie in what is assigned to
    c.unread = std::move(left);
}

void server::answer_due() {
    while (!waiting_.empty() && waiting_.top().due <= now_ns()) {
        const pending p = waiting_.top();
        waiting_.pop();
        give(p);
    }
}

void server::give(const pending& p) {
    connection& c = connections_[p.slot];
    if (c.fd < 0 || c.generation != p.generation) {
        ++record_.count.unanswered;
        return;
    }
    const answer a = answer_of(faults_, p.index);
    count(a);
    if (a == answer::drop) {
        // What was read is all there is, so that this is an orderly end and not a reset.
        close(c);
        free_.push_back(p.slot);
        return;
    }
    c.unsent += reply(a);
    const nanos now = now_ns();
    record_.add({.received_unix = p.received + unix_offset_,
                 .law = p.law - p.received,
                 .really = now - p.received});
    if (c.unsent.size() == reply(a).size()) flush(c);
    if (!c.unsent.empty() && c.fd >= 0) watch(c, p.slot, true, false);
}

void server::flush_rest(std::uint32_t slot) {
    connection& c = connections_[slot];
    flush(c);
    if (c.fd >= 0 && c.unsent.empty()) watch(c, slot, false, false);
}

void server::flush(connection& c) const {
    while (c.fd >= 0 && !c.unsent.empty()) {
        const ssize_t n = send(c.fd, c.unsent.data(), c.unsent.size(), MSG_NOSIGNAL);
        if (n < 0) return;  // full, or gone: the next read says which
        c.unsent.erase(0, static_cast<std::size_t>(n));
    }
}

void server::close(connection& c) {
    ::close(c.fd);
    const std::uint32_t next = c.generation + 1;
    c = {};
    c.generation = next;
}

void server::count(answer a) {
    switch (a) {
    case answer::right: ++record_.count.right; break;
    case answer::drop: ++record_.count.dropped; break;
    case answer::status: ++record_.count.wrong_status; break;
    case answer::body: ++record_.count.wrong_body; break;
    case answer::length: ++record_.count.wrong_length; break;
    }
}

}  // namespace truth
