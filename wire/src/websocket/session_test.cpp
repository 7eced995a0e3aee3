// The server's side of WebSocket, over real sockets.
#include "wire/websocket/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>

#include "pieces.hpp"
#include "served.hpp"
#include "ws_peer.hpp"

namespace wire::ws::session_test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using testing::frame;
using testing::served;
using testing::ws_peer;

// What a session's end was, for tests to wait for.
struct ending {
    std::promise<std::string> how;
    void note(session& s) {
        s.on_close([this](session&, std::uint16_t code, std::string_view reason) {
            how.set_value(std::to_string(code) + " " + std::string(reason));
        });
    }
    std::string get() { return how.get_future().get(); }
};

http::router echo(ending* end = nullptr) {
    http::router r;
    r.websocket("/", [end](session& s, const http::request&) {
        s.on_message([](session& s, message m) { s.send(m); });
        if (end != nullptr) end->note(s);
    });
    return r;
}

std::size_t unsent_of(const handle& h) {
    std::promise<std::size_t> answer;
    auto got = answer.get_future();
    h.post([answer = std::move(answer)](session& s) mutable { answer.set_value(s.unsent()); });
    return got.get();
}

TEST(ws_session, opens_to_pages_of_its_own_origin_and_of_those_named) {
    const auto open = [](session&, const http::request&) {};
    http::router r;
    r.websocket("/own", open)
        .websocket("/named", open,
                   {.allowed_origins = {"https://app.example", "http://dev.example:3000", "null"}})
        .websocket("/any", open, {.allowed_origins = {"*"}});
    served s(std::move(r));
    const auto ask = [&](const std::string& path, const std::string& fields) {
        testing::raw_peer p(s.port());
        p.send("GET " + path +
               " HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
               fields + "\r\n");
        return p.response().substr(0, 3);
    };
    const std::string host = "Host: a.example:8080\r\n";
    for (const std::string path : {"/own", "/named", "/any"}) {
        EXPECT_EQ(ask(path, host), "101");  // no browser
        EXPECT_EQ(ask(path, host + "Origin: http://a.example:8080\r\n"), "101");
        EXPECT_EQ(ask(path, host + "Origin: https://A.example:8080\r\n"), "101");
        EXPECT_EQ(ask(path, "Host: a.example\r\nOrigin: https://a.example\r\n"), "101");
        EXPECT_EQ(ask(path, "Host: [::1]:80\r\nOrigin: http://[::1]\r\n"), "101");
        for (const std::string other :
             {"http://a.example", "http://a.example:80", "http://b.example:8080", "null", "",
              "http://a.example:8080.evil", "http://evil/a.example:8080", "a.example:8080",
              "file://", "http://xa.example:8080", "http://a.example:8080@evil"}) {
            const bool in = path == "/any" || (path == "/named" && other == "null");
            EXPECT_EQ(ask(path, host + "Origin: " + other + "\r\n"), in ? "101" : "403")
                << path << " " << other;
        }
        EXPECT_EQ(ask(path, host + "Origin: http://a.example:8080\r\nOrigin: http://b\r\n"), "403");
        for (const std::string named :
             {"https://app.example", "https://APP.example:443", "http://dev.example:3000"})
            EXPECT_EQ(ask(path, host + "Origin: " + named + "\r\n"), path == "/own" ? "403" : "101")
                << path << " " << named;
        for (const std::string unnamed : {"http://app.example", "http://dev.example"})
            EXPECT_EQ(ask(path, host + "Origin: " + unnamed + "\r\n"),
                      path == "/any" ? "101" : "403")
                << path << " " << unnamed;
    }
}
TEST(ws_session, echoes_text_binary_and_fragments_however_cut) {
    served s(echo());
    ws_peer p(s.port());
    const std::string large(70'000, 'x');
    const std::string text = frame(opcode::text, "hello") + frame(opcode::binary, "\0\xFF"s) +
                             frame(opcode::text, "a", false) + frame(opcode::ping, "now") +
                             frame(opcode::continuation, "b");
    for (const auto& cut : testing::all_cuts(text)) {
        for (const auto piece : cut) {
            p.send(piece);
            std::this_thread::yield();
        }
        ASSERT_EQ(p.next(), "1 hello");
        ASSERT_EQ(p.next(), "2 \0\xFF"s);
        ASSERT_EQ(p.next(), "10 now");
        ASSERT_EQ(p.next(), "1 ab");
    }
    p.send(frame(opcode::text, large));
    EXPECT_EQ(p.next(), "1 " + large);
}
TEST(ws_session, frames_sent_together_with_the_handshake) {
    served s(echo());
    testing::raw_peer p(s.port());
    p.send(
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: "
        "Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" +
        frame(opcode::text, "early"));
    EXPECT_EQ(p.response(), "101 ");
    EXPECT_EQ(p.exactly(7),
              "\x81\x05"
              "early");
}
TEST(ws_session, closing_handshake_begun_by_the_peer) {
    ending end;
    served s(echo(&end));
    ws_peer p(s.port());
    p.send(frame(opcode::close,
                 "\x03\xE9"
                 "bye") +
           frame(opcode::text, "too late"));
    EXPECT_EQ(p.next(),
              "8 \x03\xE9"
              "bye");
    EXPECT_EQ(end.get(), "1001 bye");
    EXPECT_EQ(p.rest(), "");
}
TEST(ws_session, closing_handshake_begun_here) {
    ending end;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        end.note(s);
        s.on_message([](session& s, message m) {
            s.close(4000, m.data);
            EXPECT_FALSE(s.send("too late"));
            EXPECT_FALSE(s.is_open());
        });
    });
    served s(std::move(r));
    ws_peer p(s.port());
    p.send(frame(opcode::text, "enough") + frame(opcode::text, "ignored"));
    EXPECT_EQ(p.next(),
              "8 \x0F\xA0"
              "enough");
    p.send(frame(opcode::close, "\x0F\xA0"));
    EXPECT_EQ(end.get(), "4000 ");
    EXPECT_EQ(p.rest(), "");
}
TEST(ws_session, protocol_errors_close_with_their_code) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"\x81\x01x", "1002 malformed WebSocket frame"},  // unmasked
        {frame(opcode::continuation, "x"), "1002 malformed WebSocket frame"},
        {"\xC1\x80"
         "abcd",
         "1002 malformed WebSocket frame"},  // a reserved bit
        {frame(opcode::text, "\xFF"), "1007 text that is not UTF-8"},
        {frame(opcode::close, "\x03\xED"), "1002 bad WebSocket close code"},
        {frame(opcode::binary, std::string(101, 'x')), "1009 WebSocket message too large"},
    };
    http::server_options options;
    options.limits.max_message_bytes = 100;
    for (const auto& [bytes, expected] : cases) {
        ending end;
        served s(echo(&end), options);
        ws_peer p(s.port());
        p.send(frame(opcode::text, "fine"));
        EXPECT_EQ(p.next(), "1 fine");
        p.send(bytes);
        EXPECT_EQ(end.get(), expected);
        const std::string got = p.next();
        ASSERT_GE(got.size(), 4U);
        const int code =
            static_cast<unsigned char>(got[2]) << 8 | static_cast<unsigned char>(got[3]);
        EXPECT_EQ(std::to_string(code) + " " + got.substr(4), expected);
        p.finish_sending();
        EXPECT_EQ(p.rest(), "");
    }
}
TEST(ws_session, connection_lost) {
    ending end;
    served s(echo(&end));
    {
        ws_peer p(s.port());
        p.send(frame(opcode::text, "x"));
        EXPECT_EQ(p.next(), "1 x");
    }
    EXPECT_EQ(end.get(), "1006 ");
}
TEST(ws_session, handles_reach_it_from_other_threads_until_it_is_gone) {
    std::promise<handle> opened;
    ending end;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        end.note(s);
        opened.set_value(s.handle());
    });
    served s(std::move(r));
    handle h;
    h.send("to nobody");
    {
        ws_peer p(s.port());
        h = opened.get_future().get();
        std::thread other([copy = h] { copy.send("from elsewhere"); });
        EXPECT_EQ(p.next(), "1 from elsewhere");
        other.join();
        h.post([](session& s) { s.send("posted"); });
        EXPECT_EQ(p.next(), "1 posted");
        h.close(4001, "done");
        EXPECT_EQ(p.next(),
                  "8 \x0F\xA1"
                  "done");
    }
    EXPECT_EQ(end.get(), "1006 ");
    h.send("to nobody");
    s.stop();
    h.send("to nobody");
}
TEST(ws_session, other_requests_to_its_route) {
    served s(echo());
    testing::raw_peer p(s.port());
    p.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "426 This is a WebSocket.\n");
    EXPECT_NE(p.head_text.find("Upgrade: websocket\r\n"), std::string::npos);
    EXPECT_NE(p.head_text.find("Connection: Upgrade\r\n"), std::string::npos);
    p.send(
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: "
        "Upgrade\r\nSec-WebSocket-Version: 8\r\nSec-WebSocket-Key: x\r\n\r\n");
    EXPECT_EQ(p.response(), "426 This is a WebSocket.\n");
    EXPECT_NE(p.head_text.find("Sec-WebSocket-Version: 13\r\n"), std::string::npos);
    p.send(
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: "
        "Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n");
    EXPECT_EQ(p.response(), "400 This is a WebSocket.\n");
    p.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(p.response(), "405 Method Not Allowed\n");
}
TEST(ws_session, going_away_when_the_server_stops) {
    ending end;
    served s(echo(&end));
    ws_peer p(s.port());
    p.send(frame(opcode::text, "x"));
    EXPECT_EQ(p.next(), "1 x");
    s.ask_to_stop();
    EXPECT_EQ(p.next(), "8 \x03\xE9");
    p.send(frame(opcode::close, "\x03\xE9"));
    EXPECT_EQ(end.get(), "1001 ");
    p.finish_sending();
    s.join();
}
TEST(ws_session, silence_is_asked_about_and_then_ended) {
    ending end;
    http::server_options options;
    options.limits.idle_timeout = 50ms;
    served s(echo(&end), options);
    ws_peer p(s.port());
    EXPECT_EQ(p.next(), "9 ");
    p.send(frame(opcode::pong, ""));
    EXPECT_EQ(p.next(), "9 ");
    EXPECT_EQ(end.get(), "1006 no answer to ping");
    EXPECT_EQ(p.next(), "<end>");
}
TEST(ws_session, a_close_that_is_not_answered_ends_all_the_same) {
    ending end;
    http::server_options options;
    options.limits.close_timeout = 50ms;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        end.note(s);
        s.close();
    });
    served s(std::move(r), options);
    ws_peer p(s.port());
    EXPECT_EQ(p.next(), "8 \x03\xE8");
    EXPECT_EQ(end.get(), "1006 no answer to close");
    EXPECT_EQ(p.rest(), "");
}
TEST(ws_session, a_peer_that_does_not_read_congests_its_sender_and_drains) {
    std::promise<std::size_t> congested_at;
    std::promise<void> drained;
    http::server_options options;
    options.limits.max_unsent_bytes = 100'000;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_drained([&](session&) { drained.set_value(); });
        s.on_message([&](session& s, message) {
            std::size_t sent = 1;
            while (s.send(std::string(10'000, 'x'))) ++sent;
            EXPECT_TRUE(s.is_open());
            congested_at.set_value(sent);
        });
    });
    served s(std::move(r), options);
    ws_peer p(s.port());
    p.send(frame(opcode::text, "go"));
    const std::size_t n = congested_at.get_future().get();
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(p.next().size(), 10'002U);
    drained.get_future().wait();
}
// The kernel takes each message at once: no slow peer makes the session wait.
TEST(ws_session, lets_its_loop_serve_others_however_fast_the_peer_reads) {
    http::server_options options;
    options.limits.max_unsent_bytes = 10'000;
    for (const auto send :
         {static_cast<bool (session::*)(std::string_view, opcode)>(&session::send),
          &session::send_now}) {
        std::atomic<int> most{0};  // messages sent in one call
        int left = 100;
        http::router r;
        r.websocket("/", [&](session& s, const http::request&) {
            const auto go_on = [&](session& s) {
                for (int n = 1; left > 0; ++n) {
                    --left;
                    most = std::max<int>(most, n);
                    if ((s.*send)(std::string(2000, 'x'), opcode::text)) continue;
                    EXPECT_TRUE(s.is_congested());
                    return;
                }
            };
            s.on_drained(go_on);
            go_on(s);
        });
        served s(std::move(r), options);
        ws_peer p(s.port());
        for (int i = 0; i < 100; ++i) ASSERT_EQ(p.next().size(), 2'002U);
        EXPECT_EQ(most, 5);
    }
}
// One message for each that comes is no flood, however many there are.
TEST(ws_session, may_send_now_again_in_each_iteration) {
    http::server_options options;
    options.limits.max_unsent_bytes = 10'000;
    std::atomic<int> refused{0};
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_message([&](session& s, message m) {
            if (!s.send_now(m.data)) ++refused;
        });
    });
    served s(std::move(r), options);
    ws_peer p(s.port());
    for (int i = 0; i < 20; ++i) {
        p.send(frame(opcode::text, std::string(2000, 'x')));
        ASSERT_EQ(p.next().size(), 2'002U);
    }
    EXPECT_EQ(refused, 0);
}
// Two that send: one waits to be told, the other goes on.
TEST(ws_session, is_told_of_the_drain_whatever_is_sent_meanwhile) {
    std::promise<handle> full;
    std::promise<void> drained;
    http::server_options options;
    options.limits.max_unsent_bytes = 8'000'000;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_drained([&](session&) { drained.set_value(); });
        while (s.send(std::string(100'000, 'x'))) {}
        s.send("last");
        full.set_value(s.handle());
    });
    served s(std::move(r), options);
    ws_peer p(s.port());
    const handle h = full.get_future().get();
    std::size_t left = unsent_of(h);
    for (; left > options.limits.max_unsent_bytes; left = unsent_of(h)) p.next();
    ASSERT_GT(left, 0U);
    h.post([](session& s) { EXPECT_TRUE(s.send_now("between")); });
    while (p.next() != "1 last") {}
    EXPECT_EQ(p.next(), "1 between");
    EXPECT_EQ(drained.get_future().wait_for(5s), std::future_status::ready);
}
TEST(ws_session, hears_its_peer_however_much_it_sends) {
    std::promise<handle> opened;
    http::server_options options;
    options.limits.max_unsent_bytes = 100'000;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_message([](session& s, message) { s.close(); });
        s.on_drained([](session& s) { s.send(std::string(10'000'000, 'x')); });
        s.send(std::string(10'000'000, 'x'));
        opened.set_value(s.handle());
    });
    served s(std::move(r), options);
    ws_peer p(s.port());
    const handle h = opened.get_future().get();
    ASSERT_GT(unsent_of(h), 1'000'000U);
    p.send(frame(opcode::text, "enough"));
    std::string next;
    for (int i = 0; i < 10 && !next.starts_with("8 "); ++i) next = p.next();
    EXPECT_EQ(next, "8 \x03\xE8");
}
// A peer that has said all may end its half while it takes the answers.
TEST(ws_session, hears_all_that_came_before_its_peers_end) {
    constexpr std::size_t size = 20'000'000;
    ending end;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_message([](session& from, message m) {
            from.send(std::string(size, 'x') + std::string(m.data));
        });
        end.note(s);
    });
    served s(std::move(r));
    ws_peer p(s.port());
    p.send(frame(opcode::text, "a") + frame(opcode::text, "b") + frame(opcode::text, "c") +
           frame(opcode::close, "\x0F\xA1over"));
    p.finish_sending();
    std::this_thread::sleep_for(50ms);  // until the socket is full
    for (const std::string last : {"a", "b", "c"}) {
        const std::string answer = p.next();
        ASSERT_EQ(answer.size(), size + 3);
        EXPECT_EQ(answer.substr(size + 2), last);
    }
    EXPECT_EQ(p.next(), "8 \x0F\xA1over");
    EXPECT_EQ(p.rest(), "");
    EXPECT_EQ(end.get(), "4001 over");
}
// A ping would wait behind all that is on its way.
TEST(ws_session, does_not_take_one_that_still_reads_for_a_silent_one) {
    ending end;
    http::server_options options;
    options.limits.idle_timeout = 600ms;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        end.note(s);
        s.on_message([](session& s, message m) { s.send(m); });
        s.send(std::string(40'000'000, 'x'));
    });
    served s(std::move(r), options);
    ws_peer p(s.port());
    for (int i = 0; i < 40; ++i) {
        ASSERT_EQ(p.exactly(1'000'000).size(), 1'000'000U) << i;
        std::this_thread::sleep_for(50ms);
    }
    p.exactly(10);  // its header's
    p.send(frame(opcode::text, "all read"));
    std::string next = p.next();
    while (next == "9 ") next = p.next();
    EXPECT_EQ(next, "1 all read");
    EXPECT_EQ(end.get(), "1006 no answer to ping");
}
TEST(ws_session, waits_for_an_answer_to_close_from_when_it_can_be_read) {
    ending end;
    http::server_options options;
    options.limits.close_timeout = 1s;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        end.note(s);
        s.send(std::string(40'000'000, 'x'));
        s.close();
    });
    served s(std::move(r), options);
    ws_peer p(s.port());
    for (int i = 0; i < 40; ++i) {
        ASSERT_EQ(p.exactly(1'000'000).size(), 1'000'000U) << i;
        std::this_thread::sleep_for(50ms);
    }
    p.exactly(10);  // its header's
    EXPECT_EQ(p.next(), "8 \x03\xE8");
    p.send(frame(opcode::close, "\x03\xE8"));
    EXPECT_EQ(end.get(), "1000 ");
}
// Neither from our close nor from the peer's on.
TEST(ws_session, does_not_wait_for_ever_for_one_that_takes_its_last_bytes_slowly) {
    constexpr std::size_t size = 40'000'000;
    for (const bool peer_closes : {true, false}) {
        ending end;
        http::server_options options;
        options.limits.close_timeout = 500ms;
        options.limits.write_timeout = 1s;
        options.limits.max_unsent_bytes = 2 * size;  // the peer is heard meanwhile
        http::router r;
        r.websocket("/", [&](session& s, const http::request&) {
            end.note(s);
            s.send(std::string(size, 'x'));
            if (!peer_closes) s.close();
        });
        served s(std::move(r), options);
        ws_peer p(s.port());
        if (peer_closes) p.send(frame(opcode::close, "\x03\xE8"));
        std::size_t taken = 0;
        for (std::size_t n = 1; n != 0 && taken < size; taken += n) {
            n = p.exactly(1'000'000).size();
            std::this_thread::sleep_for(50ms);
        }
        EXPECT_LT(taken, size);
        EXPECT_EQ(end.get(), peer_closes ? "1000 " : "1006 no answer to close");
    }
}
TEST(ws_session, sends_no_pong_behind_its_close_frame) {
    ending end;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        end.note(s);
        s.close();
    });
    served s(std::move(r));
    ws_peer p(s.port());
    EXPECT_EQ(p.next(), "8 \x03\xE8");
    p.send(frame(opcode::ping, "there?") + frame(opcode::close, "\x03\xE8"));
    EXPECT_EQ(end.get(), "1000 ");
    EXPECT_EQ(p.rest(), "");
}
TEST(ws_session, echo_to_one_that_never_reads_is_bounded) {
    http::server_options options;
    options.limits.max_unsent_bytes = 100'000;
    served s(echo(), options);
    ws_peer p(s.port());
    std::string flood;
    for (int i = 0; i < 1000; ++i) flood += frame(opcode::text, std::string(30'000, 'x'));
    const std::size_t sent = p.send_until_stuck(flood, 500);
    EXPECT_LT(sent, flood.size());
    const std::size_t whole = sent / frame(opcode::text, std::string(30'000, 'x')).size();
    for (std::size_t i = 0; i < whole; ++i) ASSERT_EQ(p.next().size(), 30'002U);
}

}  // namespace wire::ws::session_test
