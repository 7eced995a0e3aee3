// How many connections a client has, what waits for them, and what servers without manners make of
// them.
#include <gtest/gtest.h>

#include <atomic>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"

namespace wire::http::pool_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;

void ok(response res) { res.send("ok"); }
std::string url(const served& s, const std::string& host = "127.0.0.1") {
    return "http://" + host + ":" + std::to_string(s.port()) + "/";
}
// Names of any kind, all here.
auto here = [](const std::string&, std::uint16_t port) -> result<std::vector<address>> {
    return std::vector<address>{address::loopback_v4(port)};
};

// A server that closes one idle connection closes the others too: none of them is tried.
TEST(pool, what_a_stale_connection_lost_is_sent_on_a_new_one) {
    raw_server raw([](raw_server& r) {
        auto first = r.accept();
        auto second = r.accept();
        for (auto* const v : {&first, &second}) v->request();
        for (auto* const v : {&first, &second})
            v->send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold");
        pollfd fds[] = {{first.fd(), POLLIN, 0}, {second.fd(), POLLIN, 0}};
        EXPECT_EQ(::poll(fds, 2, 10'000), 1);
        auto& stale = fds[0].revents != 0 ? first : second;
        stale.request();
        stale.reset();
        if (!r.anyone(1000)) {
            ADD_FAILURE() << "no new connection";
            return;
        }
        auto fresh = r.accept();
        EXPECT_FALSE(fresh.request().empty());
        fresh.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew");
    });
    auto loop = *event_loop::create();
    client_options options;
    options.max_connections_per_host = 2;  // the one that was lost makes room
    options.response_timeout = 3s;
    async_client c(*loop, options);
    std::vector<std::string> bodies;
    const auto keep = [&](result<reply> r) {
        bodies.emplace_back(r ? r->body() : to_string(r.code()));
    };
    for (int i = 0; i < 2; ++i) c.get(raw.url(), keep);
    while (bodies.size() < 2) loop->run_once();
    c.get(raw.url(), keep);
    while (bodies.size() < 3) loop->run_once();
    EXPECT_EQ(bodies, (std::vector<std::string>{"old", "old", "new"}));
    EXPECT_EQ(c.connections_opened(), 3U);
}

TEST(pool, bounds_all_connections_together_and_serves_in_order) {
    std::atomic<int> open{0};
    std::atomic<int> most{0};
    std::atomic<int> asked{0};
    raw_server raw([&](raw_server& r) {
        // One thread: a connection is served to its end, the next waits for it.
        while (asked < 30) {
            auto v = r.accept();
            most = std::max(most.load(), ++open);
            while (!v.request().empty()) {
                v.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                ++asked;
            }
            --open;
        }
    });
    auto loop = *event_loop::create();
    client_options options;
    options.resolve = here;
    options.max_connections = 1;
    async_client c(*loop, options);
    std::string order;
    for (int i = 0; i < 30; ++i) {
        const std::string host(1, static_cast<char>('a' + i % 3));
        c.get("http://" + host + ".example:" + std::to_string(raw.port()) + "/",
              [&order, host](result<reply> r) {
                  EXPECT_TRUE(r) << r.error().message;
                  order += host;
              });
    }
    while (order.size() < 30) loop->run_once();
    EXPECT_EQ(most, 1);
    std::string expected;
    for (int i = 0; i < 10; ++i) expected += "abc";
    EXPECT_EQ(order, expected);
}
TEST(pool, a_host_that_gave_its_place_away_gets_another) {
    served s(ok);
    auto loop = *event_loop::create();
    client_options options;
    options.resolve = here;
    options.max_connections = 1;
    options.max_connections_per_host = 1;
    async_client c(*loop, options);
    std::string order;
    for (const std::string host : {"a", "b", "a", "b", "a"})
        c.get(url(s, host + ".example"),
              [&order, host](const result<reply>& r) { order += r ? host : "-"; });
    for (const auto until = clock::now() + 10s; order.size() < 5 && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_EQ(order, "ababa");
}
TEST(pool, a_host_that_has_all_its_connections_takes_no_place_of_others) {
    std::atomic<bool> release{false};
    raw_server slow([&release](raw_server& r) {
        auto v = r.accept();
        v.request();
        while (!release) std::this_thread::yield();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        EXPECT_TRUE(v.is_left());
    });
    raw_server silent([](raw_server& r) {
        auto v = r.accept();
        v.request();
        EXPECT_TRUE(v.is_left());
    });
    served s(ok);
    auto loop = *event_loop::create();
    client_options options;
    options.resolve = here;
    options.max_connections = 2;
    options.max_connections_per_host = 1;
    async_client c(*loop, options);
    const auto ignore = [](const result<reply>&) {};
    bool answered = false;
    c.get(slow.url(), ignore);
    c.get(url(s, "first.example"), [&](const result<reply>&) {
        // One of the silent server's two requests has taken the place of this one.
        c.get(url(s, "last.example"), [&](const result<reply>& r) { answered = r.ok(); });
        release = true;
    });
    for (int i = 0; i < 2; ++i) c.get(silent.url(), ignore);
    for (const auto until = clock::now() + 5s; !answered && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_TRUE(answered);
}
TEST(pool, needs_a_connection) {
    served s(ok);
    client_options none;
    none.max_connections = 0;
    client_options none_here;
    none_here.max_connections_per_host = 0;
    for (client_options* const options : {&none, &none_here}) {
        options->total_timeout = 2s;
        auto c = *client::create(*options);
        EXPECT_EQ(c.get(url(s)).code(), errc::bad_argument);
    }
}
TEST(pool, an_idle_connection_makes_room_for_another_host) {
    served s(ok);
    client_options options;
    options.resolve = here;
    options.max_connections = 2;
    auto c = *client::create(options);
    for (int i = 0; i < 20; ++i) {
        const auto got = c.get(url(s, std::string(1, static_cast<char>('a' + i)) + ".example"));
        ASSERT_TRUE(got) << got.error().message;
    }
    EXPECT_EQ(c.connections_opened(), 20U);
}
TEST(pool, keeps_no_connection_where_none_may_be_idle) {
    served s(ok);
    client_options options;
    options.resolve = here;
    options.max_idle_per_host = 0;
    auto c = *client::create(options);
    for (int i = 0; i < 12; ++i) {
        // Twice in a row: what was remembered of the first is gone.
        const std::string host(1, static_cast<char>('a' + i / 2 % 3));
        const auto got = c.get(url(s, host + ".example"));
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_FALSE(got->reused());
    }
    EXPECT_EQ(c.connections_opened(), 12U);
}
TEST(pool, what_waits_is_bounded) {
    std::atomic<bool> release{false};
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        while (!release) std::this_thread::yield();
        for (int i = 0; i < 3; ++i) {
            v.request();
            v.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    });
    auto loop = *event_loop::create();
    client_options options;
    options.max_connections_per_host = 1;
    options.max_waiting = 2;
    async_client c(*loop, options);
    std::vector<errc> ends;
    for (int i = 0; i < 5; ++i)
        c.get(raw.url(), [&](result<reply> r) { ends.push_back(r.code()); });
    EXPECT_TRUE(ends.empty());  // from the loop
    while (ends.size() < 2) loop->run_once();
    EXPECT_EQ(ends, std::vector<errc>(2, errc::queue_full));
    release = true;
    while (ends.size() < 5) loop->run_once();
    EXPECT_EQ(ends[4], errc::none);
}
TEST(pool, many_that_fail_at_once_fail_one_by_one) {
    auto loop = *event_loop::create();
    client_options options;
    options.max_connections_per_host = 1;
    // Not ours: connecting fails before it begins.
    options.connect.source = *address::parse("203.0.113.1", 0);
    async_client c(*loop, options);
    int failed = 0;
    for (int i = 0; i < 5000; ++i)
        c.get("http://127.0.0.1:9/", [&](result<reply> r) { failed += !r; });
    while (failed < 5000) loop->run_once();
    EXPECT_EQ(c.connections_opened(), 0U);
}
TEST(pool, requests_that_cannot_be_sent_fail_one_by_one) {
    served s(ok);
    auto loop = *event_loop::create();
    client_options options;
    options.max_connections_per_host = 1;
    async_client c(*loop, options);
    int failed = 0;
    for (int i = 0; i < 3000; ++i) {
        client_request r;
        r.url = url(s);
        r.headers = {{"X", "a\r\nb"}};
        c.send(std::move(r),
               [&](result<reply> r) { failed += r.code() == errc::bad_header_value; });
    }
    while (failed < 3000) loop->run_once();
}

// ---- servers without manners: each is met within bounds, and another is served meanwhile ----

struct hostile : ::testing::Test {
    served good{ok};
    client_options options;
    std::unique_ptr<event_loop> loop = *event_loop::create();

    hostile() {
        options.response_timeout = 200ms;
        options.body_timeout = 100ms;
        options.total_timeout = 400ms;
        options.limits.max_body_bytes = 100'000;
    }
    // What a request comes to when the server says `first`, then `more` again and again.
    errc meets(const std::string& first, const std::string& more = "",
               std::chrono::milliseconds every = 0ms) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            (void)::send(v.fd(), first.data(), first.size(), MSG_NOSIGNAL);
            if (more.empty()) {
                v.request();
                return;
            }
            while (::send(v.fd(), more.data(), more.size(), MSG_NOSIGNAL) > 0)
                std::this_thread::sleep_for(every);
        });
        async_client c(*loop, options);
        std::optional<result<reply>> bad;
        c.get(raw.url(), [&](result<reply> r) { bad.emplace(std::move(r)); });
        int served_meanwhile = 0;
        std::function<void()> ask = [&] {
            c.get(url(good), [&](result<reply> r) {
                if (r.code() == errc::stopped) return;  // with the client
                EXPECT_TRUE(r) << r.error().message;
                ++served_meanwhile;
                if (!bad) ask();
            });
        };
        ask();
        while (!bad || served_meanwhile == 0) loop->run_once();
        return bad->code();
    }
};

