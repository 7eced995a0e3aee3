// A SOCKS5 proxy that carries to a port of this machine, whatever it is asked for.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "wire/loop/socket.hpp"

namespace wire::testing {

class socks5_proxy {
public:
    struct wishes {
        std::string user = {};  // must be shown, with the password, unless it is empty
        std::string password = {};
        bool in_single_bytes = false;
        std::vector<std::string> unreachable = {};  // "host:port"
    };

    explicit socks5_proxy(std::uint16_t to) : socks5_proxy(to, wishes()) {}
    socks5_proxy(std::uint16_t to, wishes w) : to_(to), wishes_(std::move(w)) {
        fd_ = *listen_tcp(address::loopback_v4(0));
        port_ = local_address(fd_.get())->port();
        thread_ = std::thread([this] { accept_all(); });
    }
    ~socks5_proxy() {
        over_ = true;
        thread_.join();
        for (auto& t : carriers_) t.join();
    }
    std::uint16_t port() const { return port_; }
    std::string url(const std::string& scheme, const std::string& user = "") const {
        return scheme + "://" + user + "127.0.0.1:" + std::to_string(port_);
    }
    // "host:port " of each request, in their order.
    std::string asked_for() {
        const std::lock_guard lock(mutex_);
        return asked_for_;
    }

private:
    void accept_all() {
        while (!over_) {
            pollfd p{fd_.get(), POLLIN, 0};
            if (::poll(&p, 1, 20) != 1) continue;
            carriers_.emplace_back(
                [this, fd = ::accept(fd_.get(), nullptr, nullptr)] { serve(unique_fd(fd)); });
        }
    }
    void serve(unique_fd visitor) {
        const int fd = visitor.get();
        if (!greet(fd)) return;
        const std::string head = take(fd, 4);
        if (head.size() < 4) return;
        EXPECT_EQ(head.substr(0, 3), std::string("\5\1\0", 3));
        const std::string host = destination(fd, head[3]);
        const std::string port = take(fd, 2);
        if (port.size() < 2) return;
        const std::string at = host + ":" +
                               std::to_string(static_cast<unsigned char>(port[0]) * 256 +
                                              static_cast<unsigned char>(port[1]));
        {
            const std::lock_guard lock(mutex_);
            asked_for_ += at + " ";
        }
        const bool good = std::find(wishes_.unreachable.begin(), wishes_.unreachable.end(), at) ==
                          wishes_.unreachable.end();
        send(fd, std::string(good ? "\5\0\0\1" : "\5\4\0\1", 4) + std::string(6, '\0'));
        if (good) carry(fd);
    }
    bool greet(int fd) {
        const std::string head = take(fd, 2);
        if (head.size() < 2) return false;
        EXPECT_EQ(head[0], 5);
        const std::string offered = take(fd, static_cast<unsigned char>(head[1]));
        const char wanted = wishes_.user.empty() ? 0 : 2;
        if (offered.find(wanted) == std::string::npos) {
            send(fd, "\5\xFF");
            return false;
        }
        send(fd, std::string("\5") + wanted);
        if (wanted == 0) return true;
        EXPECT_EQ(take(fd, 1), "\1");
        const bool good = take_text(fd) == wishes_.user && take_text(fd) == wishes_.password;
        send(fd, std::string("\1") + (good ? '\0' : '\1'));
        return good;
    }
    std::string destination(int fd, char kind) {
        if (kind == 3) return take_text(fd);
        const std::string bytes = take(fd, kind == 1 ? 4 : 16);
        sockaddr_in v4{};
        sockaddr_in6 v6{};
        v4.sin_family = AF_INET;
        v6.sin6_family = AF_INET6;
        std::copy(bytes.begin(), bytes.end(),
                  kind == 1 ? reinterpret_cast<char*>(&v4.sin_addr)
                            : reinterpret_cast<char*>(&v6.sin6_addr));
        if (kind == 1) return address::from(reinterpret_cast<sockaddr*>(&v4)).host();
        return "[" + address::from(reinterpret_cast<sockaddr*>(&v6)).host() + "]";
    }
    void carry(int visitor) {
        auto to = connect_tcp(address::loopback_v4(to_));
        ASSERT_TRUE(to);
        pollfd fds[] = {{visitor, POLLIN, 0}, {to->get(), POLLIN, 0}};
        char bytes[4096];
        while (!over_) {
            if (::poll(fds, 2, 20) <= 0) continue;
            for (int i = 0; i < 2; ++i) {
                if (fds[i].revents == 0) continue;
                const auto n = ::recv(fds[i].fd, bytes, sizeof bytes, 0);
                if (n <= 0) return;
                ::send(fds[1 - i].fd, bytes, static_cast<std::size_t>(n), MSG_NOSIGNAL);
            }
        }
    }
    std::string take_text(int fd) {
        const std::string size = take(fd, 1);
        return size.empty() ? "" : take(fd, static_cast<unsigned char>(size[0]));
    }
    // Less where the visitor has gone.
    std::string take(int fd, std::size_t n) {
        std::string out;
        char c;
        while (out.size() < n && !over_) {
            pollfd p{fd, POLLIN, 0};
            if (::poll(&p, 1, 20) != 1) continue;
            if (::recv(fd, &c, 1, 0) != 1) break;
            out += c;
        }
        return out;
    }
    void send(int fd, std::string_view bytes) {
        const std::size_t step = wishes_.in_single_bytes ? 1 : bytes.size();
        for (std::size_t at = 0; at < bytes.size(); at += step) {
            ::send(fd, bytes.data() + at, step, MSG_NOSIGNAL);
            if (wishes_.in_single_bytes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    std::uint16_t to_;
    wishes wishes_;
    unique_fd fd_;
    std::uint16_t port_ = 0;
    std::atomic<bool> over_{false};
    std::mutex mutex_;
    std::string asked_for_;
    std::vector<std::thread> carriers_;
    std::thread thread_;
};

}  // namespace wire::testing
