// Keep-Alive as servers write it, and connections that are idle for longer than that.
#include "kept_time.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"

namespace wire::http::kept_time_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;

std::chrono::milliseconds kept(std::initializer_list<header> fields) {
    header_list list;
    for (const header& h : fields) list.push_back(h);
    return kept_time(list);
}

constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365 * 100) - 1s;

TEST(kept_time, is_less_than_the_server_says) {
    EXPECT_EQ(kept({{"Keep-Alive", "timeout=5"}}), 4s);
    EXPECT_EQ(kept({{"keep-alive", "TimeOut = 5"}}), 4s);
    EXPECT_EQ(kept({{"Keep-Alive", "timeout=5, max=1000"}}), 4s);
    EXPECT_EQ(kept({{"Keep-Alive", "max=1000,timeout=75"}}), 74s);
    EXPECT_EQ(kept({{"Keep-Alive", "timeout=2"}}), 1s);
    EXPECT_EQ(kept({{"Keep-Alive", "timeout=1"}}), 500ms);
    EXPECT_EQ(kept({{"Keep-Alive", "timeout=0"}}), 0ms);
    EXPECT_EQ(kept({{"Keep-Alive", "timeout=00000000000000000000000000000000000000005"}}), 4s);
}
TEST(kept_time, is_the_least_of_several) {
    EXPECT_EQ(kept({{"Keep-Alive", "timeout=9, timeout=5, timeout=7"}}), 4s);
    EXPECT_EQ(kept({{"Keep-Alive", "timeout=9"}, {"X", "timeout=1"}, {"Keep-Alive", "timeout=3"}}),
              2s);
}
TEST(kept_time, is_not_limited_by_anything_else) {
    EXPECT_GE(kept({}), for_ever);
    EXPECT_GE(kept({{"Connection", "timeout=5"}}), for_ever);
    for (const std::string_view value : {"",
                                         ",",
                                         "=",
                                         "5",
                                         "timeout",
                                         "timeout=",
                                         "timeout=x",
                                         "timeout=5s",
                                         "timeout=-5",
                                         "timeout=+5",
                                         "timeout=5.0",
                                         "timeout=\"5\"",
                                         "timeout=0x5",
                                         "timeout=5 5",
                                         "timeout:5",
                                         "xtimeout=5",
                                         "timeout=5;max=1",
                                         "max=5",
                                         "timeout==5",
                                         "timeout=99999999999999999999999999999999999999999"})
        EXPECT_GE(kept({{"Keep-Alive", value}}), for_ever) << value;
}

// Whether a blocking client, whose loop does not run in between, asks again on the connection of an
// answer with this field, after that time.
bool used_again(const std::string& said, std::chrono::milliseconds later,
                const client_options& options = {}) {
    served s([&said](response res) { res.header("Keep-Alive", said).send("ok"); });
    auto c = *client::create(options);
    const std::string url = "http://127.0.0.1:" + std::to_string(s.port()) + "/";
    EXPECT_TRUE(c.get(url));
    std::this_thread::sleep_for(later);
    const auto got = c.get(url);
    EXPECT_TRUE(got) << got.error().message;
    return got && got->reused();
}

TEST(kept_time, bounds_how_long_a_connection_is_used) {
    EXPECT_FALSE(used_again("timeout=0", 0ms));
    EXPECT_FALSE(used_again("timeout=1", 600ms));
    EXPECT_TRUE(used_again("timeout=1000", 0ms));
    EXPECT_TRUE(used_again("timeout=nonsense", 0ms));
}
TEST(kept_time, lengthens_no_time_of_the_clients_own) {
    client_options options;
    options.idle_timeout = 20ms;
    EXPECT_FALSE(used_again("timeout=1000", 40ms, options));
    EXPECT_FALSE(used_again("none", 40ms, options));
}
TEST(kept_time, ends_idle_connections) {
    std::atomic<bool> over = false;
    bool left = false;
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n");
        left = v.is_left();
        over = true;
    });
    auto loop = *event_loop::create();
    async_client c(*loop);
    c.get(raw.url(), {});
    while (!over) loop->run_once(10ms);
    raw.finish();
    EXPECT_TRUE(left);
}
// The server has not closed yet when it has just answered.
TEST(kept_time, does_not_keep_what_waits_from_following_at_once) {
    served s([](response res) { res.header("Keep-Alive", "timeout=0").send("ok"); });
    auto loop = *event_loop::create();
    client_options options;
    options.max_connections_per_host = 1;
    async_client c(*loop, options);
    int answered = 0;
    for (int i = 0; i < 3; ++i) {
        c.get("http://127.0.0.1:" + std::to_string(s.port()) + "/",
              [&answered](const result<reply>& got) { answered += got.ok(); });
    }
    for (const auto until = clock::now() + 10s; answered < 3 && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_EQ(answered, 3);
    EXPECT_EQ(c.connections_opened(), 1U);
}

}  // namespace wire::http::kept_time_test
