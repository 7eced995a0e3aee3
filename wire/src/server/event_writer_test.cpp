// Streams of events over real sockets.
#include "wire/server/event_writer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "event_reader.hpp"
#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"

namespace wire::http::event_writer_test {

using namespace std::chrono_literals;
using testing::event_reader;
using testing::get;
using testing::raw_peer;
using testing::served;

// Keeps the streams of a server until its thread has ended.
using streams = std::vector<std::shared_ptr<event_writer>>;

TEST(event_writer, sends_events_until_it_is_finished) {
    served s([](response res) {
        const std::string since(last_event_id(res.request()).value_or("the beginning"));
        event_writer out(std::move(res));
        EXPECT_TRUE(out.is_open());
        EXPECT_TRUE(out.send({.data = "since " + since, .type = "hello", .id = "1"}));
        EXPECT_TRUE(out.comment("not for you"));
        EXPECT_FALSE(out.send({.data = "x", .id = "a\nb"}));
        EXPECT_TRUE(out.send({.data = "two\nlines"}));
        out.finish();
        EXPECT_FALSE(out.is_open());
        EXPECT_FALSE(out.send({.data = "too late"}));
        EXPECT_FALSE(out.comment("too late"));
    });
    raw_peer p(s.port());
    for (const auto& [fields, since] :
         {std::pair("", "since the beginning"), std::pair("Last-Event-ID: 41\r\n", "since 41")}) {
        p.send("GET / HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n");
        const std::string got = p.response();
        ASSERT_EQ(got.substr(0, 4), "200 ");
        event_reader reader;
        reader.read(std::string_view(got).substr(4));
        ASSERT_EQ(reader.events.size(), 2U);
        EXPECT_EQ(reader.events[0].type, "hello");
        EXPECT_EQ(reader.events[0].data, since);
        EXPECT_EQ(reader.events[1].data, "two\nlines");
        EXPECT_EQ(reader.last_id, "1");
        for (const std::string line : {"Content-Type: text/event-stream", "Cache-Control: no-store",
                                       "X-Accel-Buffering: no"})
            EXPECT_NE(p.head_text.find("\r\n" + line + "\r\n"), std::string::npos) << line;
    }
}
TEST(event_writer, is_over_where_no_body_may_follow) {
    std::atomic<int> ended{0};
    streams kept;  // for longer than the connection
    served s([&](response res) {
        const bool is_head = res.request().method() == method::head;
        if (!is_head) res.status(204);
        event_writer out(std::move(res));
        EXPECT_FALSE(out.is_open());
        EXPECT_FALSE(out.send({.data = "nobody reads it"}));
        out.on_closed([&] { ++ended; });
        kept.push_back(std::make_shared<event_writer>(std::move(out)));
    });
    raw_peer p(s.port());
    p.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/") + get("/"));
    EXPECT_EQ(p.response(method::head), "200 ");
    EXPECT_EQ(p.response(), "204 ");
    EXPECT_EQ(p.response(), "204 ");
    EXPECT_EQ(ended, 3);
}
TEST(event_writer, a_silent_stream_has_heartbeats) {
    streams kept;
    served s([&](response res) {
        kept.push_back(
            std::make_shared<event_writer>(std::move(res), event_options{.heartbeat = 20ms}));
    });
    raw_peer p(s.port());
    p.send(get("/"));
    std::string got;
    while (got.find("3\r\n:\n\n\r\n3\r\n:\n\n\r\n") == std::string::npos) {
        const std::string more = p.exactly(1);
        ASSERT_FALSE(more.empty()) << got;
        got += more;
    }
    p.finish_sending();
    s.stop();
}
TEST(event_writer, heartbeats_may_be_a_long_time_apart) {
    const event_options never{.heartbeat = std::chrono::milliseconds::max()};
    streams kept;
    served s([&](response res) {
        kept.push_back(std::make_shared<event_writer>(std::move(res), never));
    });
    raw_peer p(s.port());
    p.send(get("/"));
    std::this_thread::sleep_for(30ms);
    p.finish_sending();
    s.stop();
    EXPECT_EQ(p.rest().find("\r\n:\n"), std::string::npos);
}
TEST(event_writer, lets_go_of_its_callbacks_at_the_end) {
    for (const bool client_goes : {true, false}) {
        std::weak_ptr<event_writer> left;
        std::promise<void> ended;
        served s([&](response res) {
            auto one = std::make_shared<event_writer>(std::move(res));
            left = one;
            one->on_drained([one] {});
            one->on_closed([&, one] {
                one->on_drained([one] {});  // too late
                ended.set_value();
            });
            one->send({.data = "hello"});
        });
        raw_peer p(s.port());
        p.send(get("/"));
        p.head();
        if (client_goes) {
            p.reset();
            ended.get_future().wait();
        } else {
            p.finish_sending();
            s.ask_to_stop();
            EXPECT_TRUE(p.rest().ends_with("\r\n0\r\n\r\n"));
        }
        s.stop();
        EXPECT_TRUE(left.expired()) << client_goes;
    }
}
TEST(event_writer, tells_that_the_client_has_gone) {
    streams kept;
    std::promise<void> gone;
    served s([&](response res) {
        // A peer that only sends no more looks alike until it is written to.
        auto one = std::make_shared<event_writer>(std::move(res), event_options{.heartbeat = 20ms});
        one->send({.data = "hello"});
        one->on_closed([&, self = one.get()] {
            EXPECT_FALSE(self->is_open());
            kept.clear();  // destroys it
            gone.set_value();
        });
        kept.push_back(std::move(one));
    });
    {
        raw_peer p(s.port());
        p.send(get("/"));
        EXPECT_EQ(p.exactly(15), "HTTP/1.1 200 OK");
    }
    gone.get_future().wait();
}
TEST(event_writer, ends_in_order_when_the_server_stops) {
    server_options options;
    options.drain_timeout = 1h;
    streams kept;
    std::promise<void> told;
    served s(
        [&](response res) {
            kept.push_back(std::make_shared<event_writer>(std::move(res)));
            kept.back()->send({.data = "hello"});
            kept.back()->on_closed([&] { told.set_value(); });
        },
        options);
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(p.exactly(15), "HTTP/1.1 200 OK");
    s.ask_to_stop();
    const std::string rest = p.rest();
    EXPECT_NE(rest.find("data: hello\n\n\r\n0\r\n\r\n"), std::string::npos) << rest;
    told.get_future().wait();
    p.finish_sending();
    s.join();
    EXPECT_FALSE(kept.back()->is_open());
    EXPECT_FALSE(kept.back()->send({.data = "too late"}));
}
// The end of a response begins the next request where that has come already, and its handler may
// destroy the writer whose end that is.
TEST(event_writer, may_be_replaced_while_it_is_finished) {
    std::unique_ptr<event_writer> kept;
    served s([&](response res) {
        event_loop& loop = res.loop();
        const bool is_first = kept == nullptr;
        kept = std::make_unique<event_writer>(std::move(res));
        if (is_first) loop.post([&kept] { kept->finish(); });
    });
    raw_peer p(s.port());
    p.send(get("/") + get("/"));
    EXPECT_EQ(p.response(), "200 ");
    EXPECT_EQ(p.exactly(15), "HTTP/1.1 200 OK");
    p.finish_sending();
    s.stop();
    EXPECT_FALSE(kept->is_open());
}
TEST(event_writer, may_be_replaced_while_the_server_stops) {
    std::unique_ptr<event_writer> kept;
    served s([&](response res) { kept = std::make_unique<event_writer>(std::move(res)); });
    raw_peer p(s.port());
    p.send(get("/") + get("/"));
    EXPECT_EQ(p.exactly(15), "HTTP/1.1 200 OK");
    s.ask_to_stop();
    const std::string rest = p.rest();
    EXPECT_NE(rest.find("\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"), std::string::npos) << rest;
    p.finish_sending();
    s.join();
    EXPECT_FALSE(kept->is_open());
}
TEST(event_writer, a_client_that_does_not_read_is_waited_for) {
    server_options options;
    options.limits.max_unsent_bytes = 100'000;
    streams kept;
    std::promise<std::size_t> congested;
    std::promise<void> drained;
    served s(
        [&](response res) {
            // Heartbeats must not add to what waits.
            auto one =
                std::make_shared<event_writer>(std::move(res), event_options{.heartbeat = 1ms});
            one->on_drained([&] {
                drained.set_value();
                kept.back()->finish();
            });
            std::size_t sent = 1;
            while (one->send({.data = std::string(10'000, 'x')})) ++sent;
            EXPECT_TRUE(one->is_open());
            kept.push_back(std::move(one));
            congested.set_value(sent);
        },
        options);
    raw_peer p(s.port());
    p.send(get("/"));
    const std::size_t sent = congested.get_future().get();
    std::this_thread::sleep_for(20ms);
    const std::string got = p.response();
    drained.get_future().wait();
    event_reader reader;
    reader.read(std::string_view(got).substr(4));
    EXPECT_EQ(reader.events.size(), sent);
}
TEST(event_writer, may_outlive_its_server) {
    streams kept;
    {
        served s(
            [&](response res) { kept.push_back(std::make_shared<event_writer>(std::move(res))); });
        raw_peer p(s.port());
        p.send(get("/"));
        EXPECT_EQ(p.exactly(15), "HTTP/1.1 200 OK");
    }
    EXPECT_FALSE(kept.back()->send({.data = "to nobody"}));
    EXPECT_FALSE(kept.back()->comment("to nobody"));
    bool told = false;
    kept.back()->on_closed([&] { told = true; });
    EXPECT_TRUE(told);
    kept.clear();
}

}  // namespace wire::http::event_writer_test
