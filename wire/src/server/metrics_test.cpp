#include "wire/server/metrics.hpp"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <sstream>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/server/router.hpp"
#include "ws_peer.hpp"

namespace wire::http::metrics_test {

using namespace std::chrono_literals;

// "name{labels}" to value; fails what is not the exposition format.
std::map<std::string, std::string> parsed(const std::string& text) {
    std::map<std::string, std::string> out;
    std::istringstream in(text);
    std::string name;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("# HELP ")) name = line.substr(7, line.find(' ', 7) - 7);
        if (line.starts_with("#")) {
            EXPECT_NE(line.find(name), std::string::npos) << line;
            continue;
        }
        const auto space = line.rfind(' ');
        EXPECT_TRUE(line.starts_with(name)) << line;
        EXPECT_NO_THROW(std::stod(line.substr(space + 1))) << line;
        EXPECT_TRUE(out.emplace(line.substr(0, space), line.substr(space + 1)).second)
            << "twice: " << line;
    }
    EXPECT_TRUE(text.ends_with("\n"));
    return out;
}
std::map<std::string, std::string> wait_for(const metrics& m, const std::string& name,
                                            const std::string& value) {
    for (int i = 0; i < 1000; ++i) {
        auto now = parsed(m.text());
        if (now[name] == value) return now;
        std::this_thread::sleep_for(5ms);
    }
    ADD_FAILURE() << name << " does not become " << value << "\n" << m.text();
    return parsed(m.text());
}

