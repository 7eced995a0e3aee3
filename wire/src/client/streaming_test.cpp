// Bodies in pieces, both ways, and what ends a request early.
#include "wire/client/streaming.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "loop_client.hpp"
#include "raw_server.hpp"
#include "scratch_folder.hpp"
#include "served.hpp"
#include "wire/loop/unix_socket.hpp"

namespace wire::http::streaming_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::raw_visitor;
using testing::served;

struct fixture : testing::loop_client {
    std::string body;
    std::optional<result<reply>> got;
    int heads = 0;

    response_pieces pieces() {
        got.reset();
        body.clear();
        response_pieces to;
        to.head = [this](const reply& r) {
            ++heads;
            EXPECT_EQ(r.body(), "");
        };
        to.data = [this](std::string_view piece) { body += piece; };
        to.end = [this](result<reply> r) { got.emplace(std::move(r)); };
        return to;
    }
    void run() {
        ASSERT_TRUE(run_until([&] { return got.has_value(); }));
    }
    void run_for(std::chrono::milliseconds time) {
        const auto until = clock::now() + time;
        while (clock::now() < until) loop->run_once(until - clock::now());
    }
    // Sends n bytes in pieces of that size.
    static body_source counted(std::size_t n, std::size_t piece, bool known) {
        body_source s;
        s.pull = [n, piece, sent = std::size_t{0}](
                     buffer& out, std::size_t most) mutable -> result<source_state> {
            const std::size_t now = std::min({piece, most, n - sent});
            out.append(std::string(now, 'u'));
            sent += now;
            return sent == n ? source_state::end : source_state::more;
        };
        if (known) s.length = n;
        return s;
    }
    static client_request upload(std::string url, body_source s) {
        client_request r;
        r.method = method::post;
        r.url = std::move(url);
        r.source = std::move(s);
        return r;
    }
};
using streaming = fixture;

std::string url(const served& s, const std::string& target = "/") {
    return "http://127.0.0.1:" + std::to_string(s.port()) + target;
}
void count_body(response res) { res.send(std::to_string(res.request().body().size())); }
http::server_options roomy() {
    http::server_options o;
    o.limits.max_body_bytes = 64 << 20;
    return o;
}

