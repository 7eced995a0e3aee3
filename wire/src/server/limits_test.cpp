// Limits of a server: connections, what it keeps for a peer that does not read, and time.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::http::limits_test {

using namespace std::chrono_literals;
using testing::get;
using testing::mirror;
using testing::raw_peer;
using testing::served;

TEST(server, memory_for_one_that_sends_without_reading_is_bounded) {
    std::atomic<int> served_count{0};
    server_options options;
    options.limits.max_unsent_bytes = 64 * 1024;
    served s(
        [&](response res) {
            ++served_count;
            res.send(std::string(1'000, 'x'));
        },
        options);
    raw_peer p(s.port());
    std::string many;
    // More than the socket buffers of both ends can grow to.
    for (int i = 0; i < 600'000; ++i) many += get("/");
    const std::size_t sent = p.send_until_stuck(many, 500);
    EXPECT_LT(sent, many.size());
    // What socket buffers of some megabytes take, and little more.
    EXPECT_LT(served_count.load(), 50'000);
    // When it begins to read it gets all it asked for.
    const auto asked = static_cast<int>(sent / get("/").size());
    for (int i = 0; i < asked; ++i) ASSERT_EQ(p.response().size(), 1'004U) << i;
    EXPECT_EQ(served_count.load(), asked);
}
TEST(server, needs_a_connection_for_each_loop) {
    server_options options;
    options.host = "127.0.0.1";
    options.loops = 3;
    options.limits.max_connections = 2;
    EXPECT_EQ(server::listen(0, mirror, options).code(), errc::bad_argument);
    options.limits.max_connections = 3;
    EXPECT_EQ(server::listen(0, mirror, options).code(), errc::none);
    options.loops = 0;
    options.limits.max_connections = 0;
    EXPECT_EQ(server::listen(0, mirror, options).code(), errc::bad_argument);
}
TEST(server, limits_connections) {
    server_options options;
    options.limits.max_connections = 2;
    served s(mirror, options);
    raw_peer a(s.port());
    a.send(get("/a"));
    EXPECT_EQ(a.response(), "200 GET /a ");
    {
        raw_peer b(s.port());
        b.send(get("/b"));
        EXPECT_EQ(b.response(), "200 GET /b ");
        raw_peer c(s.port());
        EXPECT_EQ(c.exactly(1), "");
        a.send(get("/still"));
        EXPECT_EQ(a.response(), "200 GET /still ");
        b.send(get("/", "Connection: close\r\n"));
        b.response();
        EXPECT_EQ(b.rest(), "");
    }
    raw_peer d(s.port());
    d.send(get("/d"));
    EXPECT_EQ(d.response(), "200 GET /d ");
}
// Has no memory for anybody.
struct poor_context : wire::tls::server_context {
    std::atomic<int> asked{0};
    result<std::unique_ptr<wire::tls::connection>> accept() override {
        ++asked;
        return error(errc::tls_failed, "no memory");
    }
    result<void> reload() override { return {}; }
    result<void> reload(std::vector<wire::tls::certificate_source>, std::string) override {
        return {};
    }
};
TEST(server, makes_no_tls_for_an_address_that_has_its_share) {
    const auto context = std::make_shared<poor_context>();
    server_options options;
    options.tls = context;
    for (const std::size_t most : {0U, 1U}) {
        options.limits.max_connections_per_address = most;
        context->asked = 0;
        served s(mirror, options);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(raw_peer(s.port()).rest(), "");
        // Those for which none could be made have no share.
        EXPECT_EQ(context->asked, most == 0 ? 0 : 3);
    }
}
TEST(server, time_limits) {
    server_options options;
    options.limits.idle_timeout = 100ms;
    options.limits.header_timeout = 100ms;
    options.limits.body_timeout = 100ms;
    options.limits.close_timeout = 100ms;
    served s(mirror, options);
    raw_peer idle(s.port());
    raw_peer head(s.port());
    raw_peer body(s.port());
    raw_peer after(s.port());
    head.send("GET / HT");
    body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
    after.send(get("/"));
    EXPECT_EQ(after.response(), "200 GET / ");
    EXPECT_EQ(head.response(), "(close) 408 timed out\n");
    EXPECT_EQ(body.response(), "(close) 408 timed out\n");
    EXPECT_EQ(idle.rest(), "");
    EXPECT_EQ(after.rest(), "");
}
TEST(server, time_limits_may_be_for_ever) {
    constexpr auto forever = std::chrono::milliseconds::max();
    server_options options;
    options.limits.idle_timeout = forever;
    options.limits.header_timeout = forever;
    options.limits.body_timeout = forever;
    options.limits.body_rate_grace = forever;
    options.limits.handler_timeout = forever;
    options.limits.write_timeout = forever;
    options.limits.close_timeout = forever;
    options.drain_timeout = forever;
    std::promise<response> taken;
    served s([&](response res) { taken.set_value(std::move(res)); }, options);
    raw_peer p(s.port());
    p.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbo");
    std::this_thread::sleep_for(20ms);
    p.send("dy");
    auto whole = taken.get_future();
    ASSERT_EQ(whole.wait_for(5s), std::future_status::ready);
    response res = whole.get();
    s.ask_to_stop();
    std::this_thread::sleep_for(20ms);
    mirror(std::move(res));
    EXPECT_EQ(p.response(), "(close) 200 POST / body");
    p.finish_sending();
    s.join();
}
TEST(server, a_trickle_does_not_extend_the_time_for_a_head) {
    server_options options;
    options.limits.header_timeout = 150ms;
    served s(mirror, options);
    raw_peer p(s.port());
    const auto start = std::chrono::steady_clock::now();
    std::string trickle = get("/", "A: " + std::string(10'000, 'x') + "\r\n");
    std::string got;
    for (std::size_t i = 0; i < trickle.size() && got.empty(); ++i) {
        p.send(trickle.substr(i, 1));
        pollfd poll_in{p.fd(), POLLIN, 0};
        if (::poll(&poll_in, 1, 10) > 0) got = p.response();
    }
    EXPECT_EQ(got, "(close) 408 timed out\n");
    EXPECT_GE(std::chrono::steady_clock::now() - start, 150ms);
}
TEST(server, writing_again_after_a_long_silence_is_not_stalled_writing) {
    server_options options;
    options.limits.write_timeout = 50ms;
    served s(mirror, options);
    raw_peer p(s.port());
    for (int i = 0; i < 4; ++i) {
        p.send(get("/"));
        EXPECT_EQ(p.response(), "200 GET / ");
        std::this_thread::sleep_for(100ms);
    }
}
TEST(server, gives_up_on_a_peer_that_does_not_read) {
    server_options options;
    options.limits.write_timeout = 100ms;
    options.limits.idle_timeout = 100ms;
    served s([](response res) { res.send(std::string(32 << 20, 'x')); }, options);
    raw_peer p(s.port());
    p.send(get("/"));
    // The connection is reset once nothing has moved for the time limit: sending fails then.
    bool gone = false;
    for (int i = 0; i < 1000 && !gone; ++i) {
        std::this_thread::sleep_for(10ms);
        gone = ::send(p.fd(), "x", 1, MSG_NOSIGNAL) < 0;
    }
    EXPECT_TRUE(gone);
}

}  // namespace wire::http::limits_test
