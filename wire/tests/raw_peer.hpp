// A blocking TCP peer that knows no protocol: it sends exactly what a test tells it to, and shows
// exactly what comes back.
#pragma once

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/loop/socket.hpp"
#include "wire/proto/http_parser.hpp"

namespace wire::testing {

class raw_peer {
public:
    explicit raw_peer(std::uint16_t port) {
        fd_ = unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const address to = address::loopback_v4(port);
        EXPECT_EQ(::connect(fd_.get(), to.raw(), to.size()), 0);
        const int on = 1;  // pieces must arrive as pieces
        ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }

    // Already connected, to whatever it is.
    explicit raw_peer(unique_fd connected) : fd_(std::move(connected)) {}

    void send(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) return;  // the other side may close while we talk
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    // Sends as much as goes within `ms` milliseconds of standstill; how much that was.
    std::size_t send_until_stuck(std::string_view bytes, int ms) {
        std::size_t sent = 0;
        while (sent < bytes.size()) {
            pollfd p{fd_.get(), POLLOUT, 0};
            if (::poll(&p, 1, ms) <= 0) break;
            const auto n = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n <= 0) break;
            sent += static_cast<std::size_t>(n);
        }
        return sent;
    }
    void finish_sending() { ::shutdown(fd_.get(), SHUT_WR); }
    // Closes at once; unread bytes make the kernel send a reset.
    void reset() {
        const linger now{1, 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        fd_.reset();
    }
    int fd() const { return fd_.get(); }

    // Everything up to the peer's end; "<reset>" or "<silence>" (10 s) is appended where there is
    // no orderly end.
    std::string rest() {
        while (receive()) {}
        std::string out(held_.view());
        held_.clear();
        return out + how_;
    }
    std::string exactly(std::size_t n) {
        while (held_.size() < n && receive()) {}
        std::string out(held_.view().substr(0, n));
        held_.consume(out.size());
        return out;
    }
    // The next response's head, to the empty line; less where the peer ended before.
    std::string head() {
        std::string out;
        while (!out.ends_with("\r\n\r\n")) {
            const std::string next = exactly(1);
            if (next.empty()) break;
            out += next;
        }
        return out;
    }
    // "STATUS body" of the next response, with " (close)" when it ends the connection; "<end>..."
    // when there is none.
    std::string response(http::method to = http::method::get) {
        head_text.clear();
        http::response_parser parser(limits_);
        parser.expect(to);
        http::response_head head;
        std::string body;
        std::string status;
        for (;;) {
            http::step s = parser.parse(held_.view(), head);
            if (s.what == http::event::head || s.what == http::event::interim) {
                status += std::to_string(head.status) + " ";
                head_text += held_.view().substr(0, s.consumed);
                if (s.what == http::event::head && !head.keep_alive) status = "(close) " + status;
            }
            if (s.what == http::event::body) body += s.data;
            held_.consume(s.consumed);
            if (s.what == http::event::end) return status + body;
            if (s.what == http::event::error)
                return "<error " + std::string(to_string(s.error)) + ">";
            if (s.what == http::event::need_more && !receive()) return "<end>" + how_;
        }
    }
    std::string head_text;  // of the last response

private:
    bool receive() {
        pollfd p{fd_.get(), POLLIN, 0};
        if (::poll(&p, 1, 10'000) == 0) {
            how_ = "<silence>";
            return false;
        }
        const auto space = held_.prepare(65536);
        const auto n = ::recv(fd_.get(), space.data(), space.size(), 0);
        if (n < 0) how_ = "<reset>";
        if (n <= 0) return false;
        held_.commit(static_cast<std::size_t>(n));
        return true;
    }

    unique_fd fd_;
    buffer held_;
    std::string how_;
    limits limits_ = [] {
        limits l;
        l.max_body_bytes = 1ULL << 30;
        return l;
    }();
};

}  // namespace wire::testing