TEST_F(hostile, heads_without_end) {
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\n", "X: y\r\n"), errc::too_many_headers);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nX: ", std::string(1000, 'x')), errc::header_too_large);
    EXPECT_EQ(meets("HTTP/1.1 200 ", "because "), errc::header_too_large);
    EXPECT_EQ(meets("", "HTTP/1.1 100 Continue\r\n\r\n"), errc::header_too_large);
    EXPECT_EQ(meets("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), errc::header_too_large);
}
TEST_F(hostile, slow_heads_and_bodies) {
    EXPECT_EQ(meets("H", "\r\n", 10ms), errc::bad_status_line);
    // Response_timeout.
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nX: ", "x", 10ms), errc::timed_out);
    // Body_timeout.
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), errc::timed_out);
    // Total_timeout.
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n", "x", 10ms),
              errc::timed_out);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", 10ms),
              errc::timed_out);
}
TEST_F(hostile, bodies_without_end) {
    const std::string piece(10'000, 'x');
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\n\r\n", piece), errc::body_too_large);
    EXPECT_EQ(
        meets("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "2710\r\n" + piece + "\r\n"),
        errc::body_too_large);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "a=b;"),
              errc::chunk_extension_too_large);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"),
              errc::too_many_headers);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n"),
              errc::bad_content_length);
}
TEST_F(hostile, ambiguous_lengths) {
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy"),
              errc::conflicting_length);
    EXPECT_EQ(
        meets(
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        errc::conflicting_length);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
              errc::bad_transfer_encoding);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), errc::bad_content_length);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n"),
              errc::bad_chunk);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\nContent-Length: 1\n\nx"), errc::bad_line_end);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nContent-Length:\r\n 1\r\n\r\nx"), errc::folded_header);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\nX: y\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
              errc::folded_header);
    EXPECT_EQ(meets("HTTP/1.1 200 OK\r\n X: y\r\nContent-Length: 0\r\n\r\n"), errc::folded_header);
}
// A second response behind the first, in the same bytes or later: whoever asks next must not be
// given it.
TEST_F(hostile, responses_that_nobody_asked_for) {
    // How slow this server is, is not the question.
    options.response_timeout = options.body_timeout = options.total_timeout = 10s;
    for (const bool later : {false, true}) {
        std::atomic<int> left{0};
        raw_server raw([&](raw_server& r) {
            for (int i = 0; i < 2; ++i) {
                auto v = r.accept();
                EXPECT_FALSE(v.request().empty());
                v.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
                if (later) std::this_thread::sleep_for(20ms);
                v.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
                EXPECT_TRUE(v.is_left());
                ++left;
            }
        });
        async_client c(*loop, options);
        for (int i = 0; i < 2; ++i) {
            std::optional<result<reply>> got;
            c.get(raw.url(), [&](result<reply> r) { got.emplace(std::move(r)); });
            while (!got) loop->run_once();
            ASSERT_TRUE(*got) << got->error().message;
            EXPECT_EQ((*got)->body(), "good");
            while (left == i) loop->run_once(5ms);
        }
        EXPECT_EQ(c.connections_opened(), 2U);
    }
}
// The same for the blocking client, whose loop does not run in between: what came meanwhile belongs
// to no request.
TEST_F(hostile, responses_that_came_while_nobody_looked) {
    options.response_timeout = options.body_timeout = options.total_timeout = 10s;
    std::atomic<int> sent{0};
    raw_server raw([&](raw_server& r) {
        for (int i = 0; i < 2; ++i) {
            auto v = r.accept();
            EXPECT_FALSE(v.request().empty());
            v.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
            std::this_thread::sleep_for(20ms);
            v.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
            ++sent;
            EXPECT_TRUE(v.is_left());
        }
    });
    auto c = *client::create(options);
    for (int i = 0; i < 2; ++i) {
        const auto got = c.get(raw.url());
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body(), "good");
        while (sent == i) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(20ms);  // for the kernel, between its two ends
    }
}
// The same for the next request that is sent at once, when more than the response has come but not
// been received: its body came into storage of its own, or it filled the loop's scratch.
TEST_F(hostile, responses_that_wait_behind_another) {
    options.response_timeout = options.body_timeout = options.total_timeout = 10s;
    options.limits.max_body_bytes = 1 << 20;
    const std::string evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    constexpr std::size_t scratch = 8192;
    loop_options small;
    small.receive_bytes = scratch;
    loop = *event_loop::create(small);
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 8000 \r\nX: ";
    const std::string large =
        "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + std::string(300'000, 'x');
    const std::string filling = head + std::string(scratch - 8000 - 4 - head.size(), 'x') +
                                "\r\n\r\n" + std::string(8000, 'x');
    ASSERT_EQ(filling.size(), scratch);
    enum class way : std::uint8_t { large_body, full_scratch, blocking };
    for (const way how : {way::large_body, way::full_scratch, way::blocking}) {
        std::atomic<bool> sent{false};
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            EXPECT_FALSE(v.request().empty());
            v.send((how == way::full_scratch ? filling : large) + evil);
            sent = true;
            EXPECT_TRUE(v.is_left());
            auto w = r.accept();
            EXPECT_FALSE(w.request().empty());
            w.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
            w.request();
        });
        if (how == way::blocking) {
            auto c = *client::create(options);
            EXPECT_TRUE(c.get(raw.url()));
            const auto got = c.get(raw.url());
            EXPECT_TRUE(got && got->body() == "good");
            continue;
        }
        async_client c(*loop, options);
        std::optional<result<reply>> got;
        c.get(raw.url(), [&](result<reply> r) {
            EXPECT_TRUE(r) << r.error().message;
            c.get(raw.url(), [&](result<reply> then) { got.emplace(std::move(then)); });
        });
        while (c.connections_opened() == 0) loop->run_once();
        while (how == way::full_scratch && !sent) std::this_thread::sleep_for(1ms);
        while (!got) loop->run_once();
        EXPECT_TRUE(*got && (*got)->body() == "good");
    }
}
TEST_F(hostile, time_limits_hold_on_a_kept_connection_too) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        v.request();
        v.request();
    });
    auto c = *client::create(options);
    EXPECT_TRUE(c.get(raw.url()));
    EXPECT_EQ(c.get(raw.url()).code(), errc::timed_out);
}

}  // namespace wire::http::pool_test
