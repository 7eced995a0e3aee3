// What the handshake agrees on besides compression: subprotocols, and fields of the 101; and pings.
#include <gtest/gtest.h>

#include <future>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/coroutine.hpp"
#include "wire/client/websocket.hpp"
#include "wire/proto/ws_handshake.hpp"
#include "wire/server/router.hpp"
#include "ws_peer.hpp"

namespace wire::ws::agreement_test {

using namespace std::chrono_literals;
using testing::frame;
using testing::raw_peer;
using testing::served;
using testing::ws_peer;

// Each session is told what was agreed.
http::router greeting(accept_options options) {
    http::router r;
    r.websocket(
        "/",
        [](session& s, const http::request&) {
            s.send("speaks " + std::string(s.protocol()));
            s.on_message([](session& from, message m) { from.send(m); });
        },
        std::move(options));
    return r;
}

std::string ask(const std::string& fields, const std::string& path = "/") {
    return "GET " + path +
           " HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
           fields + "\r\n";
}

TEST(ws_subprotocol, graphql_transport_ws_is_agreed_on_as_browsers_offer_it) {
    served s(greeting({.protocols = {"graphql-transport-ws", "graphql-ws"}}));
    raw_peer p(s.port());
    p.send(ask("Sec-WebSocket-Protocol: graphql-ws, graphql-transport-ws\r\n"));
    EXPECT_EQ(p.response().substr(0, 3), "101");
    EXPECT_NE(p.head_text.find("\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n"),
              std::string::npos)
        << p.head_text;
    EXPECT_EQ(p.exactly(29), "\x81\x1Bspeaks graphql-transport-ws");
    // graphql-ws's first exchange.
    p.send(frame(opcode::text, R"({"type":"connection_init"})"));
    EXPECT_EQ(p.exactly(28).substr(2), R"({"type":"connection_init"})");
}
TEST(ws_subprotocol, unknown_ones_open_without_or_are_refused) {
    for (const bool required : {false, true}) {
        served s(greeting({.protocols = {"chat"}, .require_protocol = required}));
        for (const std::string fields :
             {"Sec-WebSocket-Protocol: other, Chat\r\n", "Sec-WebSocket-Protocol:\r\n", ""}) {
            raw_peer p(s.port());
            p.send(ask(fields));
            EXPECT_EQ(p.response().substr(0, 3), required ? "400" : "101") << fields;
            EXPECT_EQ(p.head_text.find("Sec-WebSocket-Protocol"), std::string::npos);
            if (!required) {
                EXPECT_EQ(p.exactly(9), "\x81\x07speaks ");
            }
        }
        raw_peer p(s.port());
        p.send(ask("Sec-WebSocket-Protocol: x\r\nSec-WebSocket-Protocol: chat\r\n"));
        EXPECT_EQ(p.response().substr(0, 3), "101");
    }
}
TEST(ws_subprotocol, clients_are_told_the_choice) {
    served s(greeting({.protocols = {"b", "c"}}));
    const std::string url = "ws://127.0.0.1:" + std::to_string(s.port()) + "/";
    dial_options options;
    options.protocols = "a, c, b";
    auto c = blocking_client::connect(url, options);
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_EQ(c->protocol(), "b");
    EXPECT_EQ(c->receive(10s)->data, "speaks b");
    auto none = blocking_client::connect(url);
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_EQ(none->protocol(), "");

    auto loop = event_loop::create();
    ASSERT_TRUE(loop);
    dialer d(**loop);
    const auto talk = [&]() -> task<std::string> {
        auto joined = co_await dial(d, url, options);
        co_return joined ? std::string(joined->protocol()) : joined.error().message;
    };
    EXPECT_EQ(block_on(**loop, talk()), "b");
}
TEST(ws_subprotocol, fields_of_the_handler_go_with_the_101) {
    http::router r;
    const auto open = [](session&, const http::request&) {};
    r.get("/fields", [&](http::response res) {
        res.header("X-Request-Id", "7").header("Set-Cookie", "a=b");
        res.header("Sec-WebSocket-Protocol", "forged").header("sec-websocket-accept", "forged");
        res.header("Content-Length", "5").upgrade(open);
    });
    r.get("/split", [&](http::response res) { res.header("X", "a\r\nB: c").upgrade(open); });
    served s(std::move(r));
    raw_peer p(s.port());
    p.send(ask("", "/fields"));
    EXPECT_EQ(p.response().substr(0, 3), "101");
    EXPECT_NE(p.head_text.find("\r\nX-Request-Id: 7\r\nSet-Cookie: a=b\r\n"), std::string::npos)
        << p.head_text;
    EXPECT_EQ(p.head_text.find("forged"), std::string::npos);
    EXPECT_EQ(p.head_text.find("Content-Length"), std::string::npos);
    raw_peer split(s.port());
    split.send(ask("", "/split"));
    EXPECT_EQ(split.response().substr(0, 3), "500");
}
TEST(ws_ping, both_sides_tell_of_pings_and_pongs) {
    http::router r;
    r.websocket("/", [](session& s, const http::request&) {
        s.on_ping([](session& from, std::string_view payload) {
            from.send("pinged with " + std::string(payload));
        });
        s.on_pong([](session& from, std::string_view payload) {
            from.send("ponged with " + std::string(payload));
        });
        s.on_message([](session& from, message m) { from.ping(m.data); });
    });
    served s(std::move(r));
    ws_peer p(s.port());
    p.send(frame(opcode::ping, "one"));
    EXPECT_EQ(p.next(), "10 one");
    EXPECT_EQ(p.next(), "1 pinged with one");
    p.send(frame(opcode::text, "two"));
    EXPECT_EQ(p.next(), "9 two");
    p.send(frame(opcode::pong, "two") + frame(opcode::pong, "unasked"));
    EXPECT_EQ(p.next(), "1 ponged with two");
    EXPECT_EQ(p.next(), "1 ponged with unasked");

    auto loop = event_loop::create();
    ASSERT_TRUE(loop);
    dialer d(**loop);
    std::string heard;
    d.dial("ws://127.0.0.1:" + std::to_string(s.port()) + "/", {}, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        (*opened)->on_pong([&](session& from, std::string_view payload) {
            heard += "pong " + std::string(payload) + ";";
            from.send("ping me");
        });
        (*opened)->on_ping([&](session& from, std::string_view payload) {
            heard += "ping " + std::string(payload) + ";";
            from.close();
        });
        (*opened)->on_close([&](session&, std::uint16_t, std::string_view) { (*loop)->stop(); });
        (*opened)->ping("here");
    });
    (*loop)->run();
    EXPECT_EQ(heard, "pong here;ping ping me;");
}
TEST(ws_ping, the_answer_to_a_keep_alive_ping_is_empty) {
    http::server_options options;
    options.limits.idle_timeout = 50ms;
    std::promise<std::string> told;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_pong([&](session& from, std::string_view payload) {
            told.set_value("<" + std::string(payload) + ">");
            from.on_message(nullptr);
            from.close();
        });
    });
    served s(std::move(r), options);
    ws_peer p(s.port());
    EXPECT_EQ(p.next(), "9 ");
    p.send(frame(opcode::pong, ""));
    EXPECT_EQ(told.get_future().get(), "<>");
}

}  // namespace wire::ws::agreement_test
