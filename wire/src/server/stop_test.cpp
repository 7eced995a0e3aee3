// What handlers in progress hear when the server stops.
#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <future>
#include <optional>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/loop/stop.hpp"
#include "wire/server/coroutine.hpp"

namespace wire::http::stop_test {

using namespace std::chrono_literals;
using testing::get;
using testing::raw_peer;
using testing::served;

// The drain would take an hour if nobody heard of the stop.
server_options patient() {
    server_options o;
    o.drain_timeout = 1h;
    return o;
}

TEST(server_stop, a_streaming_coroutine_ends_its_body) {
    served s(
        [](response res) -> task<> {
            event_loop& loop = res.loop();
            const std::stop_token stopping = res.stop_token();
            EXPECT_FALSE(stopping.stop_requested());
            body_writer out = res.start_body();
            out.write("first ");
            while (co_await sleep_for(loop, 1h, stopping)) {}
            EXPECT_TRUE(stopping.stop_requested());
            out.write("last");
            out.finish();
        },
        patient());
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(p.exactly(9), "HTTP/1.1 ");
    s.ask_to_stop();
    const std::string all = p.rest();
    p.finish_sending();
    s.join();
    EXPECT_NE(all.find("\r\n\r\n6\r\nfirst \r\n4\r\nlast\r\n0\r\n\r\n"), std::string::npos) << all;
}
TEST(server_stop, a_callback_may_answer_a_request_that_waits) {
    struct waiting {
        explicit waiting(response r) : res(std::move(r)), on_stop(res.stop_token(), answer{this}) {}
        struct answer {
            waiting* to;
            void operator()() const { to->res.status(503).send("stopping"); }
        };
        response res;
        std::stop_callback<answer> on_stop;
    };
    std::optional<waiting> one;
    std::promise<void> waits;
    {
        served s(
            [&](response res) {
                one.emplace(std::move(res));
                waits.set_value();
            },
            patient());
        raw_peer p(s.port());
        p.send(get("/"));
        waits.get_future().wait();
        s.ask_to_stop();
        EXPECT_EQ(p.response(), "(close) 503 stopping");
        p.finish_sending();
        EXPECT_NE(p.head_text.find("\r\nConnection: close\r\n"), std::string::npos);
        s.join();
    }
    one.reset();
}
TEST(server_stop, a_connection_that_was_just_answered_may_ask_once_more) {
    std::promise<std::stop_token> given;
    served s(
        [&](response res) {
            if (res.request().path() == "/first") given.set_value(res.stop_token());
            res.send("hello");
        },
        patient());
    raw_peer p(s.port());
    p.send(get("/first"));
    EXPECT_EQ(p.response(), "200 hello");
    std::promise<void> stopping;
    const auto tell = [&] { stopping.set_value(); };
    const std::stop_callback on_stop(given.get_future().get(), tell);
    s.ask_to_stop();
    stopping.get_future().wait();
    pollfd readable{p.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, 50), 0);  // it is not closed
    p.send(get("/second"));
    EXPECT_EQ(p.response(), "(close) 200 hello");
    p.finish_sending();
    s.join();
}
// Their heads have left, and told nobody that the connection would end: what waits behind them is
// answered.
TEST(server_stop, requests_behind_an_answer_that_had_begun_to_leave_are_answered) {
    for (const std::string path : {"/large", "/body"}) {
        std::promise<std::stop_token> given;
        std::promise<body_writer> begun;
        server_options o = patient();
        o.limits.max_unsent_bytes = 1000;
        served s(
            [&](response res) {
                if (res.request().path() == "/next") return res.send("hello");
                given.set_value(res.stop_token());
                if (path == "/large") return res.send(std::string(32 << 20, 'x'));
                begun.set_value(res.start_body());
            },
            o);
        raw_peer p(s.port());
        p.send(get(path) + get("/next"));
        std::promise<void> stopping;
        const auto tell = [&] { stopping.set_value(); };
        const std::stop_callback on_stop(given.get_future().get(), tell);
        body_writer out;
        if (path == "/body") out = begun.get_future().get();
        s.ask_to_stop();
        stopping.get_future().wait();
        out.write("x");
        out.finish();
        EXPECT_EQ(p.response().substr(0, 5), "200 x") << path;
        EXPECT_EQ(p.response(), "(close) 200 hello") << path;
        p.finish_sending();
        s.join();
    }
}
TEST(server_stop, a_coroutine_need_not_wait_for_a_body) {
    std::promise<void> reads;
    router r;
    r.stream(method::post, "/", [&](response res, body_reader in) -> task<> {
        body_pieces pieces(res.loop(), std::move(in));
        const auto give_up = [&] { pieces.stop(); };
        const std::stop_callback on_stop(res.stop_token(), give_up);
        const auto first = co_await pieces.next();
        EXPECT_EQ(*first, "some");
        reads.set_value();
        const auto second = co_await pieces.next();
        EXPECT_EQ(second.code(), errc::stopped);
        res.status(503).send("stopping");
    });
    served s(std::move(r), patient());
    raw_peer p(s.port());
    p.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome");
    reads.get_future().wait();
    s.ask_to_stop();
    EXPECT_EQ(p.response(), "(close) 503 stopping");
    p.finish_sending();
    s.join();
}
TEST(server_stop, with_several_loops_too_and_tokens_outlive_the_server) {
    std::promise<std::stop_token> given;
    std::stop_token token;
    {
        server_options o = patient();
        o.loops = 2;
        served s(
            [&](response res) {
                given.set_value(res.stop_token());
                res.send("hello");
            },
            o);
        raw_peer p(s.port());
        p.send(get("/"));
        EXPECT_EQ(p.response(), "200 hello");
        token = given.get_future().get();
        EXPECT_FALSE(token.stop_requested());
    }
    EXPECT_TRUE(token.stop_requested());
}
TEST(server_stop, a_server_that_is_destroyed_without_a_drain_tells_too) {
    std::stop_token token;
    auto made = server::listen(0, [&](response res) {
        token = res.stop_token();
        res.send("hello");
    });
    ASSERT_TRUE(made) << made.error().message;
    std::optional<server> s(*std::move(made));
    raw_peer p(s->port());
    p.send(get("/"));
    while (!token.stop_possible()) s->run_once(10ms);
    EXPECT_FALSE(token.stop_requested());
    s.reset();
    EXPECT_TRUE(token.stop_requested());
}

}  // namespace wire::http::stop_test
