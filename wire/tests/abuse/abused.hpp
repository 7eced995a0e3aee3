// A server with small limits, a bound on its memory, and a well-behaved peer that must be served
// all the while.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <string>
#include <string_view>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/proto/ws_frame.hpp"
#include "wire/server/router.hpp"

namespace wire::testing {

using namespace std::chrono_literals;

inline std::size_t resident_kib() {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        if (word != "VmRSS:") continue;
        std::size_t kib = 0;
        status >> kib;
        return kib;
    }
    return 0;
}

inline http::server_options small_limits() {
    http::server_options o;
    o.limits.header_timeout = 300ms;
    o.limits.body_timeout = 300ms;
    o.limits.idle_timeout = 1000ms;
    o.limits.write_timeout = 300ms;
    o.limits.close_timeout = 300ms;
    o.limits.max_unsent_bytes = 64 * 1024;
    o.limits.max_body_bytes = 64 * 1024;
    o.limits.max_message_bytes = 64 * 1024;
    o.drain_timeout = 100ms;
    return o;
}

inline http::router hello_and_echo() {
    http::router routes;
    routes.get("/", [](http::response res) { res.send("hello"); });
    routes.post("/",
                [](http::response res) { res.send(std::to_string(res.request().body().size())); });
    routes.get("/big", [](http::response res) { res.send(std::string(256 * 1024, 'x')); });
    routes.websocket("/echo", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& from, ws::message m) { from.send(m); });
    });
    return routes;
}

constexpr std::string_view get_root = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view ask_for_websocket =
    "GET /echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

inline std::string frame(ws::opcode op, std::string_view payload, bool fin = true) {
    buffer out;
    ws::append_frame(out, op, payload, ws::mask_key{1, 2, 3, 4}, fin);
    return std::string(out.view());
}

// `text` over and over, `count` times.
inline std::string times(std::size_t count, std::string_view text) {
    std::string out;
    out.reserve(count * text.size());
    for (std::size_t i = 0; i < count; ++i) out += text;
    return out;
}

// Whether the connection is gone within 5 s. A peer that sends learns so even if it does not read.
inline bool hangs_up(raw_peer& p) {
    for (int i = 0; i < 500; ++i) {
        pollfd hung{p.fd(), 0, 0};
        if (::poll(&hung, 1, 10) > 0) return true;
        if (::send(p.fd(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN) return true;
    }
    return false;
}

class abuse : public ::testing::Test {
protected:
    explicit abuse(http::server_options options = small_limits(),
                   http::router routes = hello_and_echo())
        : server(std::move(routes), std::move(options)) {
        serves_others();
        before_ = resident_kib();
    }
    // Somebody else is answered while all this goes on, and how much memory the process has gained
    // is printed and bounded. (What attackers of the same process hold is part of it: they hold
    // little. Sanitizers keep what is freed: no bound there.)
    void serves_others() {
        raw_peer other(server.port());
        other.send(get_root);
        EXPECT_EQ(other.response(), "200 hello");
    }
    void expect_bounded(std::size_t most_kib) {
        serves_others();
        const std::size_t now = resident_kib();
        const std::size_t gained = now > before_ ? now - before_ : 0;
        std::printf("    VmRSS %zu KiB before, %zu KiB now: %zu KiB more; at most %zu\n", before_,
                    now, gained, most_kib);
#if !defined(WIRE_SANITIZED)
        EXPECT_LE(gained, most_kib);
#endif
    }
    // Peers by the hundred, in storage that does not move.
    std::deque<raw_peer> crowd(std::size_t n, std::string_view first = {}) {
        std::deque<raw_peer> out;
        for (std::size_t i = 0; i < n; ++i) {
            out.emplace_back(server.port());
            out.back().send(first);
        }
        return out;
    }

    served server;

private:
    std::size_t before_ = 0;
};

}  // namespace wire::testing
