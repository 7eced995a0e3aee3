// Peers that take a response too slowly, though never standing still for long.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "scratch_folder.hpp"
#include "wire/server/metrics.hpp"
#include "wire/server/router.hpp"
#include "wire/server/send_file.hpp"
#include "wire/server/server.hpp"

namespace wire::http::send_rate_test {

using namespace std::chrono_literals;
using testing::get;
using testing::raw_peer;

constexpr std::size_t large = 4'000'000;

// `file` has `large` bytes.
router routes(const std::string& file) {
    router r;
    r.get("/memory", [](response res) { res.send(std::string(large, 'x')); });
    r.get("/pieces", [](response res) {
        auto out = std::make_shared<body_writer>(res.start_body());
        auto left = std::make_shared<std::size_t>(large);
        const auto fill = [out, left] {
            while (*left > 0) {
                *left -= 10'000;
                if (!out->write(std::string(10'000, 'x'))) return;
            }
            out->finish();
        };
        out->on_drained(fill);
        fill();
    });
    r.get("/file", [file](response res) { res.send_file(file); });
    r.websocket("/socket", [](ws::session& s, const request&) {
        const auto fill = [](ws::session& to) {
            while (to.send(std::string(10'000, 'x'))) {}
        };
        s.on_drained(fill);
        fill(s);
    });
    return r;
}

// A server whose sockets, and clients' of it, have small buffers: they are full soon, and a peer
// that takes slowly frees room in small steps.
class slow_server {
public:
    slow_server(std::uint32_t rate, router r) {
        auto listening = *listen_tcp(address::loopback_v4(0));
        const int small = 4096;
        EXPECT_EQ(::setsockopt(listening.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
        EXPECT_EQ(::setsockopt(listening.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
        server_options o;
        o.limits.min_send_rate = rate;
        o.limits.send_rate_grace = 200ms;
        o.limits.write_timeout = 1s;
        o.limits.max_unsent_bytes = 50'000;
        o.metrics = counts;
        std::vector<unique_fd> sockets;
        sockets.push_back(std::move(listening));
        auto made = server::listen(std::move(sockets), std::move(r), o);
        EXPECT_TRUE(made);
        server_.emplace(*std::move(made));
        port = server_->port();
        thread_ = std::thread([this] { server_->run(); });
    }
    ~slow_server() {
        server_->stop();
        thread_.join();
    }
    bool timed_out() const {
        return counts->text().find("wire_timeouts_total{phase=\"write\"} 1\n") != std::string::npos;
    }
    std::uint16_t port = 0;
    std::shared_ptr<metrics> counts = std::make_shared<metrics>();

private:
    std::optional<server> server_;
    std::thread thread_;
};

// Connected, with a small window.
raw_peer small_peer(std::uint16_t port) {
    unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int small = 4096;
    EXPECT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    const address to = address::loopback_v4(port);
    EXPECT_EQ(::connect(fd.get(), to.raw(), to.size()), 0);
    return raw_peer(std::move(fd));
}

// Takes 1,000 bytes every 5 ms, some 200 KB a second, for `longest` or until the end; false when
// the connection was reset.
bool sip(const raw_peer& p, std::chrono::milliseconds longest) {
    const auto until = std::chrono::steady_clock::now() + longest;
    char bytes[1000];
    while (std::chrono::steady_clock::now() < until) {
        if (::recv(p.fd(), bytes, sizeof bytes, 0) < 0) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

std::string ask(const std::string& path) {
    return get(path, path == "/socket" ? "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                         "Sec-WebSocket-Version: 13\r\n"
                                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                       : "");
}

class send_rate : public ::testing::Test {
protected:
    send_rate() { std::ofstream(file_) << std::string(large, 'x'); }
    testing::scratch_folder folder_;
    const std::string file_ = folder_.file("large");
    const std::vector<std::string> all_{"/memory", "/pieces", "/file", "/socket"};
};

TEST_F(send_rate, a_peer_that_takes_too_slowly_is_given_up) {
    for (const std::string& path : all_) {
        slow_server s(10'000'000, routes(file_));
        raw_peer p = small_peer(s.port);
        p.send(ask(path));
        EXPECT_FALSE(sip(p, 10s)) << path;
        EXPECT_TRUE(s.timed_out()) << path;
    }
}
TEST_F(send_rate, none_when_zero_and_a_peer_that_is_fast_enough_is_served) {
    for (const std::uint32_t rate : {0U, 10'000U}) {
        for (const std::string& path : all_) {
            slow_server s(rate, routes(file_));
            raw_peer p = small_peer(s.port);
            p.send(ask(path));
            EXPECT_TRUE(sip(p, 1500ms)) << path;
            EXPECT_FALSE(s.timed_out()) << path;
        }
    }
}
// Not even beside a rate that nobody can have.
TEST_F(send_rate, time_in_which_nothing_waits_does_not_count) {
    std::promise<body_writer> started;
    router r;
    r.get("/", [&](response res) { started.set_value(res.start_body()); });
    slow_server s(4'000'000'000, std::move(r));
    raw_peer p = small_peer(s.port);
    p.send(get("/"));
    body_writer out = started.get_future().get();
    for (int i = 0; i < 6; ++i) {
        EXPECT_TRUE(out.write("tick "));
        std::this_thread::sleep_for(250ms);  // longer than the grace
    }
    out.finish();
    EXPECT_EQ(p.response(), "200 tick tick tick tick tick tick ");
    EXPECT_FALSE(s.timed_out());
}

}  // namespace wire::http::send_rate_test
