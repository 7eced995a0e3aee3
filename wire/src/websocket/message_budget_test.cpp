// Messages that begin and do not end: their rate, and what all of them together may hold.
#include "message_budget.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <thread>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/websocket.hpp"
#include "wire/proto/ws_handshake.hpp"
#include "ws_peer.hpp"

namespace wire::ws::message_budget_test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::frame;
using testing::served;
using testing::ws_peer;

http::router echo() {
    http::router r;
    r.websocket("/", [](session& s, const http::request&) {
        s.on_message([](session& s, message m) { s.send(m); });
    });
    return r;
}

// A client's frame of `size` bytes, but for its last `missing`.
std::string unfinished(std::size_t size, std::size_t missing) {
    std::string whole = frame(opcode::binary, std::string(size, 'x'));
    whole.resize(whole.size() - missing);
    return whole;
}

TEST(unfinished_messages, one_that_is_too_slow_is_refused) {
    http::server_options options;
    options.limits.message_rate_grace = 100ms;
    for (const std::string& slow :
         {unfinished(100'000, 99'990), frame(opcode::text, "some", false),
          frame(opcode::text, "whole") + frame(opcode::text, "", false)}) {
        served s(echo(), options);
        ws_peer p(s.port());
        p.send(slow);
        std::string got = p.next();
        if (got == "1 whole") got = p.next();
        EXPECT_EQ(got,
                  "8 \x03\xF0"
                  "message too slow");
    }
}
TEST(unfinished_messages, one_that_keeps_the_rate_may_take_its_time) {
    http::server_options options;
    options.limits.message_rate_grace = 1ms;
    options.limits.min_message_rate = 1000;  // 10,000 bytes buy ten seconds
    served s(echo(), options);
    ws_peer p(s.port());
    p.send(unfinished(10'001, 1));
    std::this_thread::sleep_for(50ms);
    p.send("\x79");  // x under the mask of an offset of 10,000
    EXPECT_EQ(p.next().size(), 10'003U);
    // Without a message there is no rate.
    std::this_thread::sleep_for(50ms);
    p.send(frame(opcode::text, "again"));
    EXPECT_EQ(p.next(), "1 again");
}
TEST(unfinished_messages, of_a_peer_that_was_held_back_are_timed_again_once_it_reads) {
    http::router flooding;
    flooding.websocket("/", [](session& s, const http::request&) {
        s.on_ping([](session& s, std::string_view) {
            for (int i = 0; i < 32; ++i) s.send(message{opcode::binary, std::string(1 << 20, 'x')});
        });
    });
    http::server_options options;
    options.limits.message_rate_grace = 200ms;
    options.limits.max_unsent_bytes = 1 << 16;
    served s(std::move(flooding), options);
    ws_peer p(s.port());
    p.send(frame(opcode::text, "some", false) + frame(opcode::ping, "flood"));
    std::this_thread::sleep_for(400ms);  // what it does not read is more than what it sends late
    EXPECT_EQ(p.next(), "10 flood");
    for (int i = 0; i < 32; ++i) ASSERT_EQ(p.next().size(), (1U << 20) + 2);
    EXPECT_EQ(p.next(),
              "8 \x03\xF0"
              "message too slow");
}
// What others send to it fills the socket as well.
TEST(unfinished_messages, of_a_peer_that_is_held_back_meanwhile_take_no_time) {
    std::promise<handle> opened;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_message([](session& s, message m) { s.send(m); });
        opened.set_value(s.handle());
    });
    http::server_options options;
    options.limits.message_rate_grace = 500ms;
    options.limits.max_unsent_bytes = 1 << 16;
    served s(std::move(r), options);
    ws_peer p(s.port());
    p.send(frame(opcode::text, "some", false) + frame(opcode::ping, "seen"));
    EXPECT_EQ(p.next(), "10 seen");
    opened.get_future().get().post([](session& s) {
        for (int i = 0; i < 32; ++i) s.send(std::string(1 << 20, 'x'), opcode::binary);
    });
    std::this_thread::sleep_for(1s);
    p.send(frame(opcode::continuation, "more"));
    for (int i = 0; i < 32; ++i) ASSERT_EQ(p.next().size(), (1U << 20) + 2);
    EXPECT_EQ(p.next(), "1 somemore");
}
TEST(unfinished_messages, without_a_rate_one_may_stay_open) {
    http::server_options options;
    options.limits.message_rate_grace = 1ms;
    options.limits.min_message_rate = 0;
    served s(echo(), options);
    ws_peer p(s.port());
    p.send(frame(opcode::text, "a", false));
    std::this_thread::sleep_for(50ms);
    p.send(frame(opcode::continuation, "b"));
    EXPECT_EQ(p.next(), "1 ab");
}
TEST(unfinished_messages, silence_within_one_is_still_asked_about) {
    http::server_options options;
    options.limits.idle_timeout = 50ms;
    served s(echo(), options);
    ws_peer p(s.port());
    p.send(frame(opcode::text, "a", false));
    EXPECT_EQ(p.next(), "9 ");
    p.send(frame(opcode::pong, "") + frame(opcode::continuation, "b"));
    EXPECT_EQ(p.next(), "1 ab");
}
TEST(unfinished_messages, default_size_of_one) {
    served s(echo());
    ws_peer p(s.port());
    p.send(frame(opcode::binary, std::string(1 << 20, 'x')));
    EXPECT_EQ(p.next().size(), (1U << 20) + 2);
    p.send(frame(opcode::binary, std::string((1 << 20) + 1, 'x')));
    EXPECT_EQ(p.next().substr(0, 4), "8 \x03\xF1");
}
// Waits until the server has taken in what `p` has sent: it answers in order.
void settle(ws_peer& p) {
    p.send(frame(opcode::ping, "seen"));
    ASSERT_EQ(p.next(), "10 seen");
}
TEST(unfinished_messages, all_together_have_a_limit_and_the_costliest_leaves) {
    http::server_options options;
    options.limits.max_unfinished_message_bytes = 2'000'000;
    served s(echo(), options);
    const std::string large(400'000, 'x');
    std::deque<ws_peer> peers;
    const auto begin = [&](const std::string& part) {
        peers.emplace_back(s.port());
        peers.back().send(frame(opcode::binary, part, false));
        settle(peers.back());
        std::this_thread::sleep_for(20ms);
    };
    begin("small");
    begin(std::string(600'000, 'x'));  // the buffer doubles: up to a mebibyte
    for (int i = 0; i < 3; ++i) {
        peers.emplace_back(s.port());
        peers.back().send(frame(opcode::binary, large, false));
    }
    EXPECT_EQ(peers[1].next(),
              "8 \x03\xF5"
              "too many unfinished messages");
    for (const std::size_t i : {0U, 2U, 3U, 4U}) {
        peers[i].send(frame(opcode::continuation, "z"));
        EXPECT_EQ(peers[i].next().substr(0, 2), "2 ") << i;
    }
    // All that was held is free again.
    for (int round = 0; round < 20; ++round) {
        ws_peer p(s.port());
        p.send(frame(opcode::binary, large, false));
        settle(p);
    }
    peers[0].send(frame(opcode::text, "still here"));
    EXPECT_EQ(peers[0].next(), "1 still here");
}
TEST(unfinished_messages, of_a_client_have_a_limit_too) {
    testing::raw_server raw([](testing::raw_server& r) {
        auto v = r.accept();
        const std::string asked = v.request();
        const auto at = asked.find("Sec-WebSocket-Key: ") + 19;
        v.send(
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: " +
            accept_key(asked.substr(at, asked.find('\r', at) - at)) + "\r\n\r\n" +
            "\x02\x7E\x40\x00"s + std::string(0x4000, 'x'));
        v.request();  // until the client has gone
    });
    dial_options options;
    options.limits.max_unfinished_message_bytes = 10'000;
    auto c = blocking_client::connect(raw.url("/", "ws"), options);
    ASSERT_TRUE(c) << c.error().message;
    const auto got = c->receive(10s);
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().message.find("1013"), std::string::npos) << got.error().message;
}

}  // namespace wire::ws::message_budget_test
