// Clients that are destroyed by a callback of their own: the callback, what it was given and what
// called it are there until it has returned.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "loop_client.hpp"
#include "raw_server.hpp"
#include "wire/client/websocket.hpp"
#include "wire/server/server.hpp"
#include "ws_server.hpp"

namespace wire::http::destroyed_by_callback_test {

using namespace std::chrono_literals;
using testing::accept_handshake;
using testing::raw_server;

// Captured by a callback, and gone with it.
using sign_of_life = std::shared_ptr<std::string>;
sign_of_life sign() { return std::make_shared<std::string>("alive"); }

struct http_destroyed_by_callback : testing::loop_client {
    std::vector<std::string> ends;
    int destroyed = 0;

    async_client::callback note(std::string name) {
        return [this, name = std::move(name)](const result<reply>& r) {
            ends.push_back(name + " " +
                           (r ? std::to_string(r->status()) : std::string(to_string(r.code()))));
        };
    }
    // Called by a callback that holds `s`.
    void destroy(const sign_of_life& s) {
        const std::weak_ptr<std::string> watched = s;
        made.reset();
        EXPECT_FALSE(watched.expired());
        ++destroyed;
    }
    void let_the_rest_happen() {
        for (const auto until = clock::now() + 30ms; clock::now() < until;) loop->run_once(5ms);
    }
    std::vector<std::string> sorted_ends() {
        std::sort(ends.begin(), ends.end());
        return ends;
    }
};

TEST_F(http_destroyed_by_callback, of_any_kind) {
    for (const std::string which : {"interim", "head", "data", "end", "source", "rewind"}) {
        SCOPED_TRACE(which);
        raw_server raw([&which](raw_server& r) {
            auto v = r.accept();
            v.request();
            if (which == "rewind")
                v.send(
                    "HTTP/1.1 307 R\r\nLocation: /there\r\nConnection: close\r\n"
                    "Content-Length: 0\r\n\r\n");
            if (which != "source" && which != "rewind")
                v.send("HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody");
            char bytes[4096];
            while (::recv(v.fd(), bytes, sizeof bytes, 0) > 0) {}
            if (which == "rewind") r.accept().request();
        });
        ends.clear();
        options.max_connections_per_host = 1;
        client_request r = make_request(method::put, raw.url());
        const auto is = [&which](std::string_view name) { return which == name; };
        if (is("interim"))
            r.on_interim = [this, s = sign()](const response_head& head) {
                destroy(s);
                EXPECT_EQ(head.status, 103);
            };
        if (is("source") || is("rewind")) {
            r.source.pull = [this, s = sign(), first = true, is](
                                buffer& out, std::size_t) mutable -> result<source_state> {
                if (is("source")) destroy(s);
                out.append("x");
                return std::exchange(first, false) ? source_state::more : source_state::end;
            };
            r.source.rewind = [this, s = sign()] { destroy(s); };
        }
        response_pieces to;
        to.head = [this, s = sign(), is](const reply& head) {
            if (is("head")) destroy(s);
            EXPECT_EQ(head.status(), 200);
        };
        to.data = [this, s = sign(), is](std::string_view piece) {
            if (is("data")) destroy(s);
            EXPECT_EQ(piece, "body");
        };
        to.end = [this, s = sign(), is, tell = note("first")](result<reply> end) mutable {
            tell(std::move(end));
            if (is("end")) destroy(s);
            EXPECT_EQ(*s, "alive");
        };
        c().send(std::move(r), std::move(to));
        if (!is("rewind")) c().get(raw.url(), note("waiting"));  // else it would be first
        const int before = destroyed;
        ASSERT_TRUE(run_until([&] { return destroyed > before; }));
        std::vector<std::string> expected{is("end") ? "first 200" : "first stopping"};
        if (!is("rewind")) expected.emplace_back("waiting stopping");
        EXPECT_EQ(sorted_ends(), expected);
        let_the_rest_happen();
        EXPECT_EQ(ends.size(), expected.size());
    }
}

TEST_F(http_destroyed_by_callback, that_is_told_of_an_error) {
    c().get("http://127.0.0.1:1/", [this, s = sign()](const result<reply>& r) {
        EXPECT_EQ(r.code(), errc::refused);
        destroy(s);
    });
    c().get("nonsense", [this, s = sign()](const result<reply>& r) {
        EXPECT_FALSE(r);
        if (made) destroy(s);
    });
    ASSERT_TRUE(run_until([&] { return destroyed > 0; }));
    let_the_rest_happen();
}

// A retry that is due, a total time limit that has passed, and an error that is on its way.
TEST_F(http_destroyed_by_callback, while_others_are_about_to_be_called) {
    raw_server raw([](raw_server& r) {
        auto retried = r.accept();
        retried.request();
        retried.send("HTTP/1.1 503 B\r\nContent-Length: 0\r\n\r\n");
        auto silent = r.accept();
        silent.request();
        auto last = r.accept();
        last.request();
        last.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        last.is_left();
    });
    options.retry.max_retries = 1;
    options.retry.first_pause = 100ms;
    c().get(raw.url("/retried"), note("retried"));
    client_request silent = make_request(method::get, raw.url("/silent"));
    silent.timeouts = client_timeouts();
    silent.timeouts->total_timeout = 100ms;
    c().send(std::move(silent), note("silent"));
    c().get(raw.url("/last"), [this, s = sign()](const result<reply>& r) {
        EXPECT_TRUE(r);
        made->get("nonsense", note("nonsense"));
        std::this_thread::sleep_for(110ms);
        loop->refresh_now();  // the timers of the others ring in this iteration
        destroy(s);
    });
    ASSERT_TRUE(run_until([&] { return destroyed > 0; }));
    let_the_rest_happen();
    // Each once, whether it was told of its own end before or of the client's.
    ASSERT_EQ(ends.size(), 3U);
    std::vector<std::string> names;
    for (const std::string& end : sorted_ends()) names.push_back(end.substr(0, end.find(' ')));
    EXPECT_EQ(names, (std::vector<std::string>{"nonsense", "retried", "silent"}));
}

// The handler of the next request runs inside the call that sends the response.
TEST_F(http_destroyed_by_callback, that_sends_a_response_whose_next_request_does_it) {
    raw_server upstream([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nup");
        v.is_left();
    });
    auto server = server::listen(0, [&](response res) {
        if (res.request().path() == "/second") {
            made.reset();
            ++destroyed;
            return res.send("gone");
        }
        made->get(upstream.url(),
                  [s = sign(), res = std::move(res)](const result<reply>& r) mutable {
                      res.send(r ? std::string(r->body()) : r.error().message);
                      EXPECT_EQ(*s, "alive");
                  });
    });
    ASSERT_TRUE(server);
    made.emplace(server->loop());
    auto peer = connect_tcp(address::loopback_v4(server->port()));
    ASSERT_TRUE(peer);
    const std::string_view both =
        "GET /first HTTP/1.1\r\nHost: a\r\n\r\nGET /second HTTP/1.1\r\nHost: a\r\n"
        "Connection: close\r\n\r\n";
    ASSERT_EQ(::send(peer->get(), both.data(), both.size(), 0), static_cast<ssize_t>(both.size()));
    for (const auto until = clock::now() + 10s; destroyed == 0 && clock::now() < until;)
        server->run_once(10ms);
    EXPECT_EQ(destroyed, 1);
    server->stop();
    while (server->run_once(10ms)) {}
}

struct ws_destroyed_by_callback : ::testing::Test {
    std::unique_ptr<event_loop> loop = *event_loop::create();
    std::unique_ptr<ws::dialer> dialer = std::make_unique<ws::dialer>(*loop);
    std::vector<std::string> ends;
    int destroyed = 0;

