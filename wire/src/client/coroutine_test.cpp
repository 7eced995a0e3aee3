// Awaited requests, dials and messages, and what happens when either side is destroyed first.
#include "wire/client/coroutine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/reply_stream.hpp"
#include "wire/proto/ws_close.hpp"
#include "wire/proto/ws_frame.hpp"
#include "wire/proto/ws_handshake.hpp"
#include "wire/server/router.hpp"

namespace wire::coroutine_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;

void mirror(http::response res) {
    const http::request& r = res.request();
    res.body() =
        std::string(r.method_text()) + " " + std::string(r.target()) + " " + std::string(r.body());
    res.send();
}
std::string show(const result<http::reply>& r) {
    return r ? std::to_string(r->status()) + " " + std::string(r->body())
             : std::string(to_string(r.code()));
}
std::string root(const served& s, const std::string& scheme = "http") {
    return scheme + "://127.0.0.1:" + std::to_string(s.port());
}

task<std::string> every_method(http::async_client& c, std::string url) {
    std::string all = show(co_await c.get(url));
    all += "|" + show(co_await c.head(url));
    all += "|" + show(co_await c.post(url, "1", "text/plain"));
    all += "|" + show(co_await c.put(url, "2", "text/plain"));
    all += "|" + show(co_await c.patch(url, "3", "text/plain"));
    all += "|" + show(co_await c.del(url));
    http::client_request own = http::make_request(http::method::options, url);
    all += "|" + show(co_await c.send(std::move(own)));
    co_return all;
}
task<> ask(http::async_client& c, std::string url, std::vector<std::string>& answers) {
    const result<http::reply> got = co_await c.get(std::move(url));
    answers.push_back(show(got));
}

