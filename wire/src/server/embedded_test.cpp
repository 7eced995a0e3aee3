// A server, a client and a bare loop driven by somebody else's poll().
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "raw_peer.hpp"
#include "wire/client/client.hpp"
#include "wire/loop/task.hpp"
#include "wire/server/coroutine.hpp"
#include "wire/server/server.hpp"

namespace wire::http::embedded_test {

using namespace std::chrono_literals;

// Whether the descriptor became readable, or the timeout came, as the loop had asked; false:
// nothing within 10 s.
template <typename Loop> bool wait_as_asked(Loop& loop) {
    const auto longest = loop.next_timeout();
    const bool forever = longest == event_loop::forever;
    pollfd p{loop.descriptor(), POLLIN, 0};
    const int ms =
        forever ? 10'000
                : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(longest).count());
    return ::poll(&p, 1, ms) > 0 || !forever;
}

std::unique_ptr<event_loop> make_loop() {
    auto made = event_loop::create();
    EXPECT_TRUE(made);
    return *std::move(made);
}

bool is_readable(event_loop& loop) {
    pollfd p{loop.descriptor(), POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
}

// Iterates until there is nothing to do: what an engine has to say to the kernel at first.
void settle(event_loop& loop) {
    for (int i = 0; i < 10 && (loop.next_timeout() == 0ns || is_readable(loop)); ++i)
        loop.run_once(0ms);
}

TEST(embedded, a_loop_with_nothing_to_do_asks_for_nothing) {
    const auto loop = make_loop();
    settle(*loop);
    EXPECT_FALSE(is_readable(*loop));
    EXPECT_EQ(loop->next_timeout(), event_loop::forever);
}

TEST(embedded, timers_shorten_the_wait) {
    const auto loop = make_loop();
    settle(*loop);
    bool rang = false;
    timer t([](void* p) { *static_cast<bool*>(p) = true; }, &rang);
    loop->arm(t, clock::now() + 20ms);
    EXPECT_LE(loop->next_timeout(), 20ms);
    for (int iterations = 0; !rang && iterations < 100; ++iterations) {
        ASSERT_TRUE(wait_as_asked(*loop));
        loop->run_once(0ms);
    }
    EXPECT_TRUE(rang);
    loop->arm(t, clock::now() - 1ms);
    EXPECT_EQ(loop->next_timeout(), 0ns);
}

TEST(embedded, posts_from_other_threads_and_stop_wake_it) {
    const auto loop = make_loop();
    settle(*loop);
    int done = 0;
    std::thread other([&] { loop->post([&] { ++done; }); });
    ASSERT_TRUE(wait_as_asked(*loop));
    loop->run_once(0ms);
    other.join();
    EXPECT_EQ(done, 1);
    settle(*loop);
    EXPECT_FALSE(is_readable(*loop));
    loop->stop();
    EXPECT_TRUE(is_readable(*loop));
    EXPECT_TRUE(loop->stop_requested());
}

TEST(embedded, sources_make_it_readable) {
    struct bell : io_source {
        bell()
            : io_source([](io_source& s, ready) noexcept {
                  ++static_cast<bell&>(s).count;
                  std::uint64_t ignored = 0;
                  EXPECT_EQ(::read(s.fd(), &ignored, sizeof ignored), 8);
              }) {}
        int count = 0;
    };
    const auto loop = make_loop();
    const unique_fd fd(::eventfd(0, EFD_NONBLOCK));
    bell b;
    ASSERT_TRUE(loop->watch(b, fd.get(), ready::read));
    settle(*loop);
    EXPECT_FALSE(is_readable(*loop));
    const std::uint64_t one = 1;
    for (int i = 1; i <= 3; ++i) {
        ASSERT_EQ(::write(fd.get(), &one, sizeof one), 8);
        ASSERT_TRUE(wait_as_asked(*loop));
        settle(*loop);
        EXPECT_EQ(b.count, i);
    }
    loop->unwatch(b);
}

server make_server(handler h, server_options options = {}) {
    options.host = "127.0.0.1";
    auto made = server::listen(0, std::move(h), std::move(options));
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
}

TEST(embedded, a_server_answers_within_a_foreign_loop) {
    server s = make_server([](response res) { res.send(std::string(res.request().path())); });
    std::atomic<bool> over{false};
    std::thread peer([&] {
        testing::raw_peer p(s.port());
        for (int i = 0; i < 50; ++i) {
            p.send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n");
            EXPECT_EQ(p.response(), "200 /" + std::to_string(i));
        }
        over = true;
        s.stop();
    });
    int iterations = 0;
    while (s.run_once(0ms)) {
        ++iterations;
        if (!wait_as_asked(s)) break;
    }
    EXPECT_TRUE(over) << "nothing announced the next request";
    EXPECT_GE(iterations, 50);
    EXPECT_FALSE(s.run_once(0ms));  // still over
    peer.join();
}

TEST(embedded, a_server_may_wait_for_ever) {
    server s = make_server([](response res) { res.send("x"); });
    std::thread other([&] {
        std::this_thread::sleep_for(50ms);
        s.stop();
    });
    EXPECT_TRUE(s.run_once(std::chrono::milliseconds::max()));  // until stop() wakes it
    EXPECT_FALSE(s.run_once(std::chrono::milliseconds::max()));
    other.join();
}

// A large body in both directions: reads paused, writes that wait for room, completions that follow
// one another.
TEST(embedded, nothing_gets_stuck_in_large_bodies) {
    server_options options;
    options.limits.max_body_bytes = 16 << 20;
    server s = make_server([](response res) { res.send(std::string(res.request().body())); },
                           std::move(options));
    async_client client(s.loop());
    client_request ask;
    ask.method = method::post;
    ask.url = "http://127.0.0.1:" + std::to_string(s.port()) + "/";
    ask.body.assign(8 << 20, 'x');
    std::optional<std::size_t> came;
    client.send(std::move(ask), [&](result<reply> r) {
        EXPECT_TRUE(r) << r.error().message;
        came = r ? r->body().size() : 0;
    });
    while (!came && wait_as_asked(s)) s.run_once(0ms);
    EXPECT_EQ(came.value_or(0), 8U << 20);
}

TEST(embedded, the_drain_has_a_deadline_there_too) {
    server_options options;
    options.drain_timeout = 50ms;
    std::optional<response> kept;
    server s = make_server([&](response res) { kept = std::move(res); }, std::move(options));
    testing::raw_peer p(s.port());
    p.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    while (!kept && wait_as_asked(s)) s.run_once(0ms);
    s.stop();
    while (s.run_once(0ms)) ASSERT_TRUE(wait_as_asked(s));
    EXPECT_EQ(p.rest(), "");
}

// Everything that handlers may keep: they must find no server, also on the thread that was its
// loop's.
// What is told of its connection's end sends what another connection waits for.
TEST(embedded, what_is_sent_long_after_an_iteration_has_the_whole_time_limit) {
    constexpr std::size_t size = 20'000'000;
    server_options options;
    options.host = "127.0.0.1";
    options.limits.write_timeout = 1500ms;
    ws::session* open = nullptr;
    router r;
    r.websocket("/", [&](ws::session& s, const request&) {
        open = &s;
        s.on_close([&](ws::session&, std::uint16_t, std::string_view) { open = nullptr; });
    });
    auto made = server::listen(0, std::move(r), options);
    ASSERT_TRUE(made) << made.error().message;
    testing::raw_peer p(made->port());
    p.send(
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    while (open == nullptr) made->run_once(10ms);
    EXPECT_EQ(p.response(), "101 ");
    std::this_thread::sleep_for(1400ms);
    open->send_now(std::string(size, 'x'), ws::opcode::binary);
    for (const auto until = clock::now() + 700ms; clock::now() < until;) made->run_once(10ms);
    ASSERT_NE(open, nullptr);
    std::atomic<std::size_t> taken = 0;
    std::thread reader([&] { taken = p.exactly(size + 10).size(); });
    while (taken == 0) made->run_once(10ms);
    reader.join();
    EXPECT_EQ(taken, size + 10);
}

TEST(embedded, delays_count_from_the_call_long_after_an_iteration) {
    const auto loop = make_loop();
    settle(*loop);
    std::this_thread::sleep_for(1ms);
    {
        const auto before = clock::now();
        timer t([](void*) {}, nullptr);
        loop->arm_after(t, 1h);
        EXPECT_GE(t.deadline(), before + 1h);
    }
    settle(*loop);
    std::this_thread::sleep_for(1ms);
    const auto before = clock::now();
    task_group group;
    const auto sleeper = [](event_loop& l) -> task<void> { co_await sleep_for(l, 1h); };
    group.spawn(sleeper(*loop));
    const auto left = loop->next_timeout();
    EXPECT_GE(clock::now() + left, before + 1h);
}

TEST(embedded, a_request_long_after_an_iteration_has_the_whole_time_limit) {
    server s = make_server([](response res) { res.send("x"); });
    std::thread other([&] { s.run(); });
    const auto loop = make_loop();
    client_options options;
    options.response_timeout = 1s;
    async_client client(*loop, options);
    for (const auto pause : {0ms, 1100ms}) {  // on one connection
        std::this_thread::sleep_for(pause);
        std::optional<errc> came;
        client.send(make_request(method::get, "http://127.0.0.1:" + std::to_string(s.port()) + "/"),
                    [&](result<reply> r) { came = r.code(); });
        while (!came) loop->run_once();
        EXPECT_EQ(*came, errc::none);
    }
    EXPECT_EQ(client.connections_opened(), 1U);
    s.stop();
    other.join();
}

TEST(embedded, one_end_may_send_the_response_of_another_connection_as_the_server_goes) {
    for (const bool waiter_first : {false, true}) {
        std::optional<response> kept;
        std::optional<body_writer> writer;
        int handled = 0;
        bool told = false;
        {
            router r;
            r.get("/kept", [&](response res) {
                ++handled;
                kept = std::move(res);
            });
            r.get("/written", [&](response res) {
                writer = res.start_body();
                writer->on_closed([&] {
                    told = true;
                    kept->send("late");
                    kept.reset();
                });
                writer->write("a beginning");
            });
            server_options options;
            options.host = "127.0.0.1";
            auto made = server::listen(0, std::move(r), std::move(options));
            ASSERT_TRUE(made);
            std::optional<server> s(*std::move(made));
            const std::string end = " HTTP/1.1\r\nHost: x\r\n\r\n";
            std::vector<std::unique_ptr<testing::raw_peer>> peers;
            for (const bool waiter : {waiter_first, !waiter_first}) {
                peers.push_back(std::make_unique<testing::raw_peer>(s->port()));
                // The second request waits behind the first, and must not be handled any more.
                peers.back()->send(waiter ? "GET /kept" + end + "GET /kept" + end
                                          : "GET /written" + end);
                while (waiter ? !kept.has_value() : !writer.has_value()) {
                    ASSERT_TRUE(wait_as_asked(*s));
                    ASSERT_TRUE(s->run_once(0ms));
                }
            }
        }
        EXPECT_TRUE(told);
        EXPECT_FALSE(kept);
        EXPECT_EQ(handled, 1);
    }
}
TEST(embedded, a_body_begun_when_the_server_is_gone_is_told_to_be_lost) {
    std::optional<response> kept;
    {
        auto made = server::listen(0, handler([&](response res) { kept = std::move(res); }));
        ASSERT_TRUE(made);
        server s(*std::move(made));
        testing::raw_peer p(s.port());
        p.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        while (!kept) {
            ASSERT_TRUE(wait_as_asked(s));
            ASSERT_TRUE(s.run_once(1ms));
        }
    }
    body_writer late = kept->start_body();
    EXPECT_FALSE(late.is_open());
    bool told = false;
    late.on_closed([&] { told = true; });
    EXPECT_TRUE(told);
}
// Its server is still there, and serves nobody any more.
TEST(embedded, a_body_begun_when_the_drain_is_over_is_told_to_be_lost) {
    server_options options;
    options.drain_timeout = 0ms;
    std::optional<response> kept;
    server s = make_server([&](response res) { kept = std::move(res); }, std::move(options));
    testing::raw_peer p(s.port());
    p.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    while (!kept) {
        ASSERT_TRUE(wait_as_asked(s));
        ASSERT_TRUE(s.run_once(1ms));
    }
    s.stop();
    while (s.run_once(0ms)) {}
    body_writer late = kept->start_body();
    EXPECT_FALSE(late.write("x"));
    EXPECT_FALSE(late.is_open());
    bool told = false;
    late.on_closed([&] { told = true; });
    EXPECT_TRUE(told);
}
// Another thread has sent the head, and the loop has not run since.
TEST(embedded, a_body_that_the_end_of_the_server_overtakes_is_told_to_be_lost) {
    std::optional<response> kept;
    body_writer late;
    bool told = false;
    {
        server s = make_server([&](response res) { kept = std::move(res); });
        testing::raw_peer p(s.port());
        p.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        while (!kept) {
            ASSERT_TRUE(wait_as_asked(s));
            ASSERT_TRUE(s.run_once(1ms));
        }
        std::thread other([&] {
            late = kept->start_body();
            late.on_closed([&] { told = true; });
            EXPECT_TRUE(late.write("x"));
        });
        other.join();
    }
    EXPECT_TRUE(told);
    EXPECT_FALSE(late.write("x"));
}
TEST(embedded, what_outlives_a_server_that_has_not_drained_does_no_harm) {
    for (const bool draining : {false, true}) {
        std::vector<response> kept;
        std::optional<body_writer> writer;
        std::optional<body_reader> reader;
        std::optional<ws::handle> session;
        int pieces = 0;
        {
            router r;
            r.get("/kept", [&](response res) { kept.push_back(std::move(res)); });
            r.get("/written", [&](response res) { writer = res.start_body(); });
            r.stream(method::post, "/read", [&](response res, body_reader in) {
                reader = in;
                kept.push_back(std::move(res));
            });
            r.get("/waiting", [](response res) -> task<> {
                co_await sleep_for(res.loop(), std::chrono::hours(1));
                res.send("late");
            });
            r.websocket("/ws", [&](ws::session& s, const request&) { session = s.handle(); });
            server_options options;
            options.host = "127.0.0.1";
            auto made = server::listen(0, std::move(r), std::move(options));
            ASSERT_TRUE(made);
            std::optional<server> s(*std::move(made));
            const std::string end = " HTTP/1.1\r\nHost: x\r\n";
            std::vector<std::unique_ptr<testing::raw_peer>> peers;
            for (const std::string& text : std::vector<std::string>{
                     "GET /kept" + end, "GET /kept" + end, "GET /kept" + end, "GET /written" + end,
                     "GET /waiting" + end, "POST /read" + end + "Content-Length: 9\r\n",
                     "GET /ws" + end +
                         "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
                         "13\r\n"
                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"}) {
                peers.push_back(std::make_unique<testing::raw_peer>(s->port()));
                peers.back()->send(text + "\r\n");
            }
            while (kept.size() < 4 || !writer || !reader || !session) {
                ASSERT_TRUE(wait_as_asked(*s));
                ASSERT_TRUE(s->run_once(0ms));
            }
            if (draining) {
                s->stop();
                ASSERT_TRUE(s->run_once(0ms));
            }
        }
        kept[0].send("late");
        kept[1].on_send([](response& res) { res.body() += "later"; }).send();
        body_writer late = kept[2].start_body();
        EXPECT_FALSE(late.write("x"));
        late.finish();
        EXPECT_FALSE(writer->write("x"));
        EXPECT_FALSE(writer->is_open());
        reader->read([&](std::string_view) { ++pieces; }, [&](errc) { ++pieces; });
        reader->pause();
        reader->resume();
        session->send("late");
        session->close();
        kept.clear();  // one unsent
        EXPECT_EQ(pieces, 0);
    }
}

}  // namespace wire::http::embedded_test
