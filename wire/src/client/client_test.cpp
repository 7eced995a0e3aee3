// What every user of the clients relies on: requests, replies, time limits, errors, and what a
// client leaves behind when it is destroyed.
#include "wire/client/client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"

namespace wire::http::client_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;

void mirror(response res) {
    const auto& r = res.request();
    res.header("X-Host", r.authority());
    res.body() =
        std::string(r.method_text()) + " " + std::string(r.target()) + " " + std::string(r.body());
    res.send();
}
std::string url(const served& s, const std::string& target = "/") {
    return "http://127.0.0.1:" + std::to_string(s.port()) + target;
}

std::string show(const result<reply>& r) {
    return r ? std::to_string(r->status()) + " " + std::string(r->body())
             : std::string(to_string(r.code()));
}
client make(client_options options = {}) {
    auto made = client::create(std::move(options));
    EXPECT_TRUE(made);
    return *std::move(made);
}

TEST(client, asks_again_on_the_same_connection) {
    served s(mirror);
    client c = make();
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(show(c.get(url(s, "/a?b=" + std::to_string(i)))),
                  "200 GET /a?b=" + std::to_string(i) + " ");
    const auto got = c.post(url(s), "body", "text/plain");
    EXPECT_EQ(show(got), "200 POST / body");
    EXPECT_EQ(got->header("x-host"), "127.0.0.1:" + std::to_string(s.port()));
    EXPECT_EQ(got->reason(), "OK");
    EXPECT_EQ(c.connections_opened(), 1U);
}
std::size_t open_files() {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
        ++n;
    return n;
}
TEST(client, has_no_descriptor_but_its_connection) {
    std::size_t asked = 0;
    raw_server s([&](raw_server& self) {
        auto visitor = self.accept();
        visitor.request();
        asked = open_files();
        visitor.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    const std::size_t before = open_files();
    client c = make();
    EXPECT_EQ(show(c.get("http://127.0.0.1:" + std::to_string(s.port()) + "/")), "200 ");
    s.finish();
    EXPECT_EQ(asked, before + 2);  // both ends
}
TEST(client, every_method_and_own_fields) {
    served s([](response res) {
        const auto& r = res.request();
        res.body() = std::string(r.method_text()) + " " +
                     std::string(r.header("x-a").value_or("-")) + " " +
                     std::string(r.header("content-length").value_or("-")) + " " +
                     std::string(r.header("user-agent").value_or("-"));
        res.send();
    });
    client_options options;
    options.user_agent = "me/1";
    client c = make(options);
    const auto ask = [&](method m) {
        client_request r;
        r.method = m;
        r.url = url(s);
        r.headers = {{"X-A", "1"}, {"Content-Length", "999"}};
        return show(c.send(r));
    };
    EXPECT_EQ(ask(method::get), "200 GET 1 - me/1");
    EXPECT_EQ(ask(method::post), "200 POST 1 0 me/1");
    EXPECT_EQ(ask(method::delete_), "200 DELETE 1 - me/1");
    EXPECT_EQ(ask(method::head), "200 ");
    EXPECT_EQ(ask(method::get), "200 GET 1 - me/1");
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST(client, a_user_agent_of_the_request_replaces_the_clients) {
    served s([](response res) {
        std::string agents;
        for (const header& h : res.request().headers())
            if (equals_ignoring_case(h.name, "user-agent")) agents += std::string(h.value) + ";";
        res.send(agents);
    });
    client_options options;
    options.user_agent = "client/1";
    client c = make(options);
    client_request r;
    r.url = url(s);
    EXPECT_EQ(show(c.send(r)), "200 client/1;");
    r.headers = {{"user-agent", "request/1"}};
    EXPECT_EQ(show(c.send(r)), "200 request/1;");
}
TEST(client, bodies_of_every_size_and_framing) {
    client_options options;
    client c = make(options);
    served s([](response res) {
        res.send(std::string(std::stoul(std::string(res.request().query())), 'x'));
    });
    for (const std::size_t n :
         {0UL, 1UL, 1000UL, 65'000UL, 70'000UL, 1'000'000UL, 1'048'576UL, 5'000'000UL}) {
        const auto got = c.get(url(s, "/?" + std::to_string(n)));
        ASSERT_TRUE(got);
        EXPECT_TRUE(got->body() == std::string(n, 'x')) << n;
    }
    EXPECT_EQ(c.connections_opened(), 1U);
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
            "chunked\r\n\r\n4\r\nchun\r\n3\r\nked\r\n0\r\n\r\n");
        v.request();
        v.send("HTTP/1.1 200 OK\r\n\r\nuntil ");
        v.send("close");
    });
    EXPECT_EQ(show(c.get(raw.url())), "200 chunked");
    EXPECT_EQ(show(c.get(raw.url())), "200 until close");
}
TEST(client, responses_however_cut) {
    const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\nabc";
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        const int on = 1;
        ::setsockopt(v.fd(), IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof on);
        for (std::size_t i = 1; i < text.size(); ++i) {
            if (v.request().empty()) return;
            v.send(text.substr(0, i));
            std::this_thread::sleep_for(1ms);
            v.send(text.substr(i));
        }
    });
    client c = make();
    for (std::size_t i = 1; i < text.size(); ++i) {
        const auto got = c.get(raw.url());
        ASSERT_EQ(show(got), "200 abc");
        ASSERT_EQ(got->header("x"), "y");
    }
}
TEST(client, a_reply_stays_whole_when_moved_and_when_the_connection_is_used_again) {
    served s(mirror);
    client c = make();
    auto first = *c.get(url(s, "/first"));
    const reply moved = std::move(first);
    EXPECT_EQ(show(c.get(url(s, "/second"))), "200 GET /second ");
    EXPECT_EQ(moved.body(), "GET /first ");
    EXPECT_EQ(moved.header("content-length"), "11");
}
TEST(client, retries_when_a_kept_connection_had_been_closed) {
    raw_server raw([](raw_server& r) {
        for (int i = 0; i < 3; ++i) {
            auto v = r.accept();
            v.request();
            v.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + std::to_string(i));
        }  // closed though it had promised to stay
    });
    client c = make();
    EXPECT_EQ(show(c.get(raw.url())), "200 0");
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(show(c.get(raw.url())), "200 1");
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(show(c.post(raw.url(), "once")), "200 2");  // found out beforehand: never sent twice
    EXPECT_EQ(c.connections_opened(), 3U);
}
TEST(client, does_not_retry_what_may_have_been_done) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        v.request();
        v.reset();
        EXPECT_FALSE(r.anyone(100));
    });
    client c = make();
    EXPECT_EQ(show(c.get(raw.url())), "200 x");
    EXPECT_EQ(show(c.post(raw.url(), "once")), "connection reset by the peer");
}
TEST(client, sends_a_repeatable_request_again_once) {
    for (const bool mends : {true, false}) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            v.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
            v.request();
            v.reset();
            if (!r.anyone(1000)) {
                ADD_FAILURE() << "not sent again";
                return;
            }
            auto again = r.accept();
            EXPECT_FALSE(again.request().empty());
            if (mends) {
                again.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
            } else {
                again.reset();
                EXPECT_FALSE(r.anyone(100));
            }
        });
        client c = make();
        EXPECT_EQ(show(c.get(raw.url())), "200 x");
        client_request r = make_request(method::post, raw.url(), "key 1");
        r.repeatable = true;
        EXPECT_EQ(show(c.send(r)), mends ? "200 done" : "connection reset by the peer");
    }
}
TEST(client, honours_close) {
    served s([](response res) { res.close_connection().send("x"); });
    client c = make();
    EXPECT_EQ(show(c.get(url(s))), "200 x");
    EXPECT_EQ(show(c.get(url(s))), "200 x");
    EXPECT_EQ(c.connections_opened(), 2U);
}
TEST(client, failures_say_which) {
    client_options options;
    options.response_timeout = 50ms;
    options.body_timeout = 50ms;
    options.limits.max_body_bytes = 10;
    client c = make(options);
    const auto with = [&](const std::string& answer) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            v.send(answer);
            // Until the client has had enough.
            if (answer.find("stall") != std::string::npos || answer.empty()) v.request();
        });
        return c.get(raw.url("/x")).code();
    };
    EXPECT_EQ(with("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), errc::closed_early);
    EXPECT_EQ(with("HTTP/1.1 200 OK\r\nContent-Len"), errc::closed_early);
    EXPECT_EQ(with("SSH-2.0-x\r\n"), errc::bad_status_line);
    EXPECT_EQ(with("HTTP/1.1 200 OK\r\nA : b\r\n\r\n"), errc::bad_header_name);
    EXPECT_EQ(with("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n"), errc::body_too_large);
    EXPECT_EQ(with("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nstall"), errc::timed_out);
    EXPECT_EQ(with(""), errc::timed_out);
    std::string gone;
    {
        raw_server raw([](raw_server&) {});
        gone = raw.url();
    }
    const auto refused = c.get(gone);
    EXPECT_EQ(refused.code(), errc::refused);
    EXPECT_NE(refused.error().message.find(gone), std::string::npos) << refused.error().message;
    EXPECT_EQ(c.get("nonsense").code(), errc::bad_url);
    EXPECT_EQ(c.get("ws://127.0.0.1/").code(), errc::bad_url);
    EXPECT_EQ(c.get("http://no..such.name.invalid/").code(), errc::not_resolved);
}
TEST(client, time_limits_may_be_for_ever) {
    served s(mirror);
    constexpr auto forever = std::chrono::milliseconds::max();
    client_options options;
    options.resolve_timeout = options.connect_timeout = forever;
    options.response_timeout = options.body_timeout = options.total_timeout = forever;
    options.idle_timeout = forever;
    options.resolve = [](const std::string&, std::uint16_t port) -> result<std::vector<address>> {
        return std::vector<address>{address::loopback_v4(port)};
    };
    client c = make(options);
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(show(c.get("http://name:" + std::to_string(s.port()) + "/")), "200 GET / ");
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST(client, refuses_to_send_what_would_split_the_request) {
    served s(mirror);
    client c = make();
    client_request r;
    r.url = url(s);
    r.headers = {{"X", "a\r\nY: b"}};
    EXPECT_EQ(c.send(r).code(), errc::bad_header_value);
    r.headers = {{"X Y", "a"}};
    EXPECT_EQ(c.send(r).code(), errc::bad_header_name);
    EXPECT_EQ(c.get(url(s, "/a b")).code(), errc::bad_url);
    EXPECT_EQ(show(c.get(url(s))), "200 GET / ");
}
TEST(client, bytes_nobody_asked_for_end_the_connection) {
    raw_server raw([](raw_server& r) {
        for (int i = 0; i < 2; ++i) {
            auto v = r.accept();
            v.request();
            v.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Length: "
                "1\r\n\r\ny");
            v.request();
        }
    });
    client c = make();
    EXPECT_EQ(show(c.get(raw.url())), "200 x");
    EXPECT_EQ(show(c.get(raw.url())), "200 x");
    EXPECT_EQ(c.connections_opened(), 2U);
}

TEST(async_client, many_at_once_over_a_bounded_number_of_connections) {
    blocking_pool pool(4);
    served s([&](response res) {
        pool.run([res = std::move(res)]() mutable { mirror(std::move(res)); });
    });
    auto loop = *event_loop::create();
    client_options options;
    options.max_connections_per_host = 5;
    options.max_idle_per_host = 2;
    async_client c(*loop, options);
    int left = 200;
    for (int i = 0; i < 200; ++i) {
        c.get(url(s, "/" + std::to_string(i)), [&, i](result<reply> r) {
            EXPECT_EQ(show(r), "200 GET /" + std::to_string(i) + " ");
            --left;
        });
    }
    EXPECT_EQ(left, 200);
    while (left > 0) loop->run_once();
    EXPECT_EQ(c.connections_opened(), 5U);
}
TEST(async_client, from_inside_a_callback) {
    served s(mirror);
    auto loop = *event_loop::create();
    async_client c(*loop);
    int n = 0;
    std::function<void(result<reply>)> again = [&](result<reply> r) {
        EXPECT_EQ(show(r), "200 GET / ");
        if (++n < 100) c.get(url(s), [&](result<reply> r) { again(std::move(r)); });
    };
    c.get(url(s), [&](result<reply> r) { again(std::move(r)); });
    while (n < 100) loop->run_once();
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST(async_client, names_are_looked_up) {
    served s(mirror);
    auto loop = *event_loop::create();
    client_options options;
    options.resolve = [](const std::string& host, std::uint16_t port) {
        return resolve(host, port);
    };
    async_client c(*loop, options);
    std::string got;
    c.get("http://localhost:" + std::to_string(s.port()) + "/",
          [&](result<reply> r) { got = show(r); });
    while (got.empty()) loop->run_once();
    EXPECT_EQ(got, "200 GET / ");  // by 127.0.0.1, whatever other address was tried before
}
TEST(async_client, what_is_unfinished_ends_with_the_client) {
    std::atomic<bool> release{false};
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        while (!release) std::this_thread::yield();
    });
    auto loop = *event_loop::create();
    std::vector<errc> ends;
    {
        client_options options;
        options.max_connections_per_host = 1;
        options.resolve = [](const std::string&,
                             std::uint16_t port) -> result<std::vector<address>> {
            return std::vector<address>{address::loopback_v4(port)};
        };
        async_client c(*loop, options);
        const auto note = [&](result<reply> r) { ends.push_back(r.code()); };
        c.get(raw.url(), note);                 // under way
        c.get(raw.url(), note);                 // waiting
        c.get("http://some.example:1/", note);  // being looked up
        c.get("nonsense", note);                // refused, but not told yet
        EXPECT_TRUE(ends.empty());
    }
    EXPECT_EQ(ends, std::vector<errc>(4, errc::stopped));
    release = true;
    loop->run_once(0ms);
    EXPECT_EQ(ends.size(), 4U);
}
TEST(async_client, idle_connections_are_closed_in_time) {
    served s(mirror);
    auto loop = *event_loop::create();
    client_options options;
    options.idle_timeout = 20ms;
    async_client c(*loop, options);
    for (int i = 0; i < 2; ++i) {
        bool done = false;
        c.get(url(s), [&](result<reply> r) { done = r.ok(); });
        while (!done) loop->run_once();
        const auto until = clock::now() + 60ms;
        while (clock::now() < until) loop->run_once(until - clock::now());
    }
    EXPECT_EQ(c.connections_opened(), 2U);
}
// The loop and its connections are whole afterwards.
TEST(client, lets_through_what_its_callers_functions_throw) {
    served s([](response res) {
        if (res.request().path() == "/") {
            res.early_hints({{"Link", "</a.css>"}});
            res.send(std::string(res.request().body()) + "answer");
        } else {
            res.status(307).header("Location", "/").send("");
        }
    });
    auto c = *client::create();
    const std::string url = "http://127.0.0.1:" + std::to_string(s.port()) + "/";
    const auto get = [&url] { return make_request(method::get, url); };
    const auto full = [](std::string_view) -> bool { throw std::runtime_error("disk full"); };
    EXPECT_THROW((void)c.send(get(), full), std::runtime_error);
    client_request upload = make_request(method::put, url);
    upload.source.length = 10;
    upload.source.pull = [](buffer&, std::size_t) -> result<source_state> {
        throw std::logic_error("no source");
    };
    EXPECT_THROW((void)c.send(upload), std::logic_error);
    EXPECT_THROW((void)c.send(upload, full), std::logic_error);
    client_request again = make_request(method::put, url + "elsewhere");
    again.source.length = 1;
    again.source.pull = [](buffer& out, std::size_t) -> result<source_state> {
        out.append("x");
        return source_state::end;
    };
    again.source.rewind = [] { throw std::domain_error("no way back"); };
    EXPECT_THROW((void)c.send(again), std::domain_error);
    client_request hinted = get();
    hinted.on_interim = [](const response_head&) { throw std::range_error("no hint"); };
    EXPECT_THROW((void)c.send(hinted), std::range_error);
    EXPECT_THROW((void)c.send(hinted, full), std::range_error);
    const auto got = c.send(get());
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body(), "answer");
}
// As from the middle of a body: what else is in it must not be lost.
TEST(client, refuses_calls_from_inside_its_own) {
    const std::string large(300'000, 'a');
    served s([&large](response res) {
        if (res.request().path() != "/large") return mirror(std::move(res));
        res.early_hints({{"Link", "</a.css>"}});
        res.send(std::string(res.request().body()) + large);
    });
    client c = make();
    std::string inside;
    const auto ask = [&] { inside += show(c.get(url(s, "/small"))) + ";"; };
    client_request r = make_request(method::put, url(s, "/large"));
    r.source.length = 2;
    r.source.pull = [&](buffer& out, std::size_t) -> result<source_state> {
        ask();
        out.append("up");
        return source_state::end;
    };
    r.on_interim = [&](const response_head&) { ask(); };
    std::string got;
    const auto end = c.send(std::move(r), [&](std::string_view piece) {
        if (got.empty()) ask();
        got += piece;
        return true;
    });
    EXPECT_TRUE(end) << end.error().message;
    EXPECT_TRUE(got == "up" + large);
    EXPECT_EQ(inside, "bad argument;bad argument;bad argument;");
    EXPECT_EQ(show(c.get(url(s, "/small"))), "200 GET /small ");
    EXPECT_EQ(c.connections_opened(), 1U);
}
// Who wants no answer has what all others have: redirects, errors that end nothing else.
TEST(client, may_have_nobody_to_tell) {
    std::atomic<int> arrived{0};
    served s([&arrived](response res) {
        if (res.request().path() == "/") return res.redirect("/there");
        ++arrived;
        res.send("x");
    });
    const auto loop = *event_loop::create();
    {
        async_client c(*loop);
        c.get(url(s), {});
        response_pieces to;
        c.send(make_request(method::get, url(s)), std::move(to));
        c.get("nonsense", {});
        c.cancel(c.send(make_request(method::get, url(s)), async_client::callback()));
        const auto until = clock::now() + 10s;
        while (arrived < 2 && clock::now() < until) loop->run_once(10ms);
        EXPECT_EQ(arrived, 2);
        c.get(url(s), {});
        c.get("nonsense", {});
    }
    loop->run_once(0ms);
}

}  // namespace wire::http::client_test
