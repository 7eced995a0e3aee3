// Compressed sessions, over real sockets.
#include <gtest/gtest.h>

#include <string>

#include "raw_peer.hpp"
#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/websocket.hpp"
#include "wire/proto/ws_deflate.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace wire::ws::deflate_test {

using namespace std::chrono_literals;
using testing::served;

constexpr mask_key key{1, 2, 3, 4};

std::string frame(opcode op, std::string_view payload, bool compressed, bool fin = true) {
    buffer out;
    append_frame(out, op, payload, key, fin, compressed);
    return std::string(out.view());
}

std::string raw_deflate(std::string_view text) {
    auto c = compressor::create(coding::raw_deflate);
    buffer out;
    EXPECT_EQ(c->add(text, flush::sync, out), errc::none);
    return std::string(out.view().substr(0, out.size() - 4));
}

// Says what it received, and whether the session compresses.
http::router echo(std::optional<deflate_options> deflate = deflate_options{}) {
    http::router r;
    r.websocket("/",
                [](session& s, const http::request&) {
                    s.on_message([](session& s, message m) {
                        m.data == "?" ? s.send(s.compresses() ? "compresses" : "plain") : s.send(m);
                    });
                },
                {.deflate = deflate});
    return r;
}

std::string url(const served& s) { return "ws://127.0.0.1:" + std::to_string(s.port()); }

// A peer that offers what it likes; `head_text` is the answer.
class offering_peer : public testing::raw_peer {
public:
    offering_peer(std::uint16_t port, const std::string& offer, const std::string& status = "101 ")
        : raw_peer(port) {
        send(
            "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: "
            "Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: " +
            offer + "\r\n\r\n");
        EXPECT_EQ(response().substr(0, 4), status);
    }
    bool has(const std::string& line) const {
        return head_text.find(line + "\r\n") != std::string::npos;
    }
    // The next frame: 'z' when compressed, its opcode, its payload.
    std::string next() {
        std::string raw = exactly(2);
        if (raw.size() < 2) return "<end>";
        const auto length = static_cast<unsigned char>(raw[1]);
        if (length >= 126) raw += exactly(length == 126 ? 2 : 8);
        const auto h = read_frame_header(raw, role::client, true);
        if (h.size != raw.size()) return "<bad frame>";
        return (h.header.reserved != 0 ? "z" : "") + std::to_string(static_cast<int>(h.header.op)) +
               " " + exactly(static_cast<std::size_t>(h.header.length));
    }
};

class ws_deflate_session : public ::testing::Test {
protected:
    void SetUp() override {
        if (!compression_available()) GTEST_SKIP() << "built without zlib";
    }
};

