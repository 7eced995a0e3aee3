// Bodies of responses in pieces: pauses, and what ends a request early.
#include "wire/client/streaming.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "raw_server.hpp"
#include "streaming_client.hpp"

namespace wire::http::streamed_response_test {

using namespace std::chrono_literals;
using testing::raw_server;
using streaming = testing::streaming_client;

TEST_F(streaming, responses_of_every_framing_come_in_pieces) {
    std::string large(3'000'000, 'y');
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(large.size()) + "\r\n\r\n" +
               large);
        v.request();
        v.send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
            "chunked\r\n\r\n4\r\nchun\r\n3\r\nked\r\n0\r\n\r\n");
        v.request();
        v.send("HTTP/1.1 204 No Content\r\n\r\n");
        v.request();
        v.send("HTTP/1.1 200 OK\r\n\r\nuntil ");
        v.send("close");
    });
    client_request r;
    r.url = raw.url();
    options.limits.max_body_bytes = 1000;  // is for those that are kept
    const std::string expected[] = {large, "chunked", "", "until close"};
    for (int i = 0; i < 4; ++i) {
        c().send(r, pieces());
        run();
        ASSERT_TRUE(*got) << got->error().message;
        EXPECT_TRUE(body == expected[i]) << body.size();
        EXPECT_EQ(heads, i + 1);
    }
    EXPECT_EQ(c().connections_opened(), 1U);
}
TEST_F(streaming, a_pause_holds_the_server_back) {
    std::atomic<std::size_t> sent{0};
    std::atomic<bool> over{false};
    constexpr std::size_t total = 50'000'000;
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(total) + "\r\n\r\n");
        const std::string piece(100'000, 'z');
        while (sent < total && !over) {
            pollfd p{v.fd(), POLLOUT, 0};
            if (::poll(&p, 1, 10) != 1) continue;
            const auto n = ::send(v.fd(), piece.data(), std::min(piece.size(), total - sent),
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n > 0) sent += static_cast<std::size_t>(n);
        }
    });
    options.body_timeout = 200ms;
    std::size_t received = 0;
    int pauses = 0;
    bool paused = false;
    request_id id = 0;
    auto to = pieces();
    to.data = [&](std::string_view piece) {
        EXPECT_FALSE(paused);
        received += piece.size();
        if (pauses == 0 || (pauses < 50 && received % 7 == 0)) {
            ++pauses;
            paused = true;
            c().pause(id);
        }
    };
    client_request r;
    r.url = raw.url();
    id = c().send(std::move(r), std::move(to));
    while (pauses == 0) loop->run_once();
    run_for(400ms);  // longer than body_timeout
    EXPECT_LT(sent, total);
    EXPECT_LT(received, 200'000U);
    while (!got) {
        if (paused) {
            paused = false;
            c().resume(id);
        }
        loop->run_once(1s);
    }
    over = true;
    ASSERT_TRUE(*got) << got->error().message;
    EXPECT_EQ(received, total);
}
TEST_F(streaming, a_pause_at_the_last_byte_and_at_the_end_of_the_connection) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
        v.request();
        v.send("HTTP/1.1 200 OK\r\n\r\nabc");
    });
    for (int i = 0; i < 2; ++i) {
        client_request r;
        r.url = raw.url();
        auto to = pieces();
        request_id id = 0;
        to.data = [&](std::string_view piece) {
            body += piece;
            c().pause(id);
        };
        id = c().send(std::move(r), std::move(to));
        run_for(50ms);
        EXPECT_FALSE(got);
        EXPECT_EQ(body, "abc");
        c().resume(id);
        run();
        EXPECT_TRUE(*got);
    }
}
// Whether the response was whole by then or not.
TEST_F(streaming, what_came_before_a_reset_is_given_after_a_pause) {
    for (const bool whole : {true, false}) {
        raw_server raw([whole](raw_server& r) {
            auto v = r.accept();
            v.request();
            v.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                "3\r\nabc\r\n3\r\ndef\r\n" +
                std::string(whole ? "0\r\n\r\n" : ""));
            std::this_thread::sleep_for(20ms);
            v.reset();
        });
        client_request r;
        r.url = raw.url();
        auto to = pieces();
        body.clear();
        got.reset();
        request_id id = 0;
        to.data = [&](std::string_view piece) {
            body += piece;
            c().pause(id);
        };
        id = c().send(std::move(r), std::move(to));
        run_for(50ms);
        EXPECT_FALSE(got);
        EXPECT_EQ(body, "abc");
        c().resume(id);
        run_for(5ms);
        EXPECT_FALSE(got);
        EXPECT_EQ(body, "abcdef");
        c().resume(id);
        run();
        EXPECT_EQ(static_cast<bool>(*got), whole);
        if (!whole) {
            EXPECT_EQ(got->code(), errc::reset);
        }
    }
}
TEST_F(streaming, cancelling_after_a_reset_in_a_pause) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
        std::this_thread::sleep_for(20ms);
        v.reset();
    });
    client_request r;
    r.url = raw.url();
    auto to = pieces();
    request_id id = 0;
    to.data = [&](std::string_view) { c().pause(id); };
    id = c().send(std::move(r), std::move(to));
    run_for(50ms);
    EXPECT_FALSE(got);
    c().cancel(id);
    run();
    EXPECT_EQ(got->code(), errc::cancelled);
}
TEST_F(streaming, a_pause_right_after_going_on_holds) {
    std::atomic<bool> go{false};
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
        while (!go) std::this_thread::sleep_for(1ms);
        v.send("def");
        v.request();
    });
    client_request r;
    r.url = raw.url();
    auto to = pieces();
    request_id id = 0;
    to.data = [&](std::string_view piece) {
        body += piece;
        c().pause(id);
    };
    id = c().send(std::move(r), std::move(to));
    ASSERT_TRUE(run_until([&] { return !body.empty(); }));
    c().resume(id);
    c().pause(id);
    go = true;
    run_for(50ms);
    EXPECT_EQ(body, "abc");
    c().resume(id);
    ASSERT_TRUE(run_until([&] { return body == "abcdef"; }));
    c().resume(id);
    run();
    EXPECT_TRUE(*got);
    made.reset();
}
TEST_F(streaming, cancelling_closes_the_connection) {
    raw_server raw([](raw_server& r) {
        for (int i = 0; i < 2; ++i) {
            auto v = r.accept();
            v.request();
            if (i == 1) v.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc");
            EXPECT_EQ(v.request(), "");
        }
    });
    client_request r;
    r.url = raw.url();
    auto id = c().send(r, pieces());
    run_for(20ms);
    c().cancel(id);
    EXPECT_FALSE(got);  // from the loop
    run();
    EXPECT_EQ(got->code(), errc::cancelled);
    c().cancel(id);  // names nothing any more
    c().pause(id);
    auto to = pieces();
    to.data = [&](std::string_view piece) {
        body += piece;
        c().cancel(id);
    };
    id = c().send(r, std::move(to));
    run();
    EXPECT_EQ(got->code(), errc::cancelled);
    EXPECT_EQ(body, "abc");
    // One that waits for a connection, and one that has not begun.
    id = c().send(r, pieces());
    c().cancel(id);
    run();
    EXPECT_EQ(got->code(), errc::cancelled);
}
TEST_F(streaming, cancelling_ends_the_wait_before_a_retry) {
    options.retry.max_retries = 5;
    options.retry.first_pause = options.retry.max_pause = 1h;
    options.retry.max_total = 10h;
    options.total_timeout = 50ms;
    client_request r;
    r.url = "http://127.0.0.1:1/";
    c().send(r, pieces());
    run();
    EXPECT_EQ(got->code(), errc::timed_out);
    r.timeouts.emplace();
    const auto id = c().send(r, pieces());
    run_for(30ms);
    EXPECT_FALSE(got);
    c().cancel(id);
    run();
    EXPECT_EQ(got->code(), errc::cancelled);
}
TEST_F(streaming, the_total_time_is_bounded_wherever_a_request_is) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        for (int i = 0; i < 1000; ++i) {
            if (::send(v.fd(), "x", 1, MSG_NOSIGNAL) != 1) return;
            std::this_thread::sleep_for(5ms);
        }
    });
    options.total_timeout = 100ms;
    options.max_connections_per_host = 1;
    std::vector<std::string> ends;
    for (int i = 0; i < 3; ++i) {  // the others wait
        c().get(raw.url(), [&](result<reply> r) { ends.push_back(r.error().message); });
    }
    while (ends.size() < 3) loop->run_once();
    for (const auto& end : ends)
        EXPECT_NE(end.find("total: not finished within 100 ms"), std::string::npos) << end;
}
TEST_F(streaming, redirects_are_followed_before_pieces_are_given) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 4\r\n\r\nhere");
        EXPECT_EQ(v.request().substr(0, 11), "GET /there ");
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere");
    });
    client_request r;
    r.url = raw.url();
    c().send(r, pieces());
    run();
    EXPECT_EQ(body, "there");
    EXPECT_EQ(heads, 1);
    EXPECT_EQ((*got)->status(), 200);
}
// Retries might have been about these, and are not: they come as others do.
TEST_F(streaming, failures_that_are_not_retried_come_in_pieces_too) {
    raw_server raw([](raw_server& r) {
        for (int i = 0; i < 2; ++i) {
            auto v = r.accept();
            while (!v.request().empty())
                v.send("HTTP/1.1 503 No\r\nRetry-After: 9999\r\nContent-Length: 4\r\n\r\nbusy");
        }
    });
    options.retry.max_retries = 3;
    for (const method m : {method::post, method::get}) {
        heads = 0;
        c().send(make_request(m, raw.url()), pieces());
        run();
        ASSERT_TRUE(*got) << got->error().message;
        EXPECT_EQ((*got)->status(), 503);
        EXPECT_EQ((*got)->body(), "");
        EXPECT_EQ(heads, 1);
        EXPECT_EQ(body, "busy");
    }
    for (const bool at_head : {true, false}) {  // and may be cancelled
        auto to = pieces();
        request_id id = 0;
        to.head = [&](const reply&) {
            if (at_head) c().cancel(id);
        };
        to.data = [&](std::string_view piece) {
            body += piece;
            c().cancel(id);
        };
        id = c().send(make_request(method::get, raw.url()), std::move(to));
        run();
        EXPECT_EQ(got->code(), errc::cancelled);
        EXPECT_EQ(body, at_head ? "" : "busy");
    }
    made.reset();
    auto blocking = *client::create(options);
    std::string all;
    const auto end = blocking.send(make_request(method::get, raw.url()), [&](std::string_view p) {
        all += p;
        return true;
    });
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(all, "busy");
    EXPECT_EQ(end->body(), "");
}
TEST_F(streaming, what_was_given_away_is_not_asked_for_again) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nth");
    });
    options.retry.max_retries = 3;
    client_request r;
    r.url = raw.url();
    c().send(r, pieces());
    run();
    EXPECT_EQ(got->code(), errc::closed_early);
    EXPECT_EQ(body, "th");
}

}  // namespace wire::http::streamed_response_test
