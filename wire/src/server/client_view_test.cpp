// Whom trusted proxies say that a request is from.
#include "client_view.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "raw_peer.hpp"
#include "served.hpp"

namespace wire::http::client_view_test {

using testing::raw_peer;
using testing::served;

struct reading : ::testing::Test {
    forwarded_fields believed;
    std::vector<network> trusted{*network::parse("10.0.0.0/8"), *network::parse("2001:db8::/32")};
    limits bounds;

    // "ADDRESS scheme authority", or "nothing".
    std::string from(const char* peer, const std::vector<header>& fields) const {
        header_list list;
        for (const header& h : fields) list.push_back(h);
        const auto v =
            detail::read_client_view(list, *address::parse(peer, 9), believed, trusted, bounds);
        if (!v) return "nothing";
        return v->from.to_string() + " " + std::string(v->scheme) + " " + std::string(v->authority);
    }
    std::string by_x(const char* list, const char* peer = "10.0.0.1") {
        believed = {.x_forwarded_for = true};
        return from(peer, {{"X-Forwarded-For", list}});
    }
    std::string by_forwarded(const char* list) {
        believed = {.forwarded = true};
        return from("10.0.0.1", {{"Forwarded", list}});
    }
};

TEST_F(reading, nothing_of_strangers) {
    EXPECT_EQ(by_x("192.0.2.1", "192.0.2.7"), "nothing");
    believed = {.forwarded = true};
    EXPECT_EQ(from("192.0.2.7", {{"Forwarded", "for=192.0.2.1;proto=https"}}), "nothing");
}
TEST_F(reading, x_forwarded_for_from_the_right) {
    EXPECT_EQ(by_x("192.0.2.1"), "192.0.2.1:0  ");
    EXPECT_EQ(by_x("192.0.2.1:80"), "192.0.2.1:80  ");
    EXPECT_EQ(by_x("6.6.6.6, 192.0.2.1"), "192.0.2.1:0  ");  // forged
    EXPECT_EQ(by_x("10.6.6.6, 192.0.2.1"), "192.0.2.1:0  ");
    EXPECT_EQ(by_x("6.6.6.6,192.0.2.1 ,\t10.0.0.2,2001:db8::5"), "192.0.2.1:0  ");
    EXPECT_EQ(by_x("192.0.2.1,[2001:db8::5]:80"), "192.0.2.1:0  ");
    // All are trusted: the first is the client.
    EXPECT_EQ(by_x("10.0.0.3, 10.0.0.2"), "10.0.0.3:0  ");
}
TEST_F(reading, stops_at_what_is_no_address) {
    for (const char* list : {"192.0.2.1, unknown", "192.0.2.1, _hidden", "192.0.2.1, nonsense",
                             "192.0.2.1,", "192.0.2.1, 1.2.3.4, x y", ""})
        EXPECT_EQ(by_x(list), "10.0.0.1:9  ") << list;
    EXPECT_EQ(by_x("192.0.2.1, unknown, 10.0.0.2"), "10.0.0.2:0  ");
    believed = {.x_forwarded_for = true};
    EXPECT_EQ(from("10.0.0.1", {}), "10.0.0.1:9  ");
}
TEST_F(reading, several_fields_are_one_list) {
    believed = {.x_forwarded_for = true};
    EXPECT_EQ(from("10.0.0.1", {{"X-Forwarded-For", "6.6.6.6"},
                                {"Other", "9.9.9.9"},
                                {"x-forwarded-for", "192.0.2.1"},
                                {"X-FORWARDED-FOR", "10.0.0.3, 10.0.0.2"}}),
              "192.0.2.1:0  ");
}
TEST_F(reading, no_more_hops_than_the_limit) {
    bounds.max_forwarded_hops = 2;
    EXPECT_EQ(by_x("192.0.2.1, 10.0.0.3, 10.0.0.2"), "10.0.0.3:0  ");
    EXPECT_EQ(by_forwarded("for=192.0.2.1, for=10.0.0.3, for=10.0.0.2"), "10.0.0.3:0  ");
}
TEST_F(reading, scheme_and_host_beside_the_client) {
    believed = {.x_forwarded_for = true, .x_forwarded_proto = true, .x_forwarded_host = true};
    const auto with = [this](const char* addresses, const char* proto, const char* host) {
        return from("10.0.0.1", {{"X-Forwarded-For", addresses},
                                 {"X-Forwarded-Proto", proto},
                                 {"X-Forwarded-Host", host}});
    };
    EXPECT_EQ(with("192.0.2.1", "https", "a.example"), "192.0.2.1:0 https a.example");
    EXPECT_EQ(with("192.0.2.1, 10.0.0.2", "HTTPS, http", "a.example:80, inner"),
              "192.0.2.1:0 https a.example:80");
    // Replaced instead of appended to.
    EXPECT_EQ(with("192.0.2.1, 10.0.0.2", "wss", "a.example"), "192.0.2.1:0 https a.example");
    // Appended to what the client forged.
    EXPECT_EQ(with("6.6.6.6, 192.0.2.1", "https, http", "evil, a.example"),
              "192.0.2.1:0 http a.example");
    EXPECT_EQ(with("192.0.2.1", "gopher", "a b"), "192.0.2.1:0  ");
    EXPECT_EQ(with("192.0.2.1", "", ":80"), "192.0.2.1:0  ");
    believed = {.x_forwarded_proto = true};
    EXPECT_EQ(with("192.0.2.1", "http, https", "a"), "10.0.0.1:9 https ");
}
TEST_F(reading, forwarded_from_the_right) {
    EXPECT_EQ(by_forwarded("for=192.0.2.1;proto=https;host=a.example"),
              "192.0.2.1:0 https a.example");
    EXPECT_EQ(by_forwarded("for=6.6.6.6;proto=http;host=evil, for=\"192.0.2.1:80\";proto=https, "
                           "for=\"[2001:db8::5]\";proto=http;host=inner"),
              "192.0.2.1:80 https inner");
    EXPECT_EQ(by_forwarded("for=192.0.2.1, for=_hidden;proto=https"), "10.0.0.1:9 https ");
    EXPECT_EQ(by_forwarded("for=192.0.2.1, for=unknown"), "10.0.0.1:9  ");
    EXPECT_EQ(by_forwarded("for=192.0.2.1, proto=https"), "10.0.0.1:9 https ");
    EXPECT_EQ(by_forwarded("for=192.0.2.1;host=\"a b\""), "192.0.2.1:0  ");
}
TEST_F(reading, nothing_of_a_malformed_forwarded_but_what_came_after_it) {
    // What a client writes hides nothing of what the proxy appends.
    for (const char* written : {"\"", "for", "for=6.6.6.6;x=\"", "for=6.6.6.6;x=\"\\", ",,\"\\\"",
                                "for=\"6.6.6.6", "for=10.0.0.2;for=10.0.0.3", "x=\"a, b\"c"}) {
        EXPECT_EQ(by_forwarded((std::string(written) + ", for=192.0.2.1;proto=https").c_str()),
                  "192.0.2.1:0 https ")
            << written;
        EXPECT_EQ(by_forwarded((std::string(written) + ",for=\"[2001:db9::5]:80\"").c_str()),
                  "[2001:db9::5]:80  ")
            << written;
        EXPECT_EQ(by_forwarded((std::string(written) + ", for=10.0.0.2").c_str()), "10.0.0.2:0  ")
            << written;
    }
    EXPECT_EQ(by_forwarded("for=192.0.2.1, for=10.0.0.2;x=\"a, \\\", \\\\\""), "192.0.2.1:0  ");
    EXPECT_EQ(from("10.0.0.1", {{"Forwarded", "for=6.6.6.6"},
                                {"Forwarded", "for=\"unfinished"},
                                {"Forwarded", "for=10.0.0.2"}}),
              "10.0.0.2:0  ");
}

void say_who(response res) {
    const request& r = res.request();
    res.send(r.client_address().host() + " " + std::string(r.client_scheme()) + " " +
             std::string(r.client_authority()) + " " + r.peer().host());
}

TEST(forwarded_requests, tell_handlers_and_the_log_of_the_client) {
    std::mutex mutex;
    std::vector<std::string> logged;
    server_options options;
    options.trusted_proxies = {*network::parse("127.0.0.1")};
    options.forwarded_fields = {
        .x_forwarded_for = true, .x_forwarded_proto = true, .x_forwarded_host = true};
    options.on_finished = [&](const access_record& r) {
        const std::lock_guard lock(mutex);
        logged.push_back(common_log(r));
    };
    {
        served s(say_who, options);
        raw_peer p(s.port());
        p.send(
            "GET / HTTP/1.1\r\nHost: inner\r\nX-Forwarded-For: 192.0.2.1\r\n"
            "X-Forwarded-Proto: https\r\nX-Forwarded-Host: a.example\r\n\r\n"
            "GET / HTTP/1.1\r\nHost: inner\r\n\r\n"
            "GET / HTTP/1.1\r\nHost: inner\r\nForwarded: for=6.6.6.6\r\n\r\n");
        EXPECT_EQ(p.response(), "200 192.0.2.1 https a.example 127.0.0.1");
        // Nothing stays of the request before.
        EXPECT_EQ(p.response(), "200 127.0.0.1 http inner 127.0.0.1");
        EXPECT_EQ(p.response(), "200 127.0.0.1 http inner 127.0.0.1");
    }
    ASSERT_EQ(logged.size(), 3U);
    EXPECT_TRUE(logged[0].starts_with("192.0.2.1 - - [")) << logged[0];
    EXPECT_TRUE(logged[1].starts_with("127.0.0.1 - - [")) << logged[1];
}
TEST(forwarded_requests, behind_the_proxy_protocol_start_from_whom_that_names) {
    server_options options;
    options.trusted_proxies = {*network::parse("127.0.0.1"), *network::parse("192.0.2.0/24")};
    options.proxy_protocol = proxy_protocol::required;
    options.forwarded_fields = {.forwarded = true};
    served s(say_who, options);
    for (const auto& [peer, client] :
         {std::pair("192.0.2.1", "198.51.100.1"), std::pair("203.0.113.1", "203.0.113.1")}) {
        raw_peer p(s.port());
        p.send("PROXY TCP4 " + std::string(peer) +
               " 192.0.2.2 1 80\r\nGET / HTTP/1.1\r\nHost: a\r\n"
               "Forwarded: for=198.51.100.1\r\n\r\n");
        EXPECT_EQ(p.response(), "200 " + std::string(client) + " http a " + peer);
    }
}
TEST(forwarded_requests, believe_no_fields_of_a_connection_that_is_nobody_s) {
    server_options options;
    options.trusted_proxies = {*network::parse("127.0.0.1")};
    options.proxy_protocol = proxy_protocol::required;
    options.forwarded_fields = {.x_forwarded_for = true};
    served s(say_who, options);
    const std::string get = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.1\r\n\r\n";
    const std::string local("\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", 16);
    for (const auto& [header, client] : {std::pair(std::string("PROXY UNKNOWN\r\n"), "127.0.0.1"),
                                         // The proxy's own connection: its word counts.
                                         std::pair(local, "198.51.100.1")}) {
        raw_peer p(s.port());
        p.send(header + get);
        EXPECT_EQ(p.response(), "200 " + std::string(client) + " http a 127.0.0.1");
    }
}
TEST(forwarded_requests, tell_which_origin_a_websocket_is_asked_for_from) {
    const auto answer = [](bool trusted, const std::string& fields) {
        server_options options;
        options.trusted_proxies = {*network::parse(trusted ? "127.0.0.1" : "192.0.2.1")};
        options.forwarded_fields = {.x_forwarded_proto = true, .x_forwarded_host = true};
        router r;
        r.websocket("/", [](ws::session&, const request&) {});
        served s(std::move(r), options);
        raw_peer p(s.port());
        p.send(
            "GET / HTTP/1.1\r\nHost: inner\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
            fields + "\r\n");
        return p.response().substr(0, 3);
    };
    const std::string host = "X-Forwarded-Host: a.example\r\n";
    const std::string https = "X-Forwarded-Proto: https\r\n";
    EXPECT_EQ(answer(true, host + https + "Origin: https://a.example\r\n"), "101");
    EXPECT_EQ(answer(true, host + https + "Origin: http://a.example\r\n"), "403");
    EXPECT_EQ(answer(true, host + "Origin: http://a.example\r\n"), "101");
    EXPECT_EQ(answer(true, host + https + "Origin: https://inner\r\n"), "403");
    EXPECT_EQ(answer(true, https + "Origin: https://inner\r\n"), "101");
    // Nobody that is trusted says so.
    EXPECT_EQ(answer(false, host + https + "Origin: https://a.example\r\n"), "403");
    EXPECT_EQ(answer(false, host + https + "Origin: http://inner\r\n"), "101");
}
TEST(forwarded_requests, believe_nothing_unless_told) {
    served s(say_who);
    raw_peer p(s.port());
    p.send(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n"
        "Forwarded: for=192.0.2.1;proto=https\r\nX-Forwarded-Proto: https\r\n\r\n");
    EXPECT_EQ(p.response(), "200 127.0.0.1 http a 127.0.0.1");
}
TEST(forwarded_requests, options_that_cannot_be) {
    server_options options;
    options.forwarded_fields = {.x_forwarded_for = true};
    EXPECT_EQ(server::listen(0, router(), options).code(), errc::bad_argument);
    options.trusted_proxies = {*network::parse("127.0.0.1")};
    options.forwarded_fields.forwarded = true;
    EXPECT_EQ(server::listen(0, router(), options).code(), errc::bad_argument);
}

TEST(https_targets, want_a_secured_connection) {
    server_options options;
    options.forwarded_fields.x_forwarded_proto = true;
    options.forwarded_fields.x_forwarded_for = true;
    options.trusted_proxies = {*network::parse("127.0.0.1")};
    served s([](response res) { res.send("hello"); }, options);
    for (const char* target : {"https://a/", "HTTPS://a/b?c"}) {
        const std::string line = "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n";
        raw_peer p(s.port());
        p.send(line + "\r\n" + line + "\r\n");
        EXPECT_EQ(p.response(), "(close) 421 https resource asked for without TLS\n");
        p.finish_sending();
        EXPECT_EQ(p.rest(), "");
        raw_peer q(s.port());
        q.send(line + "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\r\n");
        EXPECT_EQ(q.response(), "200 hello");
    }
    raw_peer r(s.port());
    r.send("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(r.response(), "200 hello");
}

}  // namespace wire::http::client_view_test