TEST_F(ws_deflate_session, agreed_when_both_want_it) {
    for (const bool server_wants : {false, true}) {
        for (const bool client_wants : {false, true}) {
            served s(echo(server_wants ? std::optional(deflate_options{}) : std::nullopt));
            dial_options o;
            if (client_wants) o.deflate.emplace();
            auto c = blocking_client::connect(url(s), o);
            ASSERT_TRUE(c) << c.error().message;
            ASSERT_TRUE(c->send("?"));
            EXPECT_EQ(c->receive(10s)->data, server_wants && client_wants ? "compresses" : "plain");
        }
    }
}
TEST_F(ws_deflate_session, messages_of_every_size_both_ways_in_all_agreements) {
    for (const bool takeover : {false, true}) {
        for (const int bits : {9, 15}) {
            const deflate_options options{.context_takeover = takeover,
                                          .window_bits = bits,
                                          .peer_context_takeover = takeover,
                                          .peer_window_bits = bits};
            served s(echo(options));
            dial_options o;
            o.deflate = options;
            auto c = blocking_client::connect(url(s), o);
            ASSERT_TRUE(c) << c.error().message;
            for (int round = 0; round < 2; ++round) {
                for (const std::size_t n : {0UL, 1UL, 255UL, 256UL, 10'000UL, 70'000UL}) {
                    std::string text;
                    for (unsigned i = 0; text.size() < n; ++i)
                        text += "value " + std::to_string(i * 2654435761U % 10'000) + ",";
                    text.resize(n);
                    ASSERT_TRUE(c->send(text));
                    const auto got = c->receive(10s);
                    ASSERT_TRUE(got) << got.error().message;
                    ASSERT_TRUE(got->data == text) << n;
                }
            }
            c->close();
        }
    }
}
TEST_F(ws_deflate_session, repetitive_messages_go_both_ways) {
    served s(echo(deflate_options{}));
    dial_options o;
    o.deflate.emplace();
    auto c = blocking_client::connect(url(s), o);
    ASSERT_TRUE(c) << c.error().message;
    std::string repetitive;
    while (repetitive.size() < 300 * 1024) repetitive += "GET /index.html 200 1024\n";
    for (const std::string& text : {std::string(70'000, '\0'), repetitive}) {
        ASSERT_TRUE(c->send(text));
        const auto got = c->receive(10s);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_TRUE(got->data == text);
    }
}
TEST_F(ws_deflate_session, on_the_wire) {
    served s(echo(deflate_options{.context_takeover = true, .peer_context_takeover = true}));
    offering_peer p(s.port(), "permessage-deflate; server_max_window_bits=10");
    EXPECT_TRUE(p.has("Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10"))
        << p.head_text;
    const std::string text(1'000, 'x');
    const std::string packed = raw_deflate(text);
    // In fragments, with a ping between.
    p.send(frame(opcode::text, packed.substr(0, 3), true, false) +
           frame(opcode::ping, "now", false) +
           frame(opcode::continuation, packed.substr(3), false));
    EXPECT_EQ(p.next(), "10 now");
    const std::string got = p.next();
    ASSERT_EQ(got.substr(0, 3), "z1 ");
    EXPECT_LT(got.size(), 30U);
    p.send(frame(opcode::text, "as it is", false));
    EXPECT_EQ(p.next(), "1 as it is");
}
TEST_F(ws_deflate_session, declined_offers_leave_it_plain) {
    served s(echo());
    offering_peer p(s.port(), "permessage-deflate; unknown, x-other");
    EXPECT_EQ(p.head_text.find("Extensions"), std::string::npos);
    p.send(frame(opcode::text, "hello", true));
    EXPECT_EQ(p.next(),
              "8 \x03\xEA"
              "malformed WebSocket frame");
}
TEST_F(ws_deflate_session, a_malformed_offer_fails_the_handshake) {
    served s(echo());
    offering_peer p(s.port(), "permessage-deflate; =", "400 ");
}
TEST_F(ws_deflate_session, limits_close_with_their_code_while_others_are_served) {
    http::server_options options;
    options.limits.max_message_bytes = 6'000'000;
    served s(echo(), options);
    const std::string mixed = [] {
        std::string out;
        for (unsigned i = 0, x = 1; i < 6'000'001; ++i)
            out += static_cast<char>(i % 8 < 6 ? 'a'
                                               : 'a' + ((x = x * 1664525 + 1013904223) >> 24) % 16);
        return out;
    }();
    auto other = blocking_client::connect(url(s));
    ASSERT_TRUE(other);
    const std::vector<std::pair<std::string, std::string>> cases{
        {frame(opcode::binary, raw_deflate(mixed), true), "8 \x03\xF1WebSocket message too large"},
        {frame(opcode::binary, raw_deflate(std::string(5'900'000, ' ')), true),
         "8 \x03\xF1"
         "compressed data expands too much"},
        {frame(opcode::binary, "\xFF\xFF", true),
         "8 \x03\xEF"
         "malformed compressed data"},
        {frame(opcode::text, raw_deflate("\xFF\xFF"), true), "8 \x03\xEFtext that is not UTF-8"},
    };
    for (const auto& [bytes, expected] : cases) {
        offering_peer p(s.port(), "permessage-deflate");
        p.send(bytes);
        EXPECT_EQ(p.next(), expected);
        p.finish_sending();
        EXPECT_EQ(p.rest(), "");
        ASSERT_TRUE(other->send("still here"));
        ASSERT_EQ(other->receive(10s)->data, "still here");
    }
}
TEST_F(ws_deflate_session, a_client_fails_what_it_did_not_offer) {
    for (const auto& [answer, agreed] : std::vector<std::pair<std::string, bool>>{
             {"permessage-deflate; server_no_context_takeover", true},
             {"permessage-deflate", false},
             {"x-other", false}}) {
        testing::raw_server server([answer = answer](testing::raw_server& self) {
            auto p = self.accept();
            const std::string request = p.request();
            const auto at = request.find("Sec-WebSocket-Key: ") + 19;
            buffer out;
            const http::header chosen{"Sec-WebSocket-Extensions", answer};
            EXPECT_EQ(write_upgrade_response(out, request.substr(at, request.find('\r', at) - at),
                                             {}, {&chosen, 1}),
                      errc::none);
            p.send(out.view());
        });
        dial_options o;
        o.deflate.emplace();
        const auto c =
            blocking_client::connect("ws://127.0.0.1:" + std::to_string(server.port()), o);
        EXPECT_EQ(c.ok(), agreed) << answer;
        EXPECT_EQ(c.code(), agreed ? errc::none : errc::bad_handshake);
    }
}

}  // namespace wire::ws::deflate_test
