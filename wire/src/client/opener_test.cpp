// What opening a connection does as the users of both clients see it.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"

namespace wire::opener_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;

std::string name_url(std::uint16_t port, const std::string& scheme = "http") {
    return scheme + "://some.example:" + std::to_string(port) + "/";
}
auto to_addresses(std::vector<std::string> literals) {
    return [literals](const std::string&, std::uint16_t port) -> result<std::vector<address>> {
        std::vector<address> out;
        for (const auto& l : literals) out.push_back(*address::parse(l, port));
        return out;
    };
}

TEST(opening, both_clients_go_on_to_the_address_that_answers) {
    http::router routes;
    routes.get("/", [](http::response res) { res.send("x"); });
    routes.websocket("/ws", [](ws::session&, const http::request&) {});
    served s(std::move(routes));
    http::client_options options;
    options.resolve = to_addresses({"::1", "127.0.0.9", "127.0.0.1"});
    auto c = *http::client::create(options);
    const auto got = c.get(name_url(s.port()));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_GT(got->opening().connect, 0ns);
    EXPECT_FALSE(got->reused());
    EXPECT_TRUE(c.get(name_url(s.port()))->reused());
    EXPECT_EQ(c.connections_opened(), 1U);
    ws::dial_options dial;
    dial.resolve = options.resolve;
    EXPECT_TRUE(ws::blocking_client::connect(name_url(s.port(), "ws") + "ws", dial));
}
TEST(opening, localhost_is_this_host_unless_the_user_looks_names_up) {
    served s([](http::response res) { res.send("x"); });
    http::client_options options;
    const auto opened = [&] {
        auto c = *http::client::create(options);
        return c.get("http://LocalHost:" + std::to_string(s.port()));
    };
    const auto known = opened();
    ASSERT_TRUE(known) << known.error().message;
    EXPECT_EQ(known->opening().resolve, 0ns);
    options.resolve = to_addresses({"127.0.0.1"});
    const auto asked = opened();
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_GT(asked->opening().resolve, 0ns);
}
TEST(opening, look_ups_have_a_limit_of_their_own) {
    std::atomic<bool> release{false};
    http::client_options options;
    options.resolve_timeout = 20ms;
    options.resolve = [&](const std::string&, std::uint16_t) -> result<std::vector<address>> {
        while (!release) std::this_thread::sleep_for(1ms);
        return errc::not_resolved;
    };
    auto loop = *event_loop::create();
    http::async_client c(*loop, options);
    std::vector<std::string> ends;
    for (int i = 0; i < 3; ++i) {
        c.get(name_url(80), [&](result<http::reply> r) {
            ends.push_back(std::string(to_string(r.code())) + r.error().message);
        });
    }
    while (ends.size() < 3) loop->run_once();
    for (const auto& end : ends) {
        EXPECT_EQ(end.substr(0, 9), "timed out");
        EXPECT_NE(end.find("name look-up: no answer within 20 ms"), std::string::npos) << end;
    }
    release = true;
}
TEST(opening, the_look_up_s_error_is_told) {
    http::client_options options;
    options.resolve = [](const std::string& host, std::uint16_t) -> result<std::vector<address>> {
        return error(errc::not_resolved, host + " is not in my book");
    };
    auto c = *http::client::create(options);
    const auto got = c.get("http://some.example/");
    EXPECT_EQ(got.error().message,
              "GET http://some.example/: name look-up: some.example is not in my book");
    options.resolve = [](const std::string&, std::uint16_t) { return std::vector<address>{}; };
    EXPECT_EQ(http::client::create(options)->get("http://some.example/").code(),
              errc::not_resolved);
}
TEST(opening, an_address_that_does_not_answer_is_told_in_time) {
    auto full = *listen_tcp(address::loopback_v4(0), {.backlog = 0});
    const address at = *local_address(full.get());
    std::vector<unique_fd> crowd;
    for (int i = 0; i < 4; ++i) crowd.push_back(*connect_tcp(at));
    http::client_options options;
    options.connect_timeout = 30ms;
    const auto got = http::client::create(options)->get("http://" + at.to_string());
    EXPECT_EQ(got.code(), errc::timed_out);
    EXPECT_NE(got.error().message.find("connect: no connection within 30 ms (127.0.0.1:"),
              std::string::npos)
        << got.error().message;
    ws::dial_options dial;
    dial.connect_timeout = 30ms;
    EXPECT_EQ(ws::blocking_client::connect("ws://" + at.to_string(), dial).code(), errc::timed_out);
}
TEST(opening, a_request_may_bring_its_own_limits) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        v.request();
        EXPECT_EQ(v.request(), "");
    });
    auto c = *http::client::create();
    http::client_request r;
    r.url = raw.url();
    r.timeouts.emplace().response_timeout = 20ms;
    const auto got = c.send(r);
    EXPECT_EQ(got.code(), errc::timed_out);
    EXPECT_NE(got.error().message.find("response: no head"), std::string::npos)
        << got.error().message;
}

}  // namespace wire::opener_test