    void destroy(const sign_of_life& s) {
        const std::weak_ptr<std::string> watched = s;
        dialer.reset();
        EXPECT_FALSE(watched.expired());
        ++destroyed;
    }
    void run_to_the_end() {
        for (const auto until = clock::now() + 10s; destroyed == 0 && clock::now() < until;)
            loop->run_once(10ms);
        for (const auto until = clock::now() + 30ms; clock::now() < until;) loop->run_once(5ms);
        EXPECT_EQ(destroyed, 1);
    }
};

TEST_F(ws_destroyed_by_callback, that_is_told_of_an_error) {
    dialer->dial("ws://127.0.0.1:1/", {}, [this, s = sign()](result<ws::session*> opened) {
        EXPECT_EQ(opened.code(), errc::refused);
        destroy(s);
    });
    dialer->dial("ws://127.0.0.1:1/", {}, [this](result<ws::session*> opened) {
        ends.emplace_back(to_string(opened.code()));
    });
    run_to_the_end();
    EXPECT_EQ(ends, std::vector<std::string>{"stopping"});
}

TEST_F(ws_destroyed_by_callback, of_a_session) {
    for (const std::string which :
         {"connected", "answered", "opened", "message", "ping", "close", "lost", "timer"}) {
        SCOPED_TRACE(which);
        raw_server raw([&which](raw_server& r) {
            auto v = r.accept();
            if (which != "connected") accept_handshake(v);
            if (which == "message") v.send("\x81\x01x\x81\x01y");
            if (which == "ping") v.send("\x89\x01p\x81\x01y");
            if (which == "close") v.send(std::string("\x88\x02\x03\xE8", 4));
            if (which == "lost") return;
            char bytes[4096];
            while (::recv(v.fd(), bytes, sizeof bytes, 0) > 0) {}
        });
        dialer = std::make_unique<ws::dialer>(*loop);
        ends.clear();
        destroyed = 0;
        ws::dial_options options;
        if (which == "timer") options.limits.close_timeout = 10ms;
        const auto is = [&which](std::string_view name) { return which == name; };
        if (is("connected"))
            options.connected = [this, s = sign()](const open_times&) { destroy(s); };
        if (is("answered"))
            options.answered = [this, s = sign()](const response_head& head) {
                destroy(s);
                EXPECT_EQ(head.status, 101);
            };
        dialer->dial(
            raw.url("/", "ws"), options, [this, is, s = sign()](result<ws::session*> opened) {
                if (!opened) {
                    ends.emplace_back(to_string(opened.code()));
                    return;
                }
                ws::session& open = **opened;
                open.on_message([this, is, s = sign()](ws::session& from, ws::message m) {
                    EXPECT_EQ(m.data, "x");
                    if (is("message")) destroy(s);
                    EXPECT_FALSE(from.is_open());
                });
                open.on_ping([this, is, s = sign()](ws::session&, std::string_view) {
                    if (is("ping")) destroy(s);
                });
                open.on_close(
                    [this, is, s = sign()](ws::session&, std::uint16_t code, std::string_view) {
                        ends.push_back(std::to_string(code));
                        if (is("close") || is("lost") || is("timer")) destroy(s);
                    });
                if (is("timer")) open.close();
                if (is("opened")) destroy(s);
            });
        run_to_the_end();
        const bool opens = !is("connected") && !is("answered");
        EXPECT_EQ(ends, std::vector<std::string>{is("close") ? "1000"
                                                 : opens     ? "1006"
                                                             : "stopping"});
    }
}

}  // namespace wire::http::destroyed_by_callback_test
