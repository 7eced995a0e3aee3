// What hostile WebSocket peers can try.
#include <thread>

#include "abused.hpp"
#include "wire/proto/compression.hpp"

namespace wire::testing::websocket_test {

std::string head_of_101(raw_peer& p) {
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
        const std::string more = p.exactly(1);
        if (more.empty()) break;
        head += more;
    }
    return head.substr(0, 12);
}

struct websocket_abuse : abuse {
    static http::server_options patient() {
        auto o = small_limits();
        // On a busy machine a peer may take its time to read why it was closed, and nobody is asked
        // whether it is still there.
        o.limits.close_timeout = 5s;
        o.limits.idle_timeout = 60s;
        return o;
    }
    explicit websocket_abuse(http::server_options o = patient()) : abuse(std::move(o)) {}
    std::deque<raw_peer> open(std::size_t n) {
        auto out = crowd(n, ask_for_websocket);
        for (raw_peer& p : out) EXPECT_EQ(head_of_101(p), "HTTP/1.1 101");
        return out;
    }
};

TEST_F(websocket_abuse, flood_of_pings_without_reading_pongs) {
    const std::string flood = times(200'000, frame(ws::opcode::ping, std::string(125, 'p')));
    auto one = open(1);
    EXPECT_LT(one[0].send_until_stuck(flood, 100), flood.size());
    expect_bounded(4096 + flood.size() / 1024);
    EXPECT_TRUE(hangs_up(one[0]));  // write_timeout
}
TEST_F(websocket_abuse, flood_of_tiny_frames) {
    const std::string flood = times(100'000, frame(ws::opcode::binary, "x"));
    auto peers = open(5);
    std::thread writer([&] {
        for (raw_peer& p : peers) p.send_until_stuck(flood, 20);
    });
    serves_others();
    writer.join();
    expect_bounded(4096 + flood.size() / 1024);
}
TEST_F(websocket_abuse, flood_of_empty_fragments_costs_no_memory) {
    const std::string flood = frame(ws::opcode::binary, "a", false) +
                              times(200'000, frame(ws::opcode::continuation, "", false));
    auto peers = open(3);
    for (raw_peer& p : peers) p.send(flood);
    for (raw_peer& p : peers) p.send(frame(ws::opcode::continuation, "z"));
    for (raw_peer& p : peers)
        EXPECT_EQ(p.exactly(4),
                  "\x82\x02"
                  "az");
    expect_bounded(4096 + flood.size() / 1024);
}
TEST_F(websocket_abuse, messages_too_large_in_one_frame_or_many) {
    const std::string_view too_big = "\x03\xF1";  // 1009
    std::string announced = frame(ws::opcode::binary, "");
    announced[1] = static_cast<char>(0xFF);
    announced.insert(2, std::string("\0\0\0\0\xFF\xFF\xFF\xFF", 8));
    for (const std::string& sent :
         {frame(ws::opcode::binary, std::string(65'537, 'x')), announced,
          frame(ws::opcode::binary, "", false) +
              times(70'000, frame(ws::opcode::continuation, "x", false))}) {
        auto peers = open(20);
        for (raw_peer& p : peers) {
            p.send(sent);
            EXPECT_EQ(p.exactly(2).substr(0, 1), "\x88");
            EXPECT_EQ(p.exactly(2), too_big);
        }
    }
    expect_bounded(8192);
}
// Messages that are never finished.
struct hoarders : abuse {
    static http::server_options budgeted() {
        auto o = small_limits();
        o.limits.max_unfinished_message_bytes = 2 << 20;
        o.limits.idle_timeout = 60s;
        return o;
    }
    hoarders() : abuse(budgeted()) {}
};

TEST_F(hoarders, hold_no_more_than_the_budget) {
    std::string begun = frame(ws::opcode::binary, std::string(60'000, 'x'));
    begun.pop_back();
    const auto hoard = [&](std::size_t n) {
        auto peers = crowd(n, std::string(ask_for_websocket) + begun);
        for (raw_peer& p : peers) EXPECT_EQ(head_of_101(p), "HTTP/1.1 101");
        std::this_thread::sleep_for(20ms);
        return peers;
    };
    auto first = hoard(1);
    const auto others = hoard(300);
    auto last = hoard(1);
    expect_bounded(8192);
    // The first has held its message for longest: 1013. The last is served.
    EXPECT_EQ(first[0].exactly(4).substr(2), "\x03\xF5");
    last[0].send(std::string(1, 'x' ^ 4));
    EXPECT_EQ(last[0].exactly(4).substr(0, 2), "\x82\x7E");
}
struct idle_websocket : websocket_abuse {
    idle_websocket() : websocket_abuse(small_limits()) {}
};

TEST_F(idle_websocket, ends_after_one_ping) {
    auto silent = open(100);
    expect_bounded(4096);
    for (raw_peer& p : silent) EXPECT_EQ(p.rest(), std::string("\x89\0", 2));
}

struct compressed : abuse {
    static http::server_options roomy() {
        auto o = small_limits();
        o.limits.max_message_bytes = 1024 * 1024;
        o.limits.close_timeout = 5s;
        return o;
    }
    static http::router inflating() {
        http::router routes = hello_and_echo();
        routes.websocket("/zip",
                         [](ws::session& s, const http::request&) {
                             s.on_message([](ws::session& from, ws::message m) {
                                 from.send(std::to_string(m.data.size()));
                             });
                         },
                         {.deflate = ws::deflate_options{}});
        return routes;
    }
    compressed() : abuse(roomy(), inflating()) {}
    std::deque<raw_peer> open(std::size_t n) {
        std::string ask(ask_for_websocket);
        ask.replace(ask.find("/echo"), 5, "/zip");
        ask.insert(ask.size() - 2, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
        auto out = crowd(n, ask);
        for (raw_peer& p : out) EXPECT_EQ(head_of_101(p), "HTTP/1.1 101");
        return out;
    }
    // That many bytes of one kind, as the content of a compressed message: a thousandth of them.
    static std::string bomb(std::size_t bytes) {
        auto packer = *compressor::create(coding::raw_deflate);
        buffer out;
        EXPECT_EQ(packer.add(std::string(bytes, ' '), flush::sync, out), errc::none);
        return std::string(out.view().substr(0, out.size() - 4));
    }
    // In frames of `most` bytes.
    static std::string message(std::string_view content, std::size_t most) {
        std::string all;
        while (!content.empty()) {
            const std::string_view part = content.substr(0, most);
            content.remove_prefix(part.size());
            std::string one = frame(all.empty() ? ws::opcode::binary : ws::opcode::continuation,
                                    part, content.empty());
            if (all.empty()) one[0] = static_cast<char>(one[0] | 0x40);  // RSV1
            all += one;
        }
        return all;
    }
};

TEST_F(compressed, bombs_inflate_only_so_far) {
    if (!compression_available()) GTEST_SKIP() << "built without zlib";
    const std::string content = bomb(64 * 1024 * 1024);
    for (const std::size_t most : {content.size(), std::size_t{100}, std::size_t{1}}) {
        const std::string sent = message(content, most);
        auto peers = open(20);
        for (raw_peer& p : peers) p.send(sent);
        for (raw_peer& p : peers) {
            EXPECT_EQ(p.exactly(1), "\x88") << most;
            p.exactly(1);
            EXPECT_EQ(p.exactly(2), "\x03\xF1") << most;  // 1009
        }
        expect_bounded(8192);
    }
}
// Each within the limits, thousandfold: work, but no memory.
TEST_F(compressed, small_messages_that_grow_are_served_one_by_one) {
    if (!compression_available()) GTEST_SKIP() << "built without zlib";
    const std::string one = message(bomb(60'000), 10);
    auto peers = open(10);
    for (raw_peer& p : peers) p.send(times(20, one));
    for (raw_peer& p : peers) {
        for (int i = 0; i < 20; ++i) {
            p.exactly(1);
            const std::string size = p.exactly(1);
            EXPECT_EQ(p.exactly(static_cast<unsigned char>(size[0])), "60000");
        }
    }
    expect_bounded(8192);
}

struct closing : abuse {
    static http::router goodbye() {
        http::router routes = hello_and_echo();
        routes.websocket("/goodbye", [](ws::session& s, const http::request&) { s.close(); });
        return routes;
    }
    closing() : abuse(small_limits(), goodbye()) {}
};

TEST_F(closing, handshakes_that_are_never_answered_end) {
    std::string ask(ask_for_websocket);
    ask.replace(ask.find("/echo"), 5, "/goodbye");
    auto peers = crowd(100, ask);
    for (raw_peer& p : peers) {
        EXPECT_EQ(head_of_101(p), "HTTP/1.1 101");
        EXPECT_EQ(p.exactly(4), "\x88\x02\x03\xE8");
    }
    // They go on sending all the same: nobody listens, and the connection goes after close_timeout.
    for (raw_peer& p : peers) p.send(times(100, frame(ws::opcode::text, "still here")));
    expect_bounded(4096);
    for (raw_peer& p : peers) EXPECT_TRUE(hangs_up(p));
}

}  // namespace wire::testing::websocket_test
