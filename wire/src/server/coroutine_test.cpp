#include "wire/server/coroutine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <future>
#include <stdexcept>
#include <thread>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/client/coroutine.hpp"

namespace wire::http::coroutine_test {

using namespace std::chrono_literals;
using testing::get;
using testing::raw_peer;
using testing::served;

std::string post(const std::string& path, std::size_t length) {
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) +
           "\r\n\r\n";
}
std::string ask(std::uint16_t port, const std::string& path) {
    raw_peer p(port);
    p.send(get(path));
    return p.response();
}

// Counts itself while its coroutine has a frame.
struct alive {
    explicit alive(std::atomic<int>& n) : count(&n) { ++*count; }
    alive(const alive&) = delete;
    ~alive() { --*count; }
    std::atomic<int>* count;
};
bool becomes(const std::atomic<int>& n, int wanted) {
    for (int i = 0; i < 5000 && n != wanted; ++i) std::this_thread::sleep_for(1ms);
    return n == wanted;
}

TEST(coroutine_handler, answers_at_once_or_after_timers_pools_and_clients) {
    blocking_pool pool(1);
    std::uint16_t port = 0;
    router r;
    r.get("/at_once", [](response res) -> task<> {
        res.send("at once");
        co_return;
    });
    r.get("/timer/{name}", [](response res) -> task<> {
        co_await sleep_for(res.loop(), 1ms);
        res.send("timer " + std::string(res.request().param("name")));
    });
    r.get("/pool", [&](response res) -> task<> {
        const auto here = std::this_thread::get_id();
        const auto there =
            co_await run_in(pool, res.loop(), [] { return std::this_thread::get_id(); });
        co_await run_in(pool, res.loop(), [] {});
        res.send(there != here && std::this_thread::get_id() == here ? "there and back" : "lost");
    });
    r.get("/client", [&](response res) -> task<> {
        async_client client(res.loop());
        const auto got =
            co_await client.get("http://127.0.0.1:" + std::to_string(port) + "/timer/x");
        res.send(got ? "got " + std::string(got->body()) : got.error().message);
    });
    served s(std::move(r));
    port = s.port();
    raw_peer p(s.port());
    p.send(get("/at_once") + get("/timer/a") + get("/pool") + get("/client") + get("/at_once"));
    for (const auto* expected :
         {"200 at once", "200 timer a", "200 there and back", "200 got timer x", "200 at once"}) {
        EXPECT_EQ(p.response(), expected);
    }
}
TEST(coroutine_handler, is_any_handler) {
    served s(handler([](response res) -> task<> {
        co_await sleep_for(res.loop(), 0ms);
        res.send("whatever");
    }));
    EXPECT_EQ(ask(s.port(), "/"), "200 whatever");
}
TEST(coroutine_handler, answers_500_when_it_ends_or_throws_without_an_answer) {
    blocking_pool pool(1);
    router r;
    r.get("/nothing", [](response) -> task<> { co_return; });
    r.get("/later", [](response res) -> task<> { co_await sleep_for(res.loop(), 1ms); });
    r.get("/throws", [](response res) -> task<> {
        co_await sleep_for(res.loop(), 1ms);
        throw std::runtime_error("not yours to know");
    });
    r.get("/pool_throws", [&](response res) -> task<> {
        try {
            co_await run_in(pool, res.loop(), [] { throw std::runtime_error("told"); });
        } catch (const std::runtime_error& e) {
            res.send(e.what());
        }
    });
    served s(std::move(r));
    for (const std::string path : {"/nothing", "/later", "/throws"}) {
        EXPECT_EQ(ask(s.port(), path), "500 Internal Server Error\n") << path;
    }
    EXPECT_EQ(ask(s.port(), "/pool_throws"), "200 told");
}
TEST(coroutine_handler, runs_on_the_loop_also_behind_middleware_of_another_thread) {
    blocking_pool pool(2);
    std::atomic<bool> here = true;
    router r;
    r.around([&pool](response res, next go_on) {
        pool.run([res = std::move(res), go_on]() mutable { go_on(std::move(res)); });
    });
    r.after([](response& res) { res.header("X-After", "yes"); });
    r.get("/", [&](response res) -> task<> {
        here = here && res.loop().in_loop_thread();
        co_await sleep_for(res.loop(), 1ms);
        res.send("home");
    });
    served s(std::move(r));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(s.port(), "/"), "200 home");
    EXPECT_TRUE(here);
}
TEST(coroutine_handler, goes_on_to_its_end_when_the_peer_has_gone) {
    std::atomic<int> frames = 0;
    std::atomic<int> ended = 0;
    router r;
    r.get("/", [&](response res) -> task<> {
        const alive counted(frames);
        co_await sleep_for(res.loop(), 100ms);
        res.send("too late");
        ++ended;
    });
    served s(std::move(r));
    {
        raw_peer p(s.port());
        p.send(get("/"));
        ASSERT_TRUE(becomes(frames, 1));
        p.reset();
    }
    EXPECT_TRUE(becomes(frames, 0));
    EXPECT_EQ(ended, 1);
}
TEST(coroutine_handler, stop_waits_for_it_and_destroys_it_at_the_end) {
    std::atomic<int> frames = 0;
    std::atomic<int> ended = 0;
    blocking_pool pool(1);
    std::promise<void> release;
    std::shared_future<void> released = release.get_future().share();
    const auto routes = [&] {
        router r;
        r.get("/soon", [&](response res) -> task<> {
            const alive counted(frames);
            co_await sleep_for(res.loop(), 100ms);
            res.send("soon");
            ++ended;
        });
        r.get("/answered", [&](response res) -> task<> {  // works on, without a connection
            const alive counted(frames);
            event_loop& loop = res.loop();
            res.close_connection().send("answered");
            co_await sleep_for(loop, 100ms);
            ++ended;
        });
        r.get("/never", [&](response res) -> task<> {
            const alive counted(frames);
            for (;;) co_await sleep_for(res.loop(), 1h);
        });
        r.get("/pool", [&](response res) -> task<> {
            const alive counted(frames);
            auto work = [released] { released.wait(); };
            co_await run_in(pool, res.loop(), std::move(work));
            res.send("not any more");
        });
        r.get("/client", [&](response res) -> task<> {
            const alive counted(frames);
            async_client client(res.loop());
            static_cast<void>(co_await client.get("http://127.0.0.1:" + std::to_string(9) + "/"));
            co_await sleep_for(res.loop(), 1h);
        });
        return r;
    };
    for (const bool patient : {true, false}) {
        server_options o;
        o.drain_timeout = patient ? 10s : 200ms;
        served s(routes(), o);
        std::vector<std::string> paths{"/soon", "/answered"};
        if (!patient) paths.insert(paths.end(), {"/never", "/pool", "/client"});
        std::deque<raw_peer> peers;
        for (const auto& path : paths) {
            peers.emplace_back(s.port());
            peers.back().send(get(path));
        }
        ASSERT_TRUE(becomes(frames, static_cast<int>(paths.size())));
        s.stop();
        EXPECT_EQ(frames, 0);
        EXPECT_EQ(ended.exchange(0), 2);
        EXPECT_EQ(peers[0].response(), "(close) 200 soon");
        EXPECT_EQ(peers[1].response(), "(close) 200 answered");
        for (std::size_t i = 2; i < peers.size(); ++i)
            EXPECT_TRUE(peers[i].response().starts_with("<end>"));
    }
    release.set_value();
}
TEST(coroutine_handler, may_be_late) {
    std::atomic<int> ended = 0;
    server_options o;
    o.limits.handler_timeout = 50ms;
    served s(handler([&](response res) -> task<> {
                 co_await sleep_for(res.loop(), 150ms);
                 res.send("late");
                 ++ended;
             }),
             o);
    EXPECT_EQ(ask(s.port(), "/"), "(close) 503 Service Unavailable\n");
    EXPECT_TRUE(becomes(ended, 1));
}