TEST(http_coroutines, ask_in_turn) {
    served s(mirror);
    const auto loop = *event_loop::create();
    http::async_client c(*loop);
    EXPECT_EQ(block_on(*loop, every_method(c, root(s) + "/u")),
              "200 GET /u |200 |200 POST /u 1|200 PUT /u 2|200 PATCH /u 3|200 DELETE /u |200 "
              "OPTIONS /u ");
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST(http_coroutines, ask_at_once) {
    served s(mirror);
    const auto loop = *event_loop::create();
    http::async_client c(*loop);
    std::vector<std::string> answers;
    task_group group;
    for (int i = 0; i < 20; ++i) group.spawn(ask(c, root(s) + "/" + std::to_string(i), answers));
    while (!group.empty()) loop->run_once();
    EXPECT_EQ(answers.size(), 20U);
    for (const auto& a : answers) EXPECT_EQ(a.substr(0, 9), "200 GET /");
}
TEST(http_coroutines, are_told_when_the_client_goes) {
    std::atomic<bool> release{false};
    raw_server silent([&](raw_server& r) {
        auto v = r.accept();
        while (!release) std::this_thread::yield();
    });
    const auto loop = *event_loop::create();
    std::vector<std::string> answers;
    task_group group;
    {
        http::async_client c(*loop);
        group.spawn(ask(c, silent.url(), answers));
        group.spawn(ask(c, "nonsense", answers));
        EXPECT_TRUE(answers.empty());
    }
    loop->run_once(0ms);
    EXPECT_EQ(answers, (std::vector<std::string>{"stopping", "stopping"}));
    EXPECT_TRUE(group.empty());
    release = true;
}
// Begun by a callback that was told of the client's end, and given up before the loop ran.
TEST(http_coroutines, do_not_look_for_a_client_that_was_going_when_they_began) {
    const auto loop = *event_loop::create();
    const std::string nobody = "http://127.0.0.1:1/";
    std::vector<std::string> answers;
    task_group late;
    {
        const auto c = std::make_unique<http::async_client>(*loop);
        c->get(nobody, [&](const result<http::reply>&) {
            late.spawn(ask(*c, nobody, answers));
            late.spawn([](http::async_client& client, std::string url) -> task<> {
                http::client_request r = http::make_request(http::method::get, std::move(url));
                (void)co_await http::stream(client, std::move(r));
            }(*c, nobody));
        });
    }
    late.clear();
    loop->run_once(0ms);
    EXPECT_TRUE(answers.empty());
}
TEST(http_coroutines, may_end_before_their_answer) {
    served s(mirror);
    const auto loop = *event_loop::create();
    http::async_client c(*loop);
    std::vector<std::string> answers;
    {
        task_group group;
        for (int i = 0; i < 5; ++i) group.spawn(ask(c, root(s), answers));
    }
    EXPECT_EQ(
        show(block_on(*loop,
                      [](http::async_client& client, std::string url) -> task<result<http::reply>> {
                          co_return co_await client.get(url);
                      }(c, root(s)))),
        "200 GET / ");
    EXPECT_TRUE(answers.empty());
}

TEST(http_coroutines, cancel_what_nobody_waits_for) {
    std::string after;
    std::atomic<bool> asked{false};
    const auto loop = *event_loop::create();
    http::async_client c(*loop);
    std::vector<std::string> answers;
    {
        raw_server silent([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            asked = true;
            after = v.request() + "closed";
        });
        task_group group;
        group.spawn(ask(c, silent.url(), answers));
        while (!asked) loop->run_once(1ms);
        group.spawn(ask(c, "http://127.0.0.1:1/", answers));
        group.clear();
        loop->run_once(10ms);
    }
    EXPECT_EQ(after, "closed");
    EXPECT_TRUE(answers.empty());
}
TEST(http_coroutines, may_own_their_client) {
    served s(mirror);
    const auto loop = *event_loop::create();
    const auto own = [](event_loop& l, std::string url) -> task<std::string> {
        http::async_client c(l);
        co_return show(co_await c.get(url));
    };
    EXPECT_EQ(block_on(*loop, own(*loop, root(s))), "200 GET / ");
    EXPECT_EQ(block_on(*loop, own(*loop, "nonsense")), "malformed URL");
    EXPECT_EQ(block_on(*loop, own(*loop, "http://127.0.0.1:1/")), "connection refused");
}

// ---- WebSocket ----

http::router echo() {
    http::router routes;
    routes.websocket("/", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& from, ws::message m) {
            if (m.data == "close") return from.close(4000, "as asked");
            from.send(m);
        });
    });
    return routes;
}
task<std::string> talk(ws::dialer& d, std::string url) {
    result<ws::channel> joined = co_await ws::dial(d, url);
    if (!joined) co_return std::string(to_string(joined.code()));
    ws::channel& c = *joined;
    std::string all;
    for (const char* const text : {"one", "two"}) {
        const result<void> sent = co_await c.send(text);
        if (!sent) co_return "not sent";
        const auto got = co_await c.receive();
        if (got) all += got->data + " ";
    }
    (void)co_await c.send("x");
    (void)co_await c.send("y", ws::opcode::binary);
    const auto x = co_await c.receive();
    const auto y = co_await c.receive();
    if (x && y) all += x->data + y->data + (x->is_text() && !y->is_text() ? " " : "? ");
    (void)co_await c.send("close");
    const auto end = co_await c.receive();
    all += end ? "no end" : end.error().message;
    const auto late = co_await c.send("late");
    co_return all + (late || c.is_open() ? " still open" : "");
}

