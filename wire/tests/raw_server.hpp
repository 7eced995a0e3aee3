// A server that knows no protocol: it sends what a test tells it to, whatever it is asked.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <string_view>
#include <thread>

#include "wire/loop/socket.hpp"

namespace wire::testing {

// One accepted connection.
class raw_visitor {
public:
    explicit raw_visitor(int fd) : fd_(fd) {}
    // Everything received up to and with the empty line; "" when the peer closed.
    std::string request() {
        std::string text;
        char c;
        while (text.find("\r\n\r\n") == std::string::npos) {
            pollfd p{fd_.get(), POLLIN, 0};
            if (::poll(&p, 1, 10'000) <= 0 || ::recv(fd_.get(), &c, 1, 0) <= 0) return "";
            text += c;
        }
        return text;
    }
    // Waits until the peer has gone; false when it sends something, or stays for 10 s.
    bool is_left() {
        char c;
        pollfd p{fd_.get(), POLLIN, 0};
        return ::poll(&p, 1, 10'000) == 1 && ::recv(fd_.get(), &c, 1, 0) <= 0;
    }
    void send(std::string_view bytes) {
        EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    // Carries bytes both ways, as a proxy does, until either side ends.
    void carry_to(std::uint16_t port) {
        auto to = connect_tcp(address::loopback_v4(port));
        ASSERT_TRUE(to);
        pollfd fds[] = {{fd(), POLLIN, 0}, {to->get(), POLLIN, 0}};
        char bytes[4096];
        while (::poll(fds, 2, 10'000) > 0) {
            for (int i = 0; i < 2; ++i) {
                if (fds[i].revents == 0) continue;
                const auto n = ::recv(fds[i].fd, bytes, sizeof bytes, 0);
                if (n <= 0) return;
                ::send(fds[1 - i].fd, bytes, static_cast<std::size_t>(n), MSG_NOSIGNAL);
            }
        }
    }
    void reset() {
        const linger now{1, 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
        fd_.reset();
    }
    int fd() const { return fd_.get(); }

private:
    unique_fd fd_;
};

// Runs `behaviour(server)` on a thread; accept() in it waits for the next connection.
class raw_server {
public:
    template <typename F> explicit raw_server(F behaviour) {
        auto listening = listen_tcp(address::loopback_v4(0));
        EXPECT_TRUE(listening);
        fd_ = *std::move(listening);
        port_ = local_address(fd_.get())->port();
        thread_ = std::thread([this, behaviour] { behaviour(*this); });
    }
    ~raw_server() { finish(); }
    // Waits for its end: before one looks at what it has written.
    void finish() {
        if (thread_.joinable()) thread_.join();
    }

    raw_visitor accept() {
        pollfd p{fd_.get(), POLLIN, 0};
        EXPECT_EQ(::poll(&p, 1, 10'000), 1);
        return raw_visitor(::accept(fd_.get(), nullptr, nullptr));
    }
    // For a connection that must not come.
    bool anyone(int ms) {
        pollfd p{fd_.get(), POLLIN, 0};
        return ::poll(&p, 1, ms) == 1;
    }
    std::uint16_t port() const { return port_; }
    std::string url(std::string_view path = "/", std::string_view scheme = "http") const {
        return std::string(scheme) + "://127.0.0.1:" + std::to_string(port_) + std::string(path);
    }

private:
    unique_fd fd_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

}  // namespace wire::testing
