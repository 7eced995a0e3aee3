// Dialing, messages, closing and time limits of the blocking WebSocket client.
#include "wire/client/websocket.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>

#include "raw_server.hpp"
#include "served.hpp"
#include "ws_server.hpp"

namespace wire::ws::websocket_blocking_test {

using namespace std::chrono_literals;
using testing::accept_handshake;
using testing::key_of;
using testing::raw_server;
using testing::served;
using testing::ws_echo;
using testing::ws_url;

TEST(ws_blocking_client, talks) {
    http::server_options large;
    large.limits.max_message_bytes = 5'000'000;
    served s(ws_echo(), large);
    dial_options options;
    options.limits = large.limits;
    auto c = blocking_client::connect(ws_url(s), options);
    ASSERT_TRUE(c) << c.error().message;
    for (const std::size_t n :
         {0UL, 1UL, 125UL, 126UL, 65'535UL, 65'536UL, 1'000'000UL, 5'000'000UL}) {
        const std::string text(n, 'x');
        ASSERT_TRUE(c->send(text));
        const auto got = c->receive(10s);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_TRUE(got->data == text) << n;
        EXPECT_TRUE(got->is_text());
    }
    ASSERT_TRUE(c->send("\xFF", opcode::binary));
    EXPECT_EQ(c->receive()->op, opcode::binary);
    EXPECT_EQ(c->receive(10ms).code(), errc::timed_out);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(c->send(std::to_string(i)));
    for (int i = 0; i < 100; ++i) ASSERT_EQ(c->receive()->data, std::to_string(i));
    c->close();
    EXPECT_FALSE(c->is_open());
    EXPECT_EQ(c->send("x").code(), errc::closed_early);
    const auto ended = c->receive();
    EXPECT_EQ(ended.code(), errc::closed_early);
    EXPECT_EQ(ended.error().message, "the session has ended with code 1000");
}
TEST(ws_blocking_client, receives_what_has_come_without_waiting) {
    served s(ws_echo());
    auto c = *blocking_client::connect(ws_url(s));
    ASSERT_TRUE(c.send("x"));
    result<message> got = c.receive(0ms);
    for (int i = 0; i < 1000 && !got; ++i) {
        std::this_thread::sleep_for(1ms);
        got = c.receive(0ms);
    }
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->data, "x");
}
TEST(ws_blocking_client, hears_of_the_servers_close) {
    served s(ws_echo());
    auto c = *blocking_client::connect(ws_url(s));
    ASSERT_TRUE(c.send("close"));
    EXPECT_EQ(c.receive().error().message, "the session has ended with code 4000: as you wish");
}
TEST(ws_blocking_client, moves_and_may_be_dropped_without_goodbye) {
    served s(ws_echo());
    auto a = *blocking_client::connect(ws_url(s));
    auto b = *blocking_client::connect(ws_url(s));
    a = std::move(b);
    ASSERT_TRUE(a.send("x"));
    EXPECT_EQ(a.receive()->data, "x");
}
TEST(ws_blocking_client, refused_handshakes_say_why) {
    served s(ws_echo());
    const auto why = [](const std::string& to, dial_options o = {}) {
        const auto c = blocking_client::connect(to, std::move(o));
        return c ? "connected" : c.error().message;
    };
    EXPECT_NE(why(ws_url(s, "/none")).find("answered 404"), std::string::npos);
    EXPECT_NE(why("http://127.0.0.1/").find("ws://"), std::string::npos);
    EXPECT_NE(why("nonsense").find("nonsense"), std::string::npos);
    std::string gone;
    {
        raw_server raw([](raw_server&) {});
        gone = raw.url("/", "ws");
    }
    EXPECT_NE(why(gone).find("Connection refused"), std::string::npos) << why(gone);
    dial_options split;
    split.headers = {{"X", "a\r\nb"}};
    EXPECT_NE(why(ws_url(s), split).find("control character"), std::string::npos);
    const auto answered = [&](const std::string& answer) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            const std::string key = key_of(v.request());
            std::string text = answer;
            if (const auto at = text.find("KEY"); at != std::string::npos)
                text.replace(at, 3, accept_key(key));
            v.send(text);
        });
        return why(raw.url("/", "ws"));
    };
    const std::string good =
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        "KEY\r\n";
    EXPECT_EQ(answered(good + "\r\n"), "connected");
    // However long the page that comes with it.
    EXPECT_NE(answered("HTTP/1.1 404 X\r\nContent-Length: 9999999999\r\n\r\n").find("answered 404"),
              std::string::npos);
    EXPECT_NE(answered(good + "Sec-WebSocket-Extensions: x\r\n\r\n").find("extension"),
              std::string::npos);
    EXPECT_NE(answered("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: "
                       "Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n")
                  .find("Accept"),
              std::string::npos);
    EXPECT_NE(answered("HTTP/1.1 101").find("closed the connection"), std::string::npos);
    EXPECT_NE(answered("nonsense\r\n").find("status line"), std::string::npos);
}
TEST(ws_blocking_client, handshake_has_a_time_limit) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.request();  // until the client has had enough
    });
    dial_options options;
    options.handshake_timeout = 50ms;
    EXPECT_EQ(blocking_client::connect(raw.url("/", "ws"), options).code(), errc::timed_out);
}
TEST(ws_blocking_client, time_limits_may_be_for_ever) {
    constexpr auto forever = std::chrono::milliseconds::max();
    dial_options options;
    options.connect_timeout = options.attempt_delay = options.handshake_timeout = forever;
    options.limits.idle_timeout = options.limits.close_timeout = forever;
    http::server_options on;
    on.limits.idle_timeout = on.limits.close_timeout = forever;
    served s(ws_echo(), on);
    auto c = blocking_client::connect(ws_url(s), options);
    ASSERT_TRUE(c) << c.error().message;
    ASSERT_TRUE(c->send("x"));
    const auto got = c->receive(10s);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->data, "x");
    c->close();
    EXPECT_EQ(c->receive().error().message, "the session has ended with code 1000");
}
TEST(ws_blocking_client, offers_subprotocols_and_fields) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        const std::string request = v.request();
        EXPECT_NE(request.find("\r\nOrigin: http://x\r\n"), std::string::npos);
        EXPECT_NE(request.find("\r\nSec-WebSocket-Protocol: a, b\r\n"), std::string::npos);
        // Frames right behind the handshake must not be lost.
        v.send(
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: "
            "Upgrade\r\nSec-WebSocket-Protocol: b\r\nSec-WebSocket-Accept: " +
            accept_key(key_of(request)) +
            "\r\n\r\n\x81\x05"
            "early\x81\x02"
            "bi");
        v.send("rd");  // an unfinished frame's header, then the end
    });
    dial_options options;
    options.headers = {{"Origin", "http://x"}};
    options.protocols = "a, b";
    auto c = blocking_client::connect(raw.url("/", "ws"), options);
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_EQ(c->receive()->data, "early");
    EXPECT_EQ(c->receive()->data, "bi");
    EXPECT_EQ(c->receive().error().message.substr(0, 34), "the session has ended with code 10");
}
TEST(ws_blocking_client, a_host_of_the_caller_replaces_the_urls) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        const std::string request = v.request();
        EXPECT_NE(request.find("\r\nHost: virtual\r\n"), std::string::npos) << request;
        EXPECT_EQ(request.find("127.0.0.1"), std::string::npos) << request;
    });
    dial_options options;
    options.headers = {{"host", "virtual"}};
    EXPECT_EQ(blocking_client::connect(raw.url("/", "ws"), options).code(), errc::closed_early);
}
TEST(ws_blocking_client, fields_of_the_handshake_are_its_own) {
    served s(ws_echo());
    for (const char* name : {"Sec-WebSocket-Key", "sec-websocket-version", "Sec-WebSocket-Protocol",
                             "Sec-WebSocket-Extensions", "Sec-WebSocket-Other", "UPGRADE",
                             "Connection", "Content-Length", "transfer-encoding"}) {
        dial_options options;
        options.headers = {{"X-Fine", "1"}, {name, "13"}};
        const auto c = blocking_client::connect(ws_url(s), options);
        EXPECT_EQ(c.code(), errc::bad_argument) << name;
        EXPECT_NE(c.error().message.find(name), std::string::npos) << c.error().message;
    }
    dial_options options;
    options.headers = {{"Sec-WebSocke", "1"}, {"Upgrade-Insecure-Requests", "1"}};
    EXPECT_TRUE(blocking_client::connect(ws_url(s), options));
}
TEST(ws_blocking_client, masks_every_frame_differently) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        std::string frames;
        char bytes[4096];
        while (frames.size() < 100 * 9) {
            const auto n = ::recv(v.fd(), bytes, sizeof bytes, 0);
            if (n <= 0) break;
            frames.append(bytes, static_cast<std::size_t>(n));
        }
        std::vector<std::string> masks;
        for (std::size_t i = 0; i + 9 <= frames.size(); i += 9)
            masks.push_back(frames.substr(i + 2, 4));
        ASSERT_EQ(masks.size(), 100U);
        std::sort(masks.begin(), masks.end());
        // Equal by chance once in a million runs.
        EXPECT_EQ(std::unique(masks.begin(), masks.end()), masks.end());
        limits l;
        message_reader reader(role::server, l);
        const step s = reader.read({frames.data(), frames.size()});
        EXPECT_EQ(s.data, "abc");
    });
    auto c = *blocking_client::connect(raw.url("/", "ws"));
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(c.send("abc"));
    EXPECT_EQ(c.receive().code(), errc::closed_early);
}
TEST(ws_blocking_client, waits_as_long_as_it_is_told_to) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        std::this_thread::sleep_for(50ms);
        v.send("\x81\x04late");
    });
    auto c = *blocking_client::connect(raw.url("/", "ws"));
    const auto got = c.receive(std::chrono::milliseconds::max());
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->data, "late");
}
TEST(ws_blocking_client, lets_through_what_its_callers_function_throws) {
    served s(ws_echo());
    dial_options options;
    options.connected = [](const open_times&) { throw std::runtime_error("no"); };
    EXPECT_THROW((void)blocking_client::connect(ws_url(s), options), std::runtime_error);
    options.connected = nullptr;
    options.answered = [](const http::response_head&) { throw std::runtime_error("no"); };
    EXPECT_THROW((void)blocking_client::connect(ws_url(s), options), std::runtime_error);
    EXPECT_THROW((void)blocking_client::connect(ws_url(s, "/none"), options), std::runtime_error);
}
TEST(ws_blocking_client, tells_of_the_answer_to_its_handshake) {
    http::router routes;
    routes.get("/welcome", [](http::response res) {
        res.header("X-Room", "7");
        res.upgrade([](session&, const http::request&) {});
    });
    routes.get("/busy", [](http::response res) {
        res.status(503).header("Retry-After", "5").send("later");
    });
    served s(std::move(routes));
    std::vector<std::string> answers;
    dial_options options;
    options.answered = [&answers](const http::response_head& head) {
        answers.push_back(std::to_string(head.status) +
                          std::string(head.headers.find("X-Room").value_or("-")) +
                          std::string(head.headers.find("Retry-After").value_or("-")));
    };
    EXPECT_TRUE(blocking_client::connect(ws_url(s, "/welcome"), options));
    EXPECT_EQ(blocking_client::connect(ws_url(s, "/busy"), options).code(), errc::bad_handshake);
    EXPECT_EQ(blocking_client::connect("ws://127.0.0.1:1/", options).code(), errc::refused);
    EXPECT_EQ(answers, (std::vector<std::string>{"1017-", "503-5"}));
}
TEST(ws_blocking_client, a_message_that_the_server_did_not_take_is_an_error) {
    for (const bool with_goodbye : {true, false}) {
        raw_server raw([with_goodbye](raw_server& r) {
            auto v = r.accept();
            accept_handshake(v);
            char bytes[4096];
            ASSERT_GT(::recv(v.fd(), bytes, sizeof bytes, 0), 0);
            if (with_goodbye) v.send(std::string("\x88\x02\x03\xE9", 4));  // 1001
        });
        auto c = *blocking_client::connect(raw.url("/", "ws"));
        EXPECT_EQ(c.send(std::string(64'000'000, 'y'), opcode::binary).code(), errc::closed_early);
        EXPECT_EQ(c.send("more").code(), errc::closed_early);
    }
}
TEST(ws_blocking_client, does_not_wait_for_ever_for_a_server_that_takes_nothing) {
    std::promise<void> over;
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        over.get_future().wait();
    });
    dial_options options;
    options.limits.write_timeout = 100ms;
    auto c = *blocking_client::connect(raw.url("/", "ws"), options);
    EXPECT_EQ(c.send(std::string(64'000'000, 'y'), opcode::binary).code(), errc::timed_out);
    EXPECT_TRUE(c.is_open());
    over.set_value();
}
TEST(ws_blocking_client, keeps_no_more_than_its_limit_while_it_sends) {
    std::string frames;
    while (frames.size() < 64'000'000) frames += "\x82\x7E\x27\x10" + std::string(10'000, 'x');
    std::promise<std::size_t> taken;
    std::promise<void> over;
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        pollfd p{v.fd(), POLLOUT, 0};
        std::size_t sent = 0;
        while (sent < frames.size() && ::poll(&p, 1, 500) == 1) {
            const auto n = ::send(v.fd(), frames.data() + sent, frames.size() - sent,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n <= 0) break;
            sent += static_cast<std::size_t>(n);
        }
        taken.set_value(sent);
        over.get_future().wait();
    });
    dial_options options;
    options.limits.max_unfinished_message_bytes = 1'000'000;
    options.limits.write_timeout = 1s;
    auto c = *blocking_client::connect(raw.url("/", "ws"), options);
    EXPECT_EQ(c.send(std::string(64'000'000, 'y'), opcode::binary).code(), errc::timed_out);
    const std::size_t sent = taken.get_future().get();
    EXPECT_LT(sent, frames.size() / 2);
    std::size_t received = 0;
    for (auto got = c.receive(10s); got && got->data.size() == 10'000; got = c.receive(10s)) {
        if (++received == sent / 10'004) break;
    }
    EXPECT_EQ(received, sent / 10'004);
    over.set_value();
}
// However much it is sent meanwhile, and a server that waits for just that.
TEST(ws_blocking_client, hears_a_server_that_waits_to_be_heard) {
    http::server_options large;
    large.limits.max_message_bytes = 30'000'000;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_drained([left = 100'000](session& to) mutable {
            while (left > 0 && to.send(std::string(100, 'x'))) --left;
        });
        s.on_message([](session& s, message) { s.send("all"); });
        while (s.send(std::string(100, 'x'))) {}
    });
    served s(std::move(r), large);
    dial_options options;
    options.limits.write_timeout = 5s;
    auto c = *blocking_client::connect(ws_url(s, "/"), options);
    const auto sent = c.send(std::string(30'000'000, 'x'), opcode::binary);
    ASSERT_TRUE(sent) << sent.error().message;
    auto answer = c.receive(10s);
    while (answer && answer->data != "all") answer = c.receive(10s);
    EXPECT_TRUE(answer) << answer.error().message;
}
TEST(ws_blocking_client, closes_with_the_right_code_on_nonsense) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        v.send(
            "\x81\x81"
            "abcdx");  // a server must not mask
        char bytes[128];
        const auto n = ::recv(v.fd(), bytes, sizeof bytes, 0);
        ASSERT_GT(n, 8);
        limits l;
        message_reader reader(role::server, l);
        const step s = reader.read({bytes, static_cast<std::size_t>(n)});
        EXPECT_EQ(s.code, close_code::protocol_error);
    });
    auto c = *blocking_client::connect(raw.url("/", "ws"));
    EXPECT_EQ(c.receive().error().message,
              "the session has ended with code 1002: malformed WebSocket frame");
}
TEST(ws_blocking_client, a_large_message_may_take_longer_than_the_time_for_silence) {
    constexpr std::size_t size = 40'000'000;
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        std::string bytes(1'000'000, '\0');
        for (std::size_t got = 0; got < size + max_frame_header_bytes;) {
            const auto n = ::recv(v.fd(), bytes.data(), bytes.size(), 0);
            if (n <= 0) break;
            got += static_cast<std::size_t>(n);
            std::this_thread::sleep_for(std::chrono::microseconds(n / 40));
        }
        v.send("\x81\x03yes");
        while (::recv(v.fd(), bytes.data(), bytes.size(), 0) > 0) {}
    });
    dial_options options;
    options.limits.idle_timeout = 500ms;
    auto c = *blocking_client::connect(raw.url("/", "ws"), options);
    const auto sent = c.send(std::string(size, 'x'), opcode::binary);
    EXPECT_TRUE(sent) << sent.error().message;
    const auto got = c.receive(10s);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->data, "yes");
}

}  // namespace wire::ws::websocket_blocking_test