TEST(ws_coroutines, talk) {
    served s(echo());
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    EXPECT_EQ(block_on(*loop, talk(d, root(s, "ws") + "/")),
              "one two xy the session has ended with code 4000: as asked");
    EXPECT_EQ(block_on(*loop, talk(d, root(s, "ws") + "/none")), "WebSocket handshake failed");
    EXPECT_EQ(block_on(*loop, talk(d, "nonsense")), "malformed URL");
}
TEST(ws_coroutines, may_own_their_dialer) {
    served s(echo());
    const auto loop = *event_loop::create();
    const auto own = [](event_loop& l, std::string url) -> task<std::string> {
        ws::dialer d(l);
        result<ws::channel> c = co_await ws::dial(d, url);
        if (!c) co_return std::string(to_string(c.code()));
        (void)co_await c->send("text");
        const auto got = co_await c->receive();
        co_return got ? got->data : got.error().message;
    };
    EXPECT_EQ(block_on(*loop, own(*loop, root(s, "ws") + "/")), "text");
    EXPECT_EQ(block_on(*loop, own(*loop, root(s, "ws") + "/none")), "WebSocket handshake failed");
    EXPECT_EQ(block_on(*loop, own(*loop, "ws://127.0.0.1:1/")), "connection refused");
}
TEST(ws_coroutines, large_messages_wait_for_room) {
    served s(echo());
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    const auto rounds = [](ws::dialer& dialer, std::string url) -> task<std::size_t> {
        ws::dial_options options;
        options.limits.max_unsent_bytes = 1000;
        options.limits.max_message_bytes = 2'000'000;  // all four may wait to be received
        result<ws::channel> c = co_await ws::dial(dialer, url, options);
        if (!c) co_return 0;
        const std::string large(500'000, 'x');
        std::size_t bytes = 0;
        for (int i = 0; i < 4; ++i) {
            if (!co_await c->send(large)) co_return 0;
        }
        for (int i = 0; i < 4; ++i) {
            const auto got = co_await c->receive();
            if (got) bytes += got->data.size();
        }
        co_return bytes;
    };
    EXPECT_EQ(block_on(*loop, rounds(d, root(s, "ws") + "/")), 2'000'000U);
}
// Sends `count` messages of 1000 bytes to whoever asks, and tells how much of that has not left.
class flood {
public:
    explicit flood(int count) {
        http::router routes;
        routes.websocket("/", [this, count](ws::session& s, const http::request&) {
            peer_ = s.handle();
            s.on_message([this, count](ws::session& from, ws::message m) {
                for (int i = 0; i < count; ++i)
                    from.send(std::to_string(1'000'000 + i) + std::string(993, 'x'));
                from.send(m);
                begun_ = true;
            });
            s.on_close([this](ws::session&, std::uint16_t code, std::string_view) { end_ = code; });
        });
        server_.emplace(std::move(routes));
    }
    std::string url() const { return root(*server_, "ws") + "/"; }
    bool begun() const { return begun_; }
    int end() const { return end_; }
    std::size_t unsent() {
        std::promise<std::size_t> told;
        peer_.post([&](ws::session& s) { told.set_value(s.unsent()); });
        return told.get_future().get();
    }

private:
    ws::handle peer_;  // the server's thread until begun_
    std::atomic<bool> begun_{false};
    std::atomic<int> end_{0};
    std::optional<served> server_;
};
// What comes until "end": how many messages, all in order.
task<std::string> count_messages(ws::channel& c) {
    for (int n = 0;; ++n) {
        const auto got = co_await c.receive();
        if (!got) co_return got.error().message;
        if (got->data == "end") co_return std::to_string(n);
        if (got->data.substr(0, 7) != std::to_string(1'000'000 + n)) co_return "out of order";
    }
}

TEST(ws_coroutines, what_nobody_receives_makes_the_server_wait) {
    flood from(30'000);  // more than the kernel holds
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    const auto sleeper = [](ws::dialer& dialer, flood& server) -> task<std::string> {
        ws::dial_options options;
        options.limits.max_message_bytes = 10'000;
        result<ws::channel> c = co_await ws::dial(dialer, server.url(), options);
        if (!c) co_return "no session";
        (void)co_await c->send("end");
        while (!server.begun()) co_await sleep_for(dialer.loop(), 1ms);
        co_await sleep_for(dialer.loop(), 100ms);
        if (!c->is_open()) co_return "closed";
        if (server.unsent() == 0) co_return "all was taken";
        co_return co_await count_messages(*c);
    };
    EXPECT_EQ(block_on(*loop, sleeper(d, from)), "30000");
}
// A server that is not read cannot answer a ping.
TEST(ws_coroutines, a_channel_that_is_full_misses_no_pong) {
    flood from(100);  // soon made: no silence before the channel is full
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    const auto sleeper = [](ws::dialer& dialer, flood& server) -> task<std::string> {
        ws::dial_options options;
        options.limits.max_message_bytes = 10'000;
        options.limits.idle_timeout = 300ms;
        result<ws::channel> c = co_await ws::dial(dialer, server.url(), options);
        if (!c) co_return "no session";
        (void)co_await c->send("end");
        while (!server.begun()) co_await sleep_for(dialer.loop(), 1ms);
        co_await sleep_for(dialer.loop(), 1s);
        if (c->is_open()) co_return "open";
        for (;;) {
            const auto got = co_await c->receive();
            if (!got) co_return got.error().message;
        }
    };
    EXPECT_EQ(block_on(*loop, sleeper(d, from)), "open");
}
// The ping behind them is answered when there is room for them.
TEST(ws_coroutines, messages_without_content_fill_a_channel_too) {
    std::atomic<bool> answered{false};
    http::router routes;
    routes.websocket("/", [&](ws::session& s, const http::request&) {
        for (int i = 0; i < 1000; ++i) s.send("");
        s.ping("behind them");
        s.on_pong([&](ws::session& from, std::string_view) {
            answered = true;
            from.send("end");
        });
    });
    served s(std::move(routes));
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    const auto count = [&](std::string url) -> task<std::string> {
        ws::dial_options options;
        options.limits.max_message_bytes = 10'000;
        result<ws::channel> c = co_await ws::dial(d, url, options);
        if (!c) co_return "no session";
        co_await sleep_for(*loop, 100ms);
        if (answered) co_return "not held";
        for (int n = 0;; ++n) {
            const auto got = co_await c->receive();
            if (!got) co_return got.error().message;
            if (got->data == "end") co_return std::to_string(n);
        }
    };
    EXPECT_EQ(block_on(*loop, count(root(s, "ws") + "/")), "1000");
}
// What had come when the server reset the connection, and the server's close frame where it has.
TEST(ws_coroutines, a_channel_that_is_full_gives_what_came_before_a_reset) {
    for (const bool in_order : {true, false}) {
        raw_server raw([in_order](raw_server& r) {
            auto v = r.accept();
            const std::string request = v.request();
            const auto key = request.find("Sec-WebSocket-Key: ") + 19;
            buffer out;
            out.append(
                "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: "
                "Upgrade\r\nSec-WebSocket-Accept: " +
                ws::accept_key(request.substr(key, request.find('\r', key) - key)) + "\r\n\r\n");
            for (int i = 0; i < 20; ++i) {
                ws::append_frame(out, ws::opcode::text,
                                 std::to_string(1'000'000 + i) + std::string(993, 'x'),
                                 std::nullopt);
            }
            if (in_order) ws::append_close(out, 4002, "full", std::nullopt);
            v.send(out.view());
            std::this_thread::sleep_for(20ms);
            v.reset();
        });
        const auto loop = *event_loop::create();
        ws::dialer d(*loop);
        const auto sleeper = [](ws::dialer& dialer, std::string url) -> task<std::string> {
            ws::dial_options options;
            options.limits.max_message_bytes = 5'000;
            result<ws::channel> c = co_await ws::dial(dialer, url, options);
            if (!c) co_return "no session";
            co_await sleep_for(dialer.loop(), 50ms);
            int n = 0;
            for (;; ++n) {
                const auto got = co_await c->receive();
                if (!got) co_return std::to_string(n) + " " + got.error().message;
                if (got->data.substr(0, 7) != std::to_string(1'000'000 + n))
                    co_return "out of order";
            }
        };
        EXPECT_EQ(block_on(*loop, sleeper(d, raw.url("/", "ws"))),
                  in_order ? "20 the session has ended with code 4002: full"
                           : "20 the session has ended with code 1006");
    }
}
// One coroutine that sends, and receives afterwards what came meanwhile.
TEST(ws_coroutines, a_channel_that_is_full_tells_its_sender_of_the_end) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        const std::string request = v.request();
        const auto key = request.find("Sec-WebSocket-Key: ") + 19;
        buffer out;
        out.append(
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: " +
            ws::accept_key(request.substr(key, request.find('\r', key) - key)) + "\r\n\r\n");
        for (int i = 0; i < 20; ++i)
            ws::append_frame(out, ws::opcode::text, std::string(1000, 'x'), std::nullopt);
        v.send(out.view());
        char begun;
        ASSERT_EQ(::recv(v.fd(), &begun, 1, 0), 1);
        std::this_thread::sleep_for(50ms);  // until the socket is full
        v.reset();
    });
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    std::string said;
    const auto sender = [&said](ws::dialer& dialer, std::string url) -> task<void> {
        ws::dial_options options;
        options.limits.max_message_bytes = 5'000;
        result<ws::channel> c = co_await ws::dial(dialer, url, options);
        if (!c) co_return;
        const std::string large(20'000'000, 'y');
        const auto sent = co_await c->send(large);
        said = to_string(sent.code());
        const auto late = co_await c->send("late");
        if (late || c->is_open()) said += ", and open";
        int n = 0;
        auto got = co_await c->receive();
        for (; got; got = co_await c->receive()) ++n;
        said += (n > 0 ? " " : " nothing ") + got.error().message;
    };
    task_group group;
    group.spawn(sender(d, raw.url("/", "ws")));
    for (const auto until = clock::now() + 10s; !group.empty() && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_TRUE(group.empty());
    EXPECT_EQ(said,
              std::string(to_string(errc::closed_early)) + " the session has ended with code 1006");
}
TEST(ws_coroutines, a_channel_that_is_full_can_close) {
    flood from(30'000);
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    const auto closer = [](ws::dialer& dialer, flood& server) -> task<std::string> {
        ws::dial_options options;
        options.limits.max_message_bytes = 10'000;
        result<ws::channel> c = co_await ws::dial(dialer, server.url(), options);
        if (!c) co_return "no session";
        (void)co_await c->send("end");
        while (!server.begun()) co_await sleep_for(dialer.loop(), 1ms);
        co_await sleep_for(dialer.loop(), 20ms);
        c->close(4001, "enough");
        for (int n = 0;; ++n) {  // those that came before
            const auto got = co_await c->receive();
            if (!got) co_return std::to_string(n > 0 && n < 1000) + " " + got.error().message;
        }
    };
    EXPECT_EQ(block_on(*loop, closer(d, from)), "1 the session has ended with code 4001: enough");
    EXPECT_EQ(from.end(), 4001);
}
TEST(ws_coroutines, a_channel_that_is_full_may_be_destroyed) {
    flood from(30'000);
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    const auto leaver = [](ws::dialer& dialer, flood& server) -> task<std::string> {
        ws::dial_options options;
        options.limits.max_message_bytes = 10'000;
        result<ws::channel> c = co_await ws::dial(dialer, server.url(), options);
        if (!c) co_return "no session";
        (void)co_await c->send("end");
        while (!server.begun()) co_await sleep_for(dialer.loop(), 1ms);
        co_await sleep_for(dialer.loop(), 20ms);
        co_return "left";
    };
    EXPECT_EQ(block_on(*loop, leaver(d, from)), "left");
    while (from.end() == 0) loop->run_once(1ms);
    EXPECT_EQ(from.end(), ws::close_code::normal);
}
TEST(ws_coroutines, are_told_when_the_dialer_goes) {
    std::atomic<bool> release{false};
    raw_server silent([&](raw_server& r) {
        auto v = r.accept();
        while (!release) std::this_thread::yield();
    });
    served s(echo());
    const auto loop = *event_loop::create();
    std::vector<std::string> ends;
    const auto wait = [](ws::dialer& d, std::string url, std::vector<std::string>& out) -> task<> {
        result<ws::channel> c = co_await ws::dial(d, std::move(url));
        if (!c) {
            out.emplace_back(to_string(c.code()));
            co_return;
        }
        out.emplace_back("open");
        const auto got = co_await c->receive();
        out.push_back(got ? "message" : got.error().message);
    };
    task_group group;
    {
        ws::dialer d(*loop);
        group.spawn(wait(d, root(s, "ws") + "/", ends));
        while (ends.empty()) loop->run_once();
        group.spawn(wait(d, silent.url("/", "ws"), ends));
        loop->run_once(10ms);
    }
    while (!group.empty()) loop->run_once(10ms);
    EXPECT_EQ(ends, (std::vector<std::string>{"open", "stopping",
                                              "the session has ended with code 1006"}));
    release = true;
}
TEST(ws_coroutines, may_end_while_they_wait) {
    served s(echo());
    const auto loop = *event_loop::create();
    ws::dialer d(*loop);
    int opened = 0;
    const auto wait = [](ws::dialer& dialer, std::string url, int& n) -> task<> {
        result<ws::channel> c = co_await ws::dial(dialer, std::move(url));
        ++n;
        (void)co_await c->receive();
        ADD_FAILURE() << "resumed";
    };
    {
        task_group group;
        group.spawn(wait(d, root(s, "ws") + "/", opened));
        while (opened == 0) loop->run_once();
        group.spawn(wait(d, root(s, "ws") + "/", opened));  // in the middle of dialling
    }
    EXPECT_EQ(block_on(*loop, talk(d, root(s, "ws") + "/")).substr(0, 8), "one two ");
    EXPECT_EQ(opened, 1);
}

}  // namespace wire::coroutine_test
