#include "broadcast_server.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>
#include <utility>

#include "system.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace truth {
namespace {

constexpr std::size_t most_unread = 64 * 1024;

// A text message in one frame, as a server sends it (RFC 6455 section 5.2). Messages here are
// short.
std::string frame(std::string_view text) {
    std::string out = "\x81";
    if (text.size() < 126) {
        out += static_cast<char>(text.size());
    } else {
        out += static_cast<char>(126);
        out += static_cast<char>(text.size() >> 8);
        out += static_cast<char>(text.size() & 255);
    }
    return out.append(text);
}

std::string_view field(std::string_view head, std::string_view name) {
    const std::size_t at = head.find(name);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = head.substr(at + name.size());
    return rest.substr(0, rest.find('\r'));
}

}  // namespace

broadcast_server::broadcast_server(nanos delay, const broadcast_faults& f, std::uint16_t port)
    : delay_(delay), faults_(f) {
    std::tie(listener_, port_) = listen_on(port);
    epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &listener_}};
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event), "epoll_ctl");
}

broadcast_server::~broadcast_server() {
    for (subscriber& s : subscribers_) close(s);
    ::close(listener_);
    ::close(epoll_);
}

void broadcast_server::run(int stop_fd) {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = &stop_fd}};
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, stop_fd, &event), "epoll_ctl");
    std::array<epoll_event, 64> events;
    while (true) {
        // Looks again and again while a message waits: a delivery is then on time.
        const int n = epoll_wait(epoll_, events.data(), events.size(), waiting_.empty() ? -1 : 0);
        while (!waiting_.empty() && waiting_.front().due <= now_ns()) {
            const pending p = std::move(waiting_.front());
            waiting_.pop_front();
            deliver(p);
        }
        for (int i = 0; i < n; ++i) {
            void* const what = events[static_cast<std::size_t>(i)].data.ptr;
            if (what == &stop_fd) {
                epoll_ctl(epoll_, EPOLL_CTL_DEL, stop_fd, nullptr);
                return;
            }
            if (what == &listener_) {
                accept_all();
            } else {
                read_from(*static_cast<subscriber*>(what));
            }
        }
    }
}

void broadcast_server::accept_all() {
    while (true) {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        subscriber& s =
            subscribers_.emplace_back();  // a deque: those before it stay where they are
        s.fd = fd;
        epoll_event event{.events = EPOLLIN, .data = {.ptr = &s}};
        epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    }
}

void broadcast_server::read_from(subscriber& s) {
    if (s.fd < 0) return;
    std::array<char, 16 * 1024> bytes;
    const ssize_t n = recv(s.fd, bytes.data(), bytes.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return close(s);
    s.unread.append(bytes.data(), static_cast<std::size_t>(n));
    while (s.fd >= 0 && (s.open ? take_frame(s) : shake_hands(s))) {}
    if (s.unread.size() > most_unread) close(s);
}

bool broadcast_server::shake_hands(subscriber& s) {
    const std::size_t end = s.unread.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const std::string_view key =
        field(std::string_view(s.unread).substr(0, end + 2), "Sec-WebSocket-Key: ");
    send(s,
         "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: " +
             wire::ws::accept_key(key) + "\r\n\r\n");
    s.unread.erase(0, end + 4);
    s.open = true;
    return true;
}

bool broadcast_server::take_frame(subscriber& s) {
    const auto byte = [&s](std::size_t i) { return static_cast<unsigned char>(s.unread[i]); };
    if (s.unread.size() < 2) return false;
    std::size_t length = byte(1) & 127U, head = 2;
    if (length == 126) {
        head = 4;
        if (s.unread.size() < head) return false;
        length = std::size_t{byte(2)} << 8 | byte(3);
    }
    if ((byte(1) & 128U) == 0 || length == 127) {
        close(s);
        return false;
    }
    if (s.unread.size() < head + 4 + length) return false;
    std::string text = s.unread.substr(head + 4, length);
    for (std::size_t i = 0; i < length; ++i) text[i] ^= s.unread[head + i % 4];
    const unsigned op = byte(0);
    s.unread.erase(0, head + 4 + length);
    if (op == 0x88) {
        close(s);
        return false;
    }
    if (op != 0x81) return true;
    ++messages_;
    const nanos now = now_ns();
    waiting_.push_back({.due = now + delay_, .received = now, .message = std::move(text)});
    return true;
}

void broadcast_server::deliver(const pending& p) {
    for (subscriber& s : subscribers_) {
        if (!s.open || s.fd < 0) continue;
        // Before the call: the peer may have it while we are still in there.
        longest_ = std::max(longest_, now_ns() - p.received);
        deliver_to(s, p.message);
    }
}

void broadcast_server::deliver_to(subscriber& s, std::string_view message) {
    const std::uint64_t n = ++deliveries_;
    const auto is_nth = [n](std::uint64_t every) { return every != 0 && n % every == 0; };
    std::string bytes = frame(message);
    const std::string before = std::exchange(s.kept_back, {});
    if (is_nth(faults_.lose)) {
        ++lost_;
        bytes.clear();
    } else if (is_nth(faults_.twice)) {
        ++doubled_;
        bytes += bytes;
    } else if (is_nth(faults_.wrong)) {
        ++wrong_;
        bytes.back() ^= 1;
    } else if (is_nth(faults_.swap)) {
        s.kept_back = std::move(bytes);
        bytes.clear();
    }
    if (!before.empty() && !bytes.empty()) ++reordered_;
    bytes += before;
    if (!bytes.empty()) send(s, bytes);
}

void broadcast_server::send(subscriber& s, std::string_view bytes) {
    const ssize_t n = ::send(s.fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    // One that reads nothing is no subscriber of a test.
    if (n != static_cast<ssize_t>(bytes.size())) close(s);
}

void broadcast_server::close(subscriber& s) {
    if (s.fd >= 0) ::close(s.fd);
    s.fd = -1;
}

nlohmann::ordered_json broadcast_server::what_was_done() const {
    return {{"schema", "truth-broadcast/1"},
            {"delay_ns", delay_},
            {"connections", subscribers_.size()},
            {"messages", messages_},
            {"deliveries", deliveries_},
            {"lost", lost_},
            {"doubled", doubled_},
            {"wrong", wrong_},
            {"reordered", reordered_},
            {"longest_ns", longest_}};
}

}  // namespace truth