TEST_F(streaming, uploads_of_every_size_known_and_not) {
    served s(count_body, roomy());
    for (const std::size_t n : {1UL, 100UL, 65'536UL, 65'537UL, 1'000'000UL, 20'000'000UL}) {
        for (const bool known : {true, false}) {
            client_request r = upload(url(s), counted(n, 50'000, known));
            c().send(std::move(r), pieces());
            run();
            ASSERT_TRUE(*got) << got->error().message;
            EXPECT_EQ(body, std::to_string(n));
        }
    }
    // An empty one, of known length and chunked.
    c().send(upload(url(s), counted(0, 1, true)), pieces());
    run();
    EXPECT_EQ(body, "0");
    c().send(upload(url(s), counted(0, 1, false)), pieces());
    run();
    EXPECT_EQ(body, "0");
    EXPECT_EQ(c().connections_opened(), 1U);
    EXPECT_EQ((*got)->body(), "");
}
TEST_F(streaming, a_source_that_has_nothing_yet_is_asked_again_when_told) {
    served s(count_body);
    int left = 3;
    body_source slow;
    slow.pull = [&](buffer& out, std::size_t) -> result<source_state> {
        out.append("abc");
        return --left == 0 ? source_state::end : source_state::later;
    };
    options.body_timeout = 30ms;  // waits for the server, not for us
    const auto id = c().send(upload(url(s), std::move(slow)), pieces());
    for (int i = 0; i < 2; ++i) {
        run_for(60ms);
        EXPECT_FALSE(got);
        c().resume_body(id);
    }
    run();
    EXPECT_EQ(body, "9");
}
// Whoever fills the source may do so at once, when it is asked.
TEST_F(streaming, a_source_may_be_told_of_more_before_it_has_answered) {
    served s(count_body);
    for (const bool known : {true, false}) {
        request_id id = 0;
        int asked = 0;
        body_source source;
        if (known) source.length = 4;
        source.pull = [&](buffer& out, std::size_t) -> result<source_state> {
            if (++asked == 2) {
                out.append("more");
                return source_state::end;
            }
            c().resume_body(id);
            return source_state::later;
        };
        got.reset();
        id = c().send(upload(url(s), source), [&](result<reply> r) { got.emplace(std::move(r)); });
        run();
        ASSERT_TRUE(got && *got);
        EXPECT_EQ((*got)->body(), "4");
        EXPECT_EQ(asked, 2);
    }
}
TEST_F(streaming, a_server_that_takes_nothing_is_not_waited_for_while_the_source_has_nothing) {
    const testing::scratch_folder folder;
    const auto door = listen_unix(folder.file("s"));  // whose connections nobody accepts
    ASSERT_TRUE(door) << door.error().message;
    options.unix_socket = folder.file("s");
    options.body_timeout = 20ms;
    int pulls = 0;
    body_source slow;
    slow.pull = [&](buffer& out, std::size_t most) -> result<source_state> {
        ++pulls;
        out.append(std::string(most, 'x'));
        return source_state::later;
    };
    const auto id = c().send(upload("http://localhost/", std::move(slow)), pieces());
    int resumed = 0;
    for (; resumed < 1000; ++resumed) {
        for (const auto until = clock::now() + 100ms; !got && clock::now() < until;)
            loop->run_once(5ms);
        if (got) break;
        c().resume_body(id);
    }
    ASSERT_TRUE(got);
    EXPECT_EQ(got->code(), errc::timed_out);
    EXPECT_EQ(pulls, resumed + 1);  // it ended without having been told to go on
}
TEST_F(streaming, a_source_is_held_to_its_word) {
    served s(count_body);
    const auto with = [&](auto pull, std::optional<std::uint64_t> length) {
        body_source source;
        source.pull = pull;
        source.length = length;
        c().send(upload(url(s), std::move(source)), pieces());
        run();
        return got->code();
    };
    const auto end_early = [](buffer& out, std::size_t) -> result<source_state> {
        out.append("x");
        return source_state::end;
    };
    const auto nothing = [](buffer&, std::size_t) -> result<source_state> {
        return source_state::more;
    };
    const auto too_much = [](buffer& out, std::size_t most) -> result<source_state> {
        out.append(std::string(most + 1, 'x'));
        return source_state::more;
    };
    EXPECT_EQ(with(end_early, 2), errc::bad_argument);
    EXPECT_EQ(with(nothing, 2), errc::bad_argument);
    EXPECT_EQ(with(too_much, 2), errc::bad_argument);
    EXPECT_EQ(with(too_much, std::nullopt), errc::bad_argument);
    EXPECT_EQ(with([](buffer&, std::size_t)
                       -> result<source_state> { return error(errc::system_error, "the disk"); },
                   2),
              errc::system_error);
    EXPECT_NE(got->error().message.find("request body: the disk"), std::string::npos)
        << got->error().message;
}
TEST_F(streaming, is_pulled_only_as_the_server_takes_it) {
    std::atomic<bool> release{false};
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        while (!release) std::this_thread::sleep_for(1ms);
    });
    std::size_t pulled = 0;
    body_source endless;
    endless.pull = [&](buffer& out, std::size_t most) -> result<source_state> {
        out.append(std::string(most, 'x'));
        pulled += most;
        return source_state::more;
    };
    options.body_timeout = 100ms;
    c().send(upload(raw.url(), std::move(endless)), pieces());
    run();
    EXPECT_EQ(got->code(), errc::timed_out);
    EXPECT_NE(got->error().message.find("request body: the server took nothing"), std::string::npos)
        << got->error().message;
    EXPECT_LT(pulled, 32U << 20);  // the kernel's buffers, and one piece
    release = true;
}
TEST_F(streaming, waits_for_100_continue_within_bounds) {
    const auto with = [&](auto answer) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            EXPECT_NE(v.request().find("Expect: 100-continue\r\n"), std::string::npos);
            answer(v);
        });
        client_request r = upload(raw.url(), counted(6, 3, true));
        r.expect_continue = true;
        c().send(std::move(r), pieces());
        run();
    };
    const auto body_of = [](raw_visitor& v) {
        char bytes[6];
        return std::string(bytes, static_cast<std::size_t>(
                                      std::max<ssize_t>(0, ::recv(v.fd(), bytes, 6, MSG_WAITALL))));
    };
    options.continue_timeout = 1h;
    with([&](raw_visitor& v) {
        v.send("HTTP/1.1 100 Continue\r\n\r\n");
        EXPECT_EQ(body_of(v), "uuuuuu");
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    EXPECT_EQ(body, "ok");
    // Refused: nothing of the body is sent, and the connection is not used again.
    with([&](raw_visitor& v) {
        v.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        EXPECT_EQ(body_of(v), "");
    });
    EXPECT_EQ((*got)->status(), 413);
    made.reset();
    options.continue_timeout = 20ms;
    with([&](raw_visitor& v) {
        EXPECT_EQ(body_of(v), "uuuuuu");  // the server does not know the expectation
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    EXPECT_EQ(body, "ok");
}
TEST_F(streaming, expects_nothing_without_content) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        EXPECT_EQ(v.request().find("Expect"), std::string::npos);
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    client_request r = upload(raw.url(), counted(0, 1, true));
    r.expect_continue = true;
    options.continue_timeout = 1h;
    c().send(std::move(r), pieces());
    run();
    EXPECT_EQ((*got)->status(), 200);
}
TEST_F(streaming, repeats_without_the_expectation_that_fails) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        EXPECT_NE(v.request().find("Expect: 100-continue\r\n"), std::string::npos);
        v.send("HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        auto w = r.accept();
        EXPECT_EQ(w.request().find("Expect"), std::string::npos);
        char bytes[6];
        EXPECT_EQ(::recv(w.fd(), bytes, 6, MSG_WAITALL), 6);
        w.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    });
    client_request r = upload(raw.url(), counted(6, 3, true));
    r.expect_continue = true;
    options.continue_timeout = 1h;
    c().send(std::move(r), pieces());
    run();
    EXPECT_EQ((*got)->status(), 200);
    EXPECT_EQ(body, "ok");
}
// It closes with unread bytes, so that the kernel resets the connection: what it said before that
// is what the caller needs.
TEST_F(streaming, a_refusal_is_heard_though_sending_fails) {
    if (loop->engine() == loop_engine::io_uring) GTEST_SKIP() << "the readiness engines do so";
    constexpr int rounds = 20;
    raw_server raw([](raw_server& r) {
        for (int i = 0; i < rounds; ++i) {
            auto v = r.accept();
            v.request();
            v.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    for (int i = 0; i < rounds; ++i) {
        c().send(upload(raw.url(), counted(64 << 20, 1 << 20, true)), pieces());
        run();
        ASSERT_TRUE(*got) << got->error().message;
        EXPECT_EQ((*got)->status(), 413);
    }
}
TEST_F(streaming, an_answer_before_the_end_of_the_request_ends_the_connection) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
        auto w = r.accept();
        w.request();
        w.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    body_source slow;
    slow.pull = [](buffer& out, std::size_t) -> result<source_state> {
        out.append("x");
        return source_state::later;
    };
    c().send(upload(raw.url(), std::move(slow)), pieces());
    run();
    EXPECT_EQ((*got)->status(), 403);
    client_request r;
    r.url = raw.url();
    c().send(std::move(r), pieces());
    run();
    EXPECT_EQ((*got)->status(), 200);
    EXPECT_EQ(c().connections_opened(), 2U);
}
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
// The server begins its response at once, and needs the whole body for the rest of it.
TEST_F(streaming, a_response_may_wait_for_the_rest_of_a_slow_body) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        std::string rest;
        for (char c; !rest.ends_with("\r\n0\r\n\r\n") && ::recv(v.fd(), &c, 1, 0) == 1;) rest += c;
        v.send("ok");
        v.request();
    });
    options.body_timeout = 100ms;
    int left = 4;
    body_source slow;
    slow.pull = [&](buffer& out, std::size_t) -> result<source_state> {
        out.append("abc");
        return --left == 0 ? source_state::end : source_state::later;
    };
    const auto id = c().send(upload(raw.url(), std::move(slow)), pieces());
    for (int i = 0; i < 3; ++i) {
        run_for(i == 0 ? 150ms : 60ms);  // longer than body_timeout, and altogether
        ASSERT_FALSE(got) << got->error().message;
        c().resume_body(id);
    }
    run();
    ASSERT_TRUE(*got) << got->error().message;
    EXPECT_EQ(body, "ok");
    made.reset();
}
TEST_F(streaming, the_time_for_an_answer_begins_when_a_kept_body_is_sent) {
    constexpr std::size_t size = 32 << 20;
    for (const bool takes_it : {true, false}) {
        std::atomic<bool> over{false};
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            std::string bytes(256 << 10, ' ');
            std::size_t have = 0;
            for (auto at = clock::now(); takes_it && have < size; at += 4ms) {
                std::this_thread::sleep_until(at);  // 128 pieces: about half a second
                const auto n = ::recv(v.fd(), bytes.data(), bytes.size(), MSG_WAITALL);
                if (n <= 0) return;
                have += static_cast<std::size_t>(n);
            }
            if (takes_it) v.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            while (!over) std::this_thread::sleep_for(1ms);
        });
        client_request r = make_request(method::put, raw.url(), std::string(size, 'u'));
        r.timeouts.emplace();
        r.timeouts->response_timeout = 150ms;
        c().send(std::move(r), pieces());
        run();
        over = true;
        EXPECT_EQ(got->code(), takes_it ? errc::none : errc::timed_out);
        made.reset();
    }
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
TEST_F(streaming, a_source_without_bytes_is_not_asked_and_may_be_sent_again) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        for (const std::string answer : {"307 Go\r\nLocation: /there", "200 OK"}) {
            EXPECT_NE(v.request().find("\r\nContent-Length: 0\r\n"), std::string::npos);
            v.send("HTTP/1.1 " + answer + "\r\nContent-Length: 0\r\n\r\n");
        }
    });
    c().send(upload(raw.url(), counted(0, 1, true)), pieces());
    run();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ((*got)->status(), 200);
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
TEST(blocking_streaming, both_ways) {
    served s([](response res) { res.send(std::string(res.request().body())); }, roomy());
    client_options options;
    options.limits.max_body_bytes = 1000;
    auto c = *client::create(options);
    for (int i = 0; i < 3; ++i) {
        std::size_t n = 0;
        const auto got =
            c.send(fixture::upload(url(s), fixture::counted(2'000'000, 65'536, i == 0)),
                   [&](std::string_view piece) {
                       n += piece.size();
                       return true;
                   });
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(n, 2'000'000U);
    }
    EXPECT_EQ(c.connections_opened(), 1U);
    EXPECT_EQ(c.send(fixture::upload(url(s), fixture::counted(2'000'000, 65'536, true)),
                     [](std::string_view) { return false; })
                  .code(),
              errc::cancelled);
    // Kept whole, it is bounded.
    EXPECT_EQ(c.send(fixture::upload(url(s), fixture::counted(1001, 65'536, true))).code(),
              errc::body_too_large);
    body_source later;
    later.pull = [](buffer&, std::size_t) -> result<source_state> { return source_state::later; };
    EXPECT_EQ(c.send(fixture::upload(url(s), later)).code(), errc::bad_argument);
}

}  // namespace wire::http::streaming_test