// ---- bodies ----

router bodies(std::atomic<int>& frames) {
    router r;
    const auto count = [&frames](response res, body_reader in) -> task<> {
        const alive counted(frames);
        body_pieces pieces(res.loop(), std::move(in));
        std::size_t bytes = 0;
        for (;;) {
            const result<std::string> piece = co_await pieces.next();
            if (!piece) {
                res.send(piece.error().message);
                co_return;
            }
            if (piece->empty()) break;
            bytes += piece->size();
            if (bytes % 3 == 0) co_await sleep_for(res.loop(), 1ms);
        }
        // It stays at the end.
        if (const auto beyond = co_await pieces.next(); !beyond || !beyond->empty()) co_return;
        res.send(std::to_string(bytes));
    };
    r.stream(method::post, "/count", count);
    r.post("/whole", [count](response res) mutable -> task<> {
        body_reader in = res.take_body();
        co_await count(std::move(res), std::move(in));
    });
    r.stream(method::post, "/answered", [&frames](response res, body_reader in) -> task<> {
        const alive counted(frames);
        body_pieces pieces(res.loop(), std::move(in));
        const auto first = co_await pieces.next();
        EXPECT_TRUE(first);
        res.send("enough");
        const auto more = co_await pieces.next();
        EXPECT_EQ(more.code(), errc::stopped);
    });
    r.stream(method::post, "/answered_first", [&frames](response res, body_reader in) -> task<> {
        const alive counted(frames);
        body_pieces pieces(res.loop(), std::move(in));
        res.send("enough");
        const auto none = co_await pieces.next();
        EXPECT_EQ(none.code(), errc::stopped);
    });
    return r;
}

