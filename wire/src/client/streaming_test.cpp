// Bodies of requests in pieces.
#include "wire/client/streaming.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "raw_server.hpp"
#include "scratch_folder.hpp"
#include "served.hpp"
#include "streaming_client.hpp"
#include "wire/loop/unix_socket.hpp"

namespace wire::http::streaming_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::raw_visitor;
using testing::served;
using streaming = testing::streaming_client;

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
            for (auto at = clock::now(); takes_it && have < size; at += 10ms) {
                std::this_thread::sleep_until(at);  // 128 pieces: more than a second
                const auto n = ::recv(v.fd(), bytes.data(), bytes.size(), MSG_WAITALL);
                if (n <= 0) return;
                have += static_cast<std::size_t>(n);
            }
            if (takes_it) v.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            while (!over) std::this_thread::sleep_for(1ms);
        });
        client_request r = make_request(method::put, raw.url(), std::string(size, 'u'));
        r.timeouts.emplace();
        r.timeouts->response_timeout = 600ms;
        c().send(std::move(r), pieces());
        run();
        over = true;
        EXPECT_EQ(got->code(), takes_it ? errc::none : errc::timed_out);
        made.reset();
    }
}
// As a form that was uploaded is answered with where to look.
TEST_F(streaming, a_source_that_cannot_begin_again_is_not_needed_for_a_get) {
    for (const std::string status : {"301", "302", "303", "307"}) {
        const bool to_get = status != "307";
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            char bytes[6];
            EXPECT_EQ(::recv(v.fd(), bytes, 6, MSG_WAITALL), 6);
            v.send("HTTP/1.1 " + status +
                   " Go\r\nLocation: /there\r\nContent-Length: 4\r\n\r\ngone");
            const std::string next = v.request();
            if (!to_get) return;
            EXPECT_TRUE(next.starts_with("GET /there HTTP/1.1\r\n")) << next;
            EXPECT_EQ(next.find("Content-Length"), std::string::npos);
            v.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        });
        c().send(upload(raw.url(), counted(6, 3, true)), pieces());
        run();
        ASSERT_TRUE(got && *got);
        EXPECT_EQ(std::to_string((*got)->status()), to_get ? "200" : status);
        EXPECT_EQ(body, to_get ? "ok" : "gone");
        made.reset();
    }
}
TEST_F(streaming, a_source_that_cannot_begin_again_may_cancel_its_request) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        char bytes[6];
        EXPECT_EQ(::recv(v.fd(), bytes, 6, MSG_WAITALL), 6);
        v.send("HTTP/1.1 307 Go\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
        v.request();
    });
    request_id id = 0;
    int rewound = 0;
    body_source source = counted(6, 3, true);
    source.rewind = [&] {
        ++rewound;
        c().cancel(id);
    };
    id = c().send(upload(raw.url(), std::move(source)), pieces());
    run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->code(), errc::cancelled);
    EXPECT_EQ(rewound, 1);
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
TEST(blocking_streaming, both_ways) {
    served s([](response res) { res.send(std::string(res.request().body())); }, roomy());
    client_options options;
    options.limits.max_body_bytes = 1000;
    auto c = *client::create(options);
    for (int i = 0; i < 3; ++i) {
        std::size_t n = 0;
        const auto got =
            c.send(streaming::upload(url(s), streaming::counted(2'000'000, 65'536, i == 0)),
                   [&](std::string_view piece) {
                       n += piece.size();
                       return true;
                   });
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(n, 2'000'000U);
    }
    EXPECT_EQ(c.connections_opened(), 1U);
    EXPECT_EQ(c.send(streaming::upload(url(s), streaming::counted(2'000'000, 65'536, true)),
                     [](std::string_view) { return false; })
                  .code(),
              errc::cancelled);
    // Kept whole, it is bounded.
    EXPECT_EQ(c.send(streaming::upload(url(s), streaming::counted(1001, 65'536, true))).code(),
              errc::body_too_large);
    body_source later;
    later.pull = [](buffer&, std::size_t) -> result<source_state> { return source_state::later; };
    EXPECT_EQ(c.send(streaming::upload(url(s), later)).code(), errc::bad_argument);
}
// The server's time begins when it has been given all.
TEST(blocking_streaming, a_source_may_take_longer_than_the_server_may) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        char bytes[2];
        EXPECT_EQ(::recv(v.fd(), bytes, 2, MSG_WAITALL), 2);
        std::this_thread::sleep_for(100ms);
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    client_options options;
    options.response_timeout = options.body_timeout = 300ms;
    auto c = *client::create(options);
    body_source slow;
    slow.length = 2;
    slow.pull = [](buffer& out, std::size_t) -> result<source_state> {
        std::this_thread::sleep_for(500ms);
        out.append("up");
        return source_state::end;
    };
    const auto got = c.send(streaming::upload(raw.url(), std::move(slow)));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->status(), 200);
}

}  // namespace wire::http::streaming_test
