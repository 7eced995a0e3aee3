#include "wire/server/access_log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"
#include "wire/server/router.hpp"
#include "ws_peer.hpp"

namespace wire::http::access_log_test {

using namespace std::chrono_literals;

// Lines of a server's log, of which the varying parts are left out.
class logged {
public:
    explicit logged(handler h, server_options options = {}) {
        options.on_finished = [this](const access_record& r) {
            const std::string line = combined_log(r);
            EXPECT_EQ(line.substr(0, 15), "127.0.0.1 - - [") << line;
            EXPECT_NE(r.peer.port(), 0);
            EXPECT_GE(r.duration, 0ns);
            const std::lock_guard lock(mutex_);
            lines_.push_back(line.substr(line.find('"')) + " in " + std::to_string(r.bytes_in));
            durations_.push_back(r.duration);
        };
        server.emplace(std::move(h), std::move(options));
    }
    std::string next() {
        for (int i = 0; i < 2000; ++i) {
            {
                const std::lock_guard lock(mutex_);
                if (seen_ < lines_.size()) return lines_[seen_++];
            }
            std::this_thread::sleep_for(5ms);
        }
        return "<none>";
    }
    std::size_t size() {
        const std::lock_guard lock(mutex_);
        return lines_.size();
    }
    std::chrono::nanoseconds last_duration() {
        const std::lock_guard lock(mutex_);
        return durations_.back();
    }
    std::optional<testing::served> server;

private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
    std::vector<std::chrono::nanoseconds> durations_;
    std::size_t seen_ = 0;
};

TEST(access_log, one_line_for_each_request) {
    blocking_pool pool(1);
    router r;
    r.get("/a", [](response res) { res.send("hello"); });
    r.get("/later", [&pool](response res) {
        pool.run([res = std::move(res)]() mutable {
            std::this_thread::sleep_for(5ms);
            res.status(404).send("x");
        });
    });
    r.post("/a", [](response res) { res.status(204).send(); });
    r.get("/stream", [](response res) {
        auto out = res.start_body();
        out.write("abc");
        out.finish();
    });
    logged l(std::move(r));
    testing::raw_peer p(l.server->port());
    const std::string get_a = "GET /a HTTP/1.1\r\nHost: a\r\nUser-Agent: me\r\n\r\n";
    p.send(get_a);
    EXPECT_EQ(l.next(),
              "\"GET /a HTTP/1.1\" 200 5 \"-\" \"me\" in " + std::to_string(get_a.size()));
    p.send("HEAD /a?q HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(l.next(), "\"HEAD /a?q HTTP/1.1\" 200 - \"-\" \"-\" in 31");
    p.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_EQ(l.next(), "\"POST /a HTTP/1.1\" 204 - \"-\" \"-\" in 51");
    p.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(l.next(), "\"GET /later HTTP/1.1\" 404 1 \"-\" \"-\" in 32");
    EXPECT_GE(l.last_duration(), 5ms);
    p.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    // With the chunks' framing.
    EXPECT_EQ(l.next(), "\"GET /stream HTTP/1.1\" 200 13 \"-\" \"-\" in 33");
    p.send("GET /a HTTP/1.0\r\n\r\n");
    EXPECT_EQ(l.next(), "\"GET /a HTTP/1.0\" 200 5 \"-\" \"-\" in 19");
    EXPECT_EQ(l.size(), 6U);
}
// With the bytes of both directions, in order or not.
TEST(access_log, a_websocket_when_it_has_ended) {
    for (const bool in_order : {true, false}) {
        router r;
        r.websocket("/ws", [](ws::session& s, const request&) {
            s.on_message([](ws::session& from, ws::message m) { from.send(m); });
            s.send("hello");
        });
        logged l(std::move(r));
        const auto start = std::chrono::steady_clock::now();
        {
            testing::ws_peer p(l.server->port(), "/ws");
            EXPECT_EQ(p.next(), "1 hello");
            p.send(testing::frame(ws::opcode::text, std::string(1000, 'x')));
            EXPECT_EQ(p.next().size(), 1002U);
            std::this_thread::sleep_for(10ms);
            EXPECT_EQ(l.size(), 0U);
            if (in_order) {
                p.send(testing::frame(ws::opcode::close, ""));
                EXPECT_EQ(p.next(), "8 ");
            } else {
                p.reset();
            }
        }
        // 2 + 5 bytes, and 4 + 1000; the peer's have a mask of 4 bytes.
        const std::size_t out = 7 + 1004 + (in_order ? 2 : 0);
        const std::size_t in = 1008 + (in_order ? 6 : 0);
        constexpr std::size_t head = 142;
        EXPECT_EQ(l.next(), "\"GET /ws HTTP/1.1\" 101 " + std::to_string(out) + " \"-\" \"-\" in " +
                                std::to_string(head + in));
        EXPECT_GE(l.last_duration(), 10ms);
        EXPECT_LE(l.last_duration(), std::chrono::steady_clock::now() - start);
        l.server->stop();
        EXPECT_EQ(l.size(), 1U);
    }
}
TEST(access_log, a_websocket_that_the_server_ends) {
    router r;
    r.websocket("/ws", [](ws::session& s, const request&) { s.send("hello"); });
    logged l(std::move(r), [] {
        server_options o;
        o.drain_timeout = 20ms;
        return o;
    }());
    testing::ws_peer p(l.server->port(), "/ws");
    l.server->stop();
    EXPECT_EQ(l.next(), "\"GET /ws HTTP/1.1\" 101 11 \"-\" \"-\" in 142");
    EXPECT_EQ(l.size(), 1U);
}
TEST(access_log, early_hints_are_no_part_of_the_body) {
    logged l([](response res) {
        EXPECT_TRUE(res.early_hints({{"Link", "</a>"}}));
        if (res.request().path() == "/none") res.status(204);
        res.send("hello");
    });
    testing::raw_peer p(l.server->port());
    p.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(l.next(), "\"GET /a HTTP/1.1\" 200 5 \"-\" \"-\" in 28");
    p.send("GET /none HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(l.next(), "\"GET /none HTTP/1.1\" 204 - \"-\" \"-\" in 31");
}
TEST(access_log, what_was_refused_or_given_up) {
    std::promise<response> kept;
    router r;
    r.get("/keep", [&](response res) { kept.set_value(std::move(res)); });
    r.get("/cut", [](response res) { res.start_body(100).write("abc"); });
    logged l(std::move(r));
    {
        testing::raw_peer p(l.server->port());
        p.send("GET / HTTP/1.1\r\n\r\n");
        EXPECT_EQ(l.next(), "\"-\" 400 36 \"-\" \"-\" in 0");
        testing::raw_peer q(l.server->port());
        q.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx");
        EXPECT_EQ(l.next(), "\"POST /a HTTP/1.1\" 400 16 \"-\" \"-\" in 60");
        testing::raw_peer half(l.server->port());
        half.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
        half.finish_sending();
        EXPECT_EQ(l.next(), "\"POST /a HTTP/1.1\" - - \"-\" \"-\" in 51");
        testing::raw_peer c(l.server->port());
        c.send("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(l.next(), "\"GET /cut HTTP/1.1\" 200 3 \"-\" \"-\" in 30");
        std::optional<testing::raw_peer> k(std::in_place, l.server->port());
        k->send("GET /keep HTTP/1.1\r\nHost: a\r\n\r\n");
        response res = kept.get_future().get();
        const linger at_once{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(k->fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        k.reset();  // sends RST
        EXPECT_EQ(l.next(), "\"GET /keep HTTP/1.1\" - - \"-\" \"-\" in 31");
        res.send("too late");
    }
    l.server->stop();
    EXPECT_EQ(l.size(), 5U);
}
// What is told of a refusal sends the response of another connection, whose next request comes
// then.
TEST(access_log, the_call_may_send_responses) {
    std::optional<response> kept;
    server_options o;
    o.on_finished = [&](const access_record& r) {
        if (r.status == 400 && kept) response(*std::exchange(kept, std::nullopt)).send("kept");
    };
    std::promise<void> waits;
    testing::served s(
        [&](response res) {
            if (res.request().path() != "/kept") return res.send("hello");
            kept.emplace(std::move(res));
            waits.set_value();
        },
        o);
    testing::raw_peer p(s.port());
    p.send("GET /kept HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    waits.get_future().wait();
    testing::raw_peer bad(s.port());
    bad.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(bad.response().substr(0, 12), "(close) 400 ");
    EXPECT_EQ(p.response(), "200 kept");
    EXPECT_EQ(p.response(), "200 hello");
}
// Of a response that is not sent yet, one that is being written, and a body that is being read.
TEST(access_log, the_call_may_end_what_the_handler_has_kept) {
    std::optional<response> kept;
    std::optional<body_writer> out;
    std::mutex mutex;
    std::vector<int> statuses;
    server_options o;
    o.on_finished = [&](const access_record& r) {
        if (out) out->write("more");
        out.reset();
        kept.reset();
        const std::lock_guard lock(mutex);
        statuses.push_back(r.status);
    };
    std::atomic<bool> waits{false};
    router r;
    r.get("/", [](response res) { res.send("here"); });
    r.get("/kept", [&](response res) {
        kept.emplace(std::move(res));
        waits = true;
    });
    r.get("/written", [&](response res) {
        out.emplace(res.start_body());
        out->write("some");
        waits = true;
    });
    r.stream(method::post, "/read", [&](response res, body_reader in) {
        in.read([](std::string_view) {}, [](errc) {});
        kept.emplace(std::move(res));
    });
    testing::served s(std::move(r), o);
    const auto is_told = [&](std::size_t n) {
        for (int i = 0; i < 5000; ++i) {
            {
                const std::lock_guard lock(mutex);
                if (statuses.size() == n) return true;
            }
            std::this_thread::sleep_for(1ms);
        }
        return false;
    };
    for (const std::string path : {"/kept", "/written"}) {
        testing::raw_peer p(s.port());
        p.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
        for (int i = 0; i < 5000 && !waits; ++i) std::this_thread::sleep_for(1ms);
        EXPECT_TRUE(waits.exchange(false)) << path;
        p.reset();
        ASSERT_TRUE(is_told(path == "/kept" ? 1U : 2U)) << path;
    }
    testing::raw_peer p(s.port());
    p.send("POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n");
    EXPECT_EQ(p.response().substr(0, 12), "(close) 400 ");
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
    testing::raw_peer q(s.port());
    q.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(q.response(), "200 here");
    s.stop();
    EXPECT_EQ(statuses, (std::vector<int>{0, 200, 400, 200}));
}
// The rest of a body is of no interest once the response was sent.
TEST(access_log, the_call_reads_no_body_on) {
    body_reader kept;
    std::atomic<int> calls{0};
    server_options o;
    o.on_finished = [&](const access_record&) {
        kept.read([&](std::string_view) { ++calls; }, [&](errc) { ++calls; });
    };
    router r;
    r.stream(method::post, "/", [&](response res, body_reader in) {
        kept = std::move(in);
        event_loop& loop = res.loop();
        loop.post([res = std::move(res)]() mutable { res.send("enough"); });
    });
    testing::served s(std::move(r), o);
    testing::raw_peer p(s.port());
    p.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nx\r\n");
    EXPECT_EQ(p.response(), "(close) 200 enough");
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
    s.stop();
    EXPECT_EQ(calls, 0);
}
TEST(access_log, a_peer_cannot_forge_lines) {
    logged l([](response res) { res.send(); });
    testing::raw_peer p(l.server->port());
    p.send(
        "GET /\"x\\y HTTP/1.1\r\nHost: a\r\nReferer: \" 200 0 \"\t\r\nUser-Agent: "
        "\xC3\xA9\tz\\\r\n\r\n");
    const std::string line = l.next();
    EXPECT_TRUE(line.starts_with("\"GET /\\\"x\\\\y HTTP/1.1\" 200 - \"\\\" 200 0 \\\"\" "
                                 "\"\\xc3\\xa9\\x09z\\\\\" in ") ||
                line.starts_with("\"-\" 400"))
        << line;
}
TEST(common_log, the_time_and_addresses) {
    access_record r;
    r.finished = std::chrono::system_clock::time_point(std::chrono::seconds(784111777));
    r.peer = *address::parse("2001:db8::1", 80);
    r.status = 408;
    r.bytes_out = 300;
    r.head_bytes_out = 290;
    EXPECT_EQ(common_log(r), "2001:db8::1 - - [06/Nov/1994:08:49:37 +0000] \"-\" 408 10");
    EXPECT_EQ(combined_log(r), common_log(r) + " \"-\" \"-\"");
}

}  // namespace wire::http::access_log_test
