// Request bodies that come too slowly, though never standing still for long.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/server/router.hpp"

namespace wire::http::body_rate_test {

using namespace std::chrono_literals;
using testing::raw_peer;
using testing::served;

server_options slow_is_refused() {
    server_options o;
    o.limits.min_body_rate = 10'000;
    o.limits.body_rate_grace = 200ms;
    o.limits.body_timeout = 60s;
    return o;
}

router routes() {
    router r;
    r.get("/", [](response res) { res.send("hello"); });
    r.post("/whole", [](response res) { res.send(std::to_string(res.request().body().size())); });
    r.stream(method::post, "/pieces", [](response res, body_reader in) {
        auto n = std::make_shared<std::size_t>(0);
        in.read([n](std::string_view piece) { *n += piece.size(); },
                [n, res = std::move(res)](errc why) mutable {
                    res.send(std::string(to_string(why)) + " " + std::to_string(*n));
                });
    });
    return r;
}

std::string post(const std::string& path, std::size_t length) {
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) +
           "\r\n\r\n";
}

// A byte every 5 ms, some 200 a second, until the server has said something.
std::string trickle(raw_peer& p) {
    for (int i = 0; i < 4000; ++i) {
        p.send("x");
        pollfd heard{p.fd(), POLLIN, 0};
        if (::poll(&heard, 1, 5) > 0) break;
    }
    return p.response();
}

TEST(body_rate, too_slow_a_body_is_refused_while_others_are_served) {
    served s(routes(), slow_is_refused());
    for (const std::string path : {"/whole", "/pieces"}) {
        raw_peer slow(s.port());
        slow.send(post(path, 100'000));
        EXPECT_EQ(trickle(slow), "(close) 408 timed out\n") << path;
        raw_peer chunked(s.port());
        chunked.send("POST " + path +
                     " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n");
        raw_peer other(s.port());
        other.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(other.response(), "200 hello");
        EXPECT_EQ(trickle(chunked), "(close) 408 timed out\n") << path;
    }
}
TEST(body_rate, what_came_quickly_buys_time_and_the_next_request_begins_anew) {
    served s(routes(), slow_is_refused());
    raw_peer p(s.port());
    for (const std::string path : {"/whole", "/pieces"}) {
        p.send(post(path, 20'001) + std::string(20'000, 'x'));
        std::this_thread::sleep_for(400ms);  // of 2.2 s
        p.send("x");
        EXPECT_EQ(p.response(), path == "/whole" ? "200 20001" : "200 no error 20001");
    }
    std::this_thread::sleep_for(300ms);  // between requests nothing is counted
    p.send(post("/whole", 1) + "x");
    EXPECT_EQ(p.response(), "200 1");
}
TEST(body_rate, none_when_zero) {
    auto o = slow_is_refused();
    o.limits.min_body_rate = 0;
    served s(routes(), o);
    raw_peer p(s.port());
    p.send(post("/whole", 3) + "x");
    std::this_thread::sleep_for(300ms);
    p.send("x");
    std::this_thread::sleep_for(100ms);
    p.send("x");
    EXPECT_EQ(p.response(), "200 3");
}
TEST(body_rate, time_in_which_the_server_held_the_peer_back_does_not_count) {
    std::promise<body_reader> given;
    router r;
    r.stream(method::post, "/", [&](response res, body_reader in) {
        in.read(
            [in](std::string_view) mutable { in.pause(); },
            [res = std::move(res)](errc why) mutable { res.send(std::string(to_string(why))); });
        given.set_value(std::move(in));
    });
    served s(std::move(r), slow_is_refused());
    raw_peer p(s.port());
    p.send(post("/", 2) + "x");
    body_reader in = given.get_future().get();
    std::this_thread::sleep_for(600ms);  // three times the grace
    in.resume();
    std::this_thread::sleep_for(50ms);
    p.send("x");
    std::this_thread::sleep_for(400ms);
    in.resume();
    EXPECT_EQ(p.response(), "200 no error");
}
// Pausing after each piece buys the peer no time of its own.
TEST(body_rate, pauses_do_not_begin_the_count_anew) {
    router r;
    r.stream(method::post, "/", [&](response res, body_reader in) {
        in.read([in](std::string_view) mutable { in.pause(), in.resume(); },
                [res = std::move(res)](errc) mutable { res.send(); });
    });
    served s(std::move(r), slow_is_refused());
    raw_peer p(s.port());
    p.send(post("/", 100'000));
    EXPECT_EQ(trickle(p), "(close) 408 timed out\n");
}

}  // namespace wire::http::body_rate_test
