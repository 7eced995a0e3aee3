// What hostile servers can try on a client: each ends in the stated error, in time, and memory
// stays bounded.
#include <sys/socket.h>

#include <thread>
#include <tuple>

#include "abused.hpp"
#include "raw_server.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/ws_handshake.hpp"

namespace wire::testing::client_test {

// Sends `begin`, then `more` over and over, until the client closes or 16 MB are sent.
void pour(int fd, std::string_view begin, std::string_view more) {
    ::send(fd, begin.data(), begin.size(), MSG_NOSIGNAL);
    std::string many;
    while (!more.empty() && many.size() < 65'536) many += more;
    for (int i = 0; i < 256 && !many.empty(); ++i) {
        if (::send(fd, many.data(), many.size(), MSG_NOSIGNAL) < 0) return;
    }
}

TEST(client_abuse, floods_end_in_their_error) {
    const struct {
        std::string_view begin;
        std::string_view more;
        errc error;
    } cases[] = {
        {"", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", errc::header_too_large},
        {"HTTP/1.1 200 OK\r\n", "A: b\r\n", errc::too_many_headers},
        {"HTTP/1.1 200 OK\r\nA: ", "b", errc::header_too_large},
        {"HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n", "x", errc::body_too_large},
        {"HTTP/1.1 200 OK\r\n\r\n", "x", errc::body_too_large},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "10\r\n0123456789abcdef\r\n",
         errc::body_too_large},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "e",
         errc::chunk_extension_too_large},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "T: t\r\n",
         errc::too_many_headers},
    };
    const std::size_t before = resident_kib();
    for (const auto& c : cases) {
        raw_server hostile([&](raw_server& s) {
            raw_visitor v = s.accept();
            v.request();
            pour(v.fd(), c.begin, c.more);
        });
        http::client_options options;
        options.limits.max_body_bytes = 65'536;
        auto client = http::client::create(options);
        ASSERT_TRUE(client);
        const auto got = client->get("http://127.0.0.1:" + std::to_string(hostile.port()) + "/");
        EXPECT_EQ(got.code(), c.error)
            << c.begin << c.more << ": " << (got ? "a reply" : got.error().message);
    }
    std::printf("    VmRSS %zu KiB before, %zu KiB after\n", before, resident_kib());
#if !defined(WIRE_SANITIZED)
    EXPECT_LE(resident_kib(), before + 8192);
#endif
}

TEST(client_abuse, compressed_bodies_expand_only_so_far) {
    if (!compression_available()) GTEST_SKIP() << "built without zlib";
    buffer bomb;  // 32 MiB in as many KiB
    auto packer = compressor::create(coding::gzip);
    ASSERT_TRUE(packer);
    const std::string blank(1 << 20, ' ');
    for (int i = 0; i < 32; ++i)
        ASSERT_EQ(packer->add(blank, i == 31 ? flush::finish : flush::none, bomb), errc::none);
    const std::size_t before = resident_kib();
    for (const auto& [most, ratio, error] :
         {std::tuple(std::uint64_t{1} << 30, 100U, errc::expands_too_much),
          std::tuple(std::uint64_t{1} << 20, 0U, errc::body_too_large)}) {
        raw_server hostile([&](raw_server& s) {
            raw_visitor v = s.accept();
            v.request();
            pour(v.fd(),
                 "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
                     std::to_string(bomb.size()) + "\r\n\r\n" + std::string(bomb.view()),
                 "");
        });
        http::client_options options;
        options.decompress = true;
        options.limits.max_body_bytes = most;
        options.limits.max_decompression_ratio = ratio;
        auto client = http::client::create(options);
        ASSERT_TRUE(client);
        const auto got = client->get("http://127.0.0.1:" + std::to_string(hostile.port()) + "/");
        EXPECT_EQ(got.code(), error) << (got ? "a reply" : got.error().message);
    }
    std::printf("    VmRSS %zu KiB before, %zu KiB after\n", before, resident_kib());
#if !defined(WIRE_SANITIZED)
    EXPECT_LE(resident_kib(), before + 8192);
#endif
}

TEST(client_abuse, messages_too_large_close_the_session) {
    raw_server hostile([](raw_server& s) {
        raw_visitor v = s.accept();
        const std::string asked = v.request();
        const auto at = asked.find("Sec-WebSocket-Key: ") + 19;
        pour(v.fd(),
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
             "Upgrade\r\nSec-WebSocket-Accept: " +
                 ws::accept_key(asked.substr(at, asked.find('\r', at) - at)) + "\r\n\r\n" +
                 std::string("\x02\x7E\x40\0", 4),
             std::string(0x4000, 'x') + std::string("\0\x7E\x40\0", 4));  // fragments without end
    });
    ws::dial_options options;
    options.limits.max_message_bytes = 100'000;
    auto client = ws::blocking_client::connect(
        "ws://127.0.0.1:" + std::to_string(hostile.port()) + "/", options);
    ASSERT_TRUE(client) << client.error().message;
    const auto got = client->receive(5s);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.code(), errc::closed_early) << got.error().message;
}

TEST(client_abuse, servers_that_trickle_or_say_nothing_time_out) {
    for (const std::string_view begin :
         {"", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"}) {
        raw_server hostile([&](raw_server& s) {
            raw_visitor v = s.accept();
            v.request();
            pour(v.fd(), begin, "");
            v.request();  // until the client goes
        });
        http::client_options options;
        options.response_timeout = 100ms;
        options.body_timeout = 100ms;
        auto client = http::client::create(options);
        ASSERT_TRUE(client);
        EXPECT_EQ(client->get("http://127.0.0.1:" + std::to_string(hostile.port()) + "/").code(),
                  errc::timed_out)
            << begin;
    }
}

}  // namespace wire::testing::client_test