TEST(metrics, requests_over_all_loops) {
    const auto counts = std::make_shared<metrics>();
    server_options options;
    options.metrics = counts;
    options.loops = 3;
    router r;
    r.get("/a", [](response res) { res.send("hello"); });
    r.get("/metrics",
          [counts](response res) { res.content_type(metrics::content_type).send(counts->text()); });
    testing::served s(std::move(r), options);
    std::list<testing::raw_peer> peers;
    for (int i = 0; i < 10; ++i) {
        auto& p = peers.emplace_back(s.port());
        p.send(
            "GET /a HTTP/1.1\r\nHost: a\r\n\r\nPUT /a HTTP/1.1\r\nHost: a\r\n\r\nBREW /x "
            "HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(p.response(), "200 hello");
        EXPECT_EQ(p.response(), "405 Method Not Allowed\n");
        EXPECT_EQ(p.response(), "501 Not Implemented\n");
    }
    peers.front().send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    const std::string answer = peers.front().response();
    EXPECT_NE(
        peers.front().head_text.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
        std::string::npos);
    auto now = parsed(answer.substr(4));
    EXPECT_EQ(now["wire_connections_open"], "10");
    EXPECT_EQ(now["wire_connections_accepted_total"], "10");
    EXPECT_EQ(now["wire_requests_total{method=\"GET\",status=\"2xx\"}"], "10");
    EXPECT_EQ(now["wire_requests_total{method=\"PUT\",status=\"4xx\"}"], "10");
    EXPECT_EQ(now["wire_requests_total{method=\"other\",status=\"5xx\"}"], "10");
    EXPECT_EQ(now["wire_request_duration_seconds_count"], "30");
    EXPECT_EQ(now["wire_request_duration_seconds_bucket{le=\"+Inf\"}"], "30");
    EXPECT_TRUE(now.contains("wire_request_duration_seconds_bucket{le=\"0.0005\"}"));
    EXPECT_EQ(now["wire_received_bytes_total"], std::to_string(10 * (28 + 28 + 29)));
    peers.clear();
    now = wait_for(*counts, "wire_connections_open", "0");
    EXPECT_EQ(now["wire_requests_total{method=\"GET\",status=\"2xx\"}"], "11");
}
TEST(metrics, limits_and_timeouts) {
    const auto counts = std::make_shared<metrics>();
    server_options options;
    options.metrics = counts;
    options.limits.max_connections = 1;
    options.limits.header_timeout = 50ms;
    options.limits.idle_timeout = 100ms;
    testing::served s([](response res) { res.send("x"); }, options);
    const auto once = [&](const std::string& text) {
        wait_for(*counts, "wire_connections_open", "0");
        testing::raw_peer p(s.port());
        p.send(text);
        p.finish_sending();
        return p.response();
    };
    EXPECT_EQ(once("GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n").substr(0, 12),
              "(close) 414 ");
    EXPECT_EQ(once("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(20000, 'x') + "\r\n\r\n")
                  .substr(0, 12),
              "(close) 431 ");
    std::string many;
    for (int i = 0; i < 200; ++i) many += "X: y\r\n";
    EXPECT_EQ(once("GET / HTTP/1.1\r\nHost: a\r\n" + many + "\r\n").substr(0, 12), "(close) 431 ");
    EXPECT_EQ(once("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n").substr(0, 12),
              "(close) 413 ");
    wait_for(*counts, "wire_connections_open", "0");
    {
        testing::raw_peer p(s.port());
        p.send("GET / HT");
        EXPECT_EQ(p.response().substr(0, 12), "(close) 408 ");
    }
    wait_for(*counts, "wire_connections_open", "0");
    testing::raw_peer idle(s.port());
    wait_for(*counts, "wire_connections_open", "1");
    EXPECT_EQ(testing::raw_peer(s.port()).rest(), "");  // one too many
    EXPECT_EQ(idle.rest(), "");
    auto now = wait_for(*counts, "wire_connections_open", "0");
    EXPECT_EQ(now["wire_limits_total{limit=\"max_uri_bytes\"}"], "1");
    EXPECT_EQ(now["wire_limits_total{limit=\"max_header_bytes\"}"], "1");
    EXPECT_EQ(now["wire_limits_total{limit=\"max_headers\"}"], "1");
    EXPECT_EQ(now["wire_limits_total{limit=\"max_body_bytes\"}"], "1");
    EXPECT_EQ(now["wire_timeouts_total{phase=\"head\"}"], "1");
    EXPECT_EQ(now["wire_timeouts_total{phase=\"idle\"}"], "1");
    EXPECT_EQ(now["wire_connections_refused_total{reason=\"max_connections\"}"], "1");
}
// With io_uring the process has descriptors left when a loop's table of sockets is full.
TEST(metrics, connections_that_a_loop_cannot_hold) {
    server_options options;
    options.loop = {.engine = loop_engine::io_uring, .max_streams = 1};
    if (const auto loop = event_loop::create(options.loop); !loop)
        GTEST_SKIP() << loop.error().message;
    const auto counts = std::make_shared<metrics>();
    options.metrics = counts;
    testing::served s([](response res) { res.send("x"); }, options);
    testing::raw_peer held(s.port());
    held.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(held.response(), "200 x");
    EXPECT_EQ(testing::raw_peer(s.port()).rest(), "");
    auto now = wait_for(*counts, "wire_connections_refused_total{reason=\"max_connections\"}", "1");
    EXPECT_EQ(now["wire_connections_open"], "1");
}
TEST(metrics, websockets) {
    const auto counts = std::make_shared<metrics>();
    server_options options;
    options.metrics = counts;
    router r;
    r.websocket("/", [](ws::session& s, const request&) {
        s.on_message([](ws::session& s, ws::message m) {
            s.send(m);
            s.send_now(m.data);
        });
    });
    testing::served s(std::move(r), options);
    {
        testing::ws_peer p(s.port());
        p.send(testing::frame(ws::opcode::text, "x") + testing::frame(ws::opcode::ping, ""));
        EXPECT_EQ(p.next(), "1 x");
        EXPECT_EQ(p.next(), "1 x");
        EXPECT_EQ(p.next(), "10 ");
        auto now = wait_for(*counts, "wire_websocket_sessions_open", "1");
        EXPECT_EQ(now["wire_requests_total{method=\"GET\",status=\"1xx\"}"], "");
    }
    auto now = wait_for(*counts, "wire_websocket_sessions_open", "0");
    EXPECT_EQ(now["wire_requests_total{method=\"GET\",status=\"1xx\"}"], "1");
    EXPECT_EQ(now["wire_websocket_sessions_total"], "1");
    EXPECT_EQ(now["wire_websocket_messages_total{direction=\"received\"}"], "1");
    EXPECT_EQ(now["wire_websocket_messages_total{direction=\"sent\"}"], "2");
}
TEST(handler_timeout, answers_503_and_a_late_send_does_nothing) {
    const auto counts = std::make_shared<metrics>();
    server_options options;
    options.metrics = counts;
    options.limits.handler_timeout = 50ms;
    std::mutex mutex;
    std::vector<response> kept;
    router r;
    r.add(method::get, "/slow", [&](response res) {
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(res));
    });
    r.get("/begun", [&](response res) {
        std::thread([out = res.start_body(5)]() mutable {
            out.write("ab");
            std::this_thread::sleep_for(150ms);
            out.write("cde");
            out.finish();
        }).detach();
    });
    r.get("/quick", [](response res) { res.send("fine"); });
    testing::served s(std::move(r), options);
    testing::raw_peer p(s.port());
    testing::raw_peer begun(s.port());
    testing::raw_peer head(s.port());
    begun.send("GET /begun HTTP/1.1\r\nHost: a\r\n\r\n");
    head.send("HEAD /slow HTTP/1.1\r\nHost: a\r\n\r\n");
    p.send("GET /quick HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "200 fine");
    p.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /quick HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "(close) 503 Service Unavailable\n");
    EXPECT_EQ(head.response(method::head), "(close) 503 ");
    EXPECT_EQ(begun.response(), "200 abcde");
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
    {
        const std::lock_guard lock(mutex);
        ASSERT_EQ(kept.size(), 2U);
        EXPECT_EQ(kept[0].request().path(), "/slow");
        for (auto& res : kept) res.send("too late");
    }
    auto now = parsed(counts->text());
    EXPECT_EQ(now["wire_timeouts_total{phase=\"handler\"}"], "2");
    EXPECT_EQ(now["wire_requests_total{method=\"GET\",status=\"5xx\"}"], "1");
    testing::raw_peer q(s.port());
    q.send("GET /quick HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(q.response(), "200 fine");
}
TEST(max_connections_per_address, over_all_loops) {
    const auto counts = std::make_shared<metrics>();
    server_options options;
    options.metrics = counts;
    options.loops = 2;
    options.limits.max_connections_per_address = 3;
    testing::served s([](response res) { res.send("x"); }, options);
    const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    std::list<testing::raw_peer> peers;
    for (int i = 0; i < 3; ++i) {
        peers.emplace_back(s.port()).send(get);
        EXPECT_EQ(peers.back().response(), "200 x");
    }
    EXPECT_EQ(testing::raw_peer(s.port()).rest(), "");
    peers.front().send(get);
    EXPECT_EQ(peers.front().response(), "200 x");  // the others are served
    peers.pop_back();
    auto now = wait_for(*counts, "wire_connections_open", "2");
    EXPECT_EQ(now["wire_connections_refused_total{reason=\"max_connections_per_address\"}"], "1");
    peers.emplace_back(s.port()).send(get);
    EXPECT_EQ(peers.back().response(), "200 x");
}

}  // namespace wire::http::metrics_test