TEST(body_pieces, come_as_the_peer_sends_them) {
    std::atomic<int> frames = 0;
    served s(bodies(frames));
    raw_peer p(s.port());
    for (const std::string path : {"/count", "/whole"}) {
        p.send(post(path, 5) + "abcde" + post(path, 0));
        EXPECT_EQ(p.response(), "200 5");
        EXPECT_EQ(p.response(), "200 0");
        p.send(post(path, 600'000) + std::string(600'000, 'x'));
        EXPECT_EQ(p.response(), "200 600000");
        p.send("POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n");
        for (const std::string piece : {"a", "b", "c\r\n", "1\r\nd\r\n0", "\r\n\r\n"}) {
            p.send(piece);
            std::this_thread::sleep_for(2ms);
        }
        EXPECT_EQ(p.response(), "200 4");
    }
    EXPECT_TRUE(becomes(frames, 0));
}
// The end of what the peer sends is read while an earlier request is still being answered; the body
// behind it is whole by then, and its reader takes it afterwards.
TEST(body_pieces, outlive_a_half_close_when_they_are_whole) {
    std::atomic<int> frames = 0;
    std::promise<void> asked;
    std::promise<void> ended;
    auto wait = ended.get_future().share();
    blocking_pool pool(1);
    router r = bodies(frames);
    r.get("/slow", [&](response res) {
        asked.set_value();
        pool.run([&, res = std::move(res)]() mutable {
            wait.wait();
            res.send("slow");
        });
    });
    served s(std::move(r));
    raw_peer p(s.port());
    p.send(get("/slow") + post("/count", 5) + "hello");
    p.finish_sending();
    asked.get_future().wait();
    std::this_thread::sleep_for(20ms);  // for the end to be read
    ended.set_value();
    EXPECT_EQ(p.response(), "200 slow");
    EXPECT_EQ(p.response(), "200 5");
    EXPECT_EQ(p.rest(), "");
    EXPECT_TRUE(becomes(frames, 0));
}
TEST(body_pieces, end_with_an_error_when_the_peer_goes) {
    std::atomic<int> frames = 0;
    served s(bodies(frames));
    {
        raw_peer p(s.port());
        p.send(post("/count", 5) + "ab");
        ASSERT_TRUE(becomes(frames, 1));
    }
    EXPECT_TRUE(becomes(frames, 0));
    raw_peer bad(s.port());
    bad.send("POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n");
    EXPECT_TRUE(bad.response().starts_with("(close) 400 "));
    EXPECT_TRUE(becomes(frames, 0));
}
TEST(body_pieces, end_when_the_response_was_sent) {
    std::atomic<int> frames = 0;
    served s(bodies(frames));
    for (const std::string path : {"/answered", "/answered_first"}) {
        raw_peer p(s.port());
        p.send(post(path, 5) + "ab");
        EXPECT_EQ(p.response(), "(close) 200 enough") << path;
        EXPECT_TRUE(becomes(frames, 0)) << path;
    }
}
TEST(body_pieces, may_be_awaited_when_the_server_stops) {
    std::atomic<int> frames = 0;
    server_options o;
    o.drain_timeout = 50ms;
    served s(bodies(frames), o);
    raw_peer p(s.port());
    p.send(post("/count", 5) + "ab");
    ASSERT_TRUE(becomes(frames, 1));
    s.stop();
    EXPECT_EQ(frames, 0);
}

}  // namespace wire::http::coroutine_test
