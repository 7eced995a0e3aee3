// Accepts TLS and passes the plain bytes on to a port of this machine: makes a TLS server of one
// that knows no TLS.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "certificates.hpp"
#include "wire/loop/socket.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::testing {

class tls_relay {
public:
    // `notice`: whether it sends close_notify when the other side has sent all.
    tls_relay(const certificates::files& mine, std::uint16_t to, bool notice = true)
        : to_(to), notice_(notice) {
        tls::server_options options;
        options.certificates = {{mine.certificate, mine.key}};
        context_ = *tls::server_context::create(options);
        fd_ = *listen_tcp(address::loopback_v4(0));
        port_ = local_address(fd_.get())->port();
        thread_ = std::thread([this] { accept_all(); });
    }
    ~tls_relay() {
        over_ = true;
        thread_.join();
        for (auto& t : carriers_) t.join();
    }
    std::uint16_t port() const { return port_; }

private:
    void accept_all() {
        while (!over_) {
            pollfd p{fd_.get(), POLLIN, 0};
            if (::poll(&p, 1, 20) != 1) continue;
            carriers_.emplace_back(
                [this, fd = ::accept(fd_.get(), nullptr, nullptr)] { carry(unique_fd(fd)); });
        }
    }
    void carry(unique_fd visitor) {
        const auto tls = *context_->accept();
        buffer out;
        auto to = connect_tcp(address::loopback_v4(to_));
        ASSERT_TRUE(to);
        pollfd fds[] = {{visitor.get(), POLLIN, 0}, {to->get(), POLLIN, 0}};
        std::array<char, 3000> raw;  // so that records are cut
        std::array<char, 5000> plain;
        while (!over_) {
            fds[1].events = tls->is_open() ? POLLIN : 0;
            if (::poll(fds, 2, 20) <= 0) continue;
            if (fds[0].revents != 0) {
                const auto n = ::recv(visitor.get(), raw.data(), raw.size(), 0);
                if (n <= 0) return;
                std::span<const char> left(raw.data(), static_cast<std::size_t>(n));
                for (bool again = true; again;) {
                    const bool was_open = tls->is_open();
                    const auto s = tls->receive(left, plain, out);
                    send(visitor.get(), out);
                    if (!s) return;
                    ::send(to->get(), plain.data(), s->produced, MSG_NOSIGNAL);
                    left = left.subspan(s->consumed);
                    again = s->produced == plain.size() || (!was_open && tls->is_open());
                }
                if (tls->has_ended()) return;
            }
            if (fds[1].revents != 0) {
                const auto n = ::recv(to->get(), raw.data(), raw.size(), 0);
                if (n > 0) {
                    (void)tls->send({raw.data(), static_cast<std::size_t>(n)}, out);
                } else if (notice_ && tls->is_open()) {
                    tls->finish(out);
                }
                send(visitor.get(), out);
                if (n <= 0) return;
            }
        }
    }
    static void send(int fd, buffer& out) {
        if (!out.empty()) ::send(fd, out.data(), out.size(), MSG_NOSIGNAL);
        out.clear();
    }

    std::uint16_t to_;
    bool notice_;
    std::shared_ptr<tls::server_context> context_;
    unique_fd fd_;
    std::uint16_t port_ = 0;
    std::atomic<bool> over_{false};
    std::vector<std::thread> carriers_;
    std::thread thread_;
};

}  // namespace wire::testing
