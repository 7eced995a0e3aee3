// What hostile HTTP peers can try, each until it meets its limit, with what they see then.
#include <thread>

#include "abused.hpp"

namespace wire::testing::http_test {

struct http_abuse : abuse {};

TEST_F(http_abuse, slowloris) {
    auto many = crowd(200, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < 20; ++i) {  // 400 ms: longer than a head may take
        for (raw_peer& p : many) p.send("X");
        std::this_thread::sleep_for(20ms);
        if (i == 10) expect_bounded(4096);
    }
    for (raw_peer& p : many) EXPECT_EQ(p.response(), "(close) 408 timed out\n");
}
TEST_F(http_abuse, slow_bodies) {
    auto many = crowd(200, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for (raw_peer& p : many) p.send("x");
    expect_bounded(4096);
    for (raw_peer& p : many) EXPECT_EQ(p.response(), "(close) 408 timed out\n");
}
TEST_F(http_abuse, slow_reads) {
    // 5 MiB asked for by each of 40, none of it read: what is kept for each is one answer and what
    // the limit allows.
    auto many = crowd(40, times(20, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n"));
    std::this_thread::sleep_for(100ms);
    expect_bounded(40 * (64 + 2 * 256) + 4096);
    // Reset once nothing has moved for write_timeout.
    for (raw_peer& p : many) EXPECT_TRUE(hangs_up(p));
    expect_bounded(8192);
}
TEST_F(http_abuse, flood_of_header_fields) {
    for (raw_peer& p :
         crowd(50, "GET / HTTP/1.1\r\nHost: a\r\n" + times(200, "A: b\r\n") + "\r\n")) {
        EXPECT_EQ(p.response(), "(close) 431 too many header fields\n");
    }
    for (raw_peer& p : crowd(50, "GET / HTTP/1.1\r\nHost: a\r\nA: " + std::string(20'000, 'b'))) {
        EXPECT_EQ(p.response(), "(close) 431 header too large\n");
    }
    expect_bounded(4096);
}
TEST_F(http_abuse, endless_targets_bodies_extensions_and_trailers) {
    const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    const struct {
        std::string sent;
        std::string_view status;
    } cases[] = {
        {"GET /" + std::string(10'000, 'a'), "(close) 414 "},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", "(close) 413 "},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
         "(close) 400 "},
        {chunked + times(5, "4000\r\n" + std::string(0x4000, 'x') + "\r\n"), "(close) 413 "},
        {chunked + "1;" + std::string(5'000, 'e'), "(close) 400 "},
        {chunked + times(2'000, "1;abc\r\nx\r\n"), "(close) 400 "},  // together
        {chunked + "0\r\n" + "A: " + std::string(10'000, 't'), "(close) 431 "},
        {chunked + "0\r\n" + times(200, "A: t\r\n"), "(close) 431 "},
    };
    for (const auto& c : cases) {
        for (raw_peer& p : crowd(20, c.sent)) {
            const std::string got = p.response();
            EXPECT_TRUE(got.starts_with(c.status)) << got << " to " << c.sent.substr(0, 100);
        }
    }
    expect_bounded(4096);
}
TEST_F(http_abuse, flood_of_pipelined_requests) {
    const std::string flood = times(200'000, get_root);
    raw_peer p(server.port());
    p.send_until_stuck(flood, 100);
    expect_bounded(8192 + flood.size() / 1024);  // socket buffers are the kernel's
    std::deque<raw_peer> many = crowd(20);
    for (raw_peer& each : many)
        each.send_until_stuck(std::string_view(flood).substr(0, 2'000'000), 5);
    expect_bounded(8192 + flood.size() / 1024);
}
TEST_F(http_abuse, half_open_connections) {
    auto silent = crowd(300);
    auto kept = crowd(100, get_root);
    for (raw_peer& p : kept) EXPECT_EQ(p.response(), "200 hello");
    expect_bounded(4096);
    for (raw_peer& p : silent) EXPECT_EQ(p.rest(), "");  // idle_timeout
    for (raw_peer& p : kept) EXPECT_EQ(p.rest(), "");
}
TEST_F(http_abuse, compressed_bodies_stay_compressed) {
    // A request's body is handed over as it came: there is nothing to blow up.
    raw_peer p(server.port());
    p.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n" +
           std::string(20, '\x1f'));
    EXPECT_EQ(p.response(), "200 20");
    expect_bounded(2048);
}

struct trickled_bodies : abuse {
    static http::server_options patient() {
        auto o = small_limits();
        o.limits.body_timeout = 10s;  // they never stand still
        o.limits.min_body_rate = 1000;
        o.limits.body_rate_grace = 300ms;
        return o;
    }
    trickled_bodies() : abuse(patient()) {}
};

TEST_F(trickled_bodies, end_though_they_never_stand_still) {
    auto many = crowd(100, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 25; ++i) {  // a byte every 20 ms
        for (raw_peer& p : many) p.send("x");
        std::this_thread::sleep_for(20ms);
        if (i == 10) expect_bounded(4096);
    }
    for (raw_peer& p : many) EXPECT_EQ(p.response(), "(close) 408 timed out\n");
}

struct few_connections : abuse {
    static http::server_options few() {
        auto o = small_limits();
        o.limits.max_connections = 50;
        o.limits.idle_timeout = 10s;
        return o;
    }
    few_connections() : abuse(few()) {}
};

TEST_F(few_connections, flood_of_connections) {
    {
        auto welcome = crowd(49, get_root);
        for (raw_peer& p : welcome) EXPECT_EQ(p.response(), "200 hello");
        serves_others();  // the fiftieth, which leaves again
        // Its place is free once the server has seen it leave: then exactly one more is let in.
        std::deque<raw_peer> late;
        do {
            late.emplace_back(server.port());
            late.back().send(get_root);
        } while (late.back().response() != "200 hello" && late.size() < 100);
        for (int i = 0; i < 500; ++i) EXPECT_EQ(raw_peer(server.port()).exactly(1), "");
        for (raw_peer& p : welcome) {
            p.send(get_root);
            EXPECT_EQ(p.response(), "200 hello");
        }
    }
    for (int i = 0; i < 1000; ++i) {
        raw_peer p(server.port());
        p.send(get_root);
        if (p.response() == "200 hello") break;
        std::this_thread::sleep_for(1ms);
    }
    expect_bounded(4096);
}

}  // namespace wire::testing::http_test
