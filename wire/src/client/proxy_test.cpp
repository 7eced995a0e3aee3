// Which requests go through a proxy, what it is sent, and its refusals.
#include "proxy.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"

namespace wire::proxy_test {

using namespace std::chrono_literals;
using detail::goes_direct;
using detail::parse_proxy;
using testing::raw_server;
using testing::served;

std::string proxy_url(const raw_server& r, const std::string& user = "") {
    return "http://" + user + "127.0.0.1:" + std::to_string(r.port());
}

TEST(proxy, urls) {
    const auto plain = parse_proxy("http://p.example:3128");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->host + "|" + std::to_string(plain->port) + "|" + plain->authorization,
              "p.example|3128|");
    const auto full = parse_proxy("http://Aladdin:open%20sesame@[::1]/");
    ASSERT_TRUE(full);
    EXPECT_EQ(full->host, "::1");
    EXPECT_EQ(full->port, 80);
    EXPECT_EQ(full->authorization, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    EXPECT_FALSE(full->secure);
    EXPECT_TRUE(parse_proxy("https://p.example")->secure);
    EXPECT_EQ(parse_proxy("https://p.example")->port, 443);
    EXPECT_EQ(parse_proxy("http://a:b@c@h:1")->authorization, "Basic YTpiQGM=");
    for (const char* bad : {"", "p:1", "socks4://p", "https://", "http://", "http://u:%zz@p",
                            "http://a%3Ab:c@p", "http://p:99999"}) {
        EXPECT_EQ(parse_proxy(bad).code(), errc::bad_url) << bad;
    }
    EXPECT_EQ(parse_proxy("http://me:sec/ret@p").error().message.find("sec"), std::string::npos);
}
TEST(proxy, urls_of_socks5) {
    const auto show = [](const char* text) {
        const auto p = parse_proxy(text);
        if (!p) return std::string(to_string(p.code()));
        EXPECT_TRUE(p->socks);
        EXPECT_FALSE(p->secure);
        EXPECT_EQ(p->authorization, "");
        return p->name() + (p->looks_up_names ? " names " : " addresses ") + p->user + " " +
               p->password;
    };
    EXPECT_EQ(show("socks5://p.example"), "p.example:1080 addresses  ");
    EXPECT_EQ(show("socks5h://p.example:80/"), "p.example:80 names  ");
    EXPECT_EQ(show("socks5h://[::1]"), "::1:1080 names  ");
    EXPECT_EQ(show("socks5://a%3Ab:c@d@[::1]:9"), "::1:9 addresses a:b c@d");
    EXPECT_EQ(show("socks5://user@p:"), "p:1080 addresses user ");
    const std::string longest(255, 'u');
    EXPECT_EQ(parse_proxy("socks5://" + longest + ":" + longest + "@p")->user, longest);
    for (const std::string& bad : {std::string("socks5://"), std::string("socks5h://:p@h"),
                                   "socks5://u" + longest + "@p", "socks5://u:p" + longest + "@p"})
        EXPECT_EQ(parse_proxy(bad).code(), errc::bad_url) << bad;
    EXPECT_FALSE(parse_proxy("http://p")->socks);
}
TEST(proxy, some_hosts_go_direct) {
    const auto direct = [](const std::string& entry, const std::string& to) {
        return goes_direct({entry}, *parse_url(to));
    };
    EXPECT_TRUE(direct("*", "http://a/"));
    EXPECT_TRUE(direct("example.org", "http://example.org/"));
    EXPECT_TRUE(direct("Example.ORG", "http://www.example.org/"));
    EXPECT_FALSE(direct("example.org", "http://badexample.org/"));
    EXPECT_FALSE(direct("www.example.org", "http://example.org/"));
    EXPECT_FALSE(direct(".example.org", "http://example.org/"));
    EXPECT_TRUE(direct(".example.org", "http://www.example.org/"));
    EXPECT_TRUE(direct("127.0.0.1:81", "http://127.0.0.1:81/"));
    EXPECT_FALSE(direct("127.0.0.1:81", "http://127.0.0.1/"));
    EXPECT_TRUE(direct("::1", "http://[::1]:5/"));
    EXPECT_TRUE(direct("[::1]:5", "http://[::1]:5/"));
    EXPECT_FALSE(direct("[::1]:5", "http://[::1]/"));
    EXPECT_TRUE(direct("[2001:DB8::1]", "http://[2001:db8:0:0::1]/"));
    EXPECT_TRUE(direct("0:0:0:0:0:0:0:1", "http://[::1]/"));
    EXPECT_FALSE(direct("2001:db8::2", "http://[2001:db8::1]/"));
    EXPECT_FALSE(direct("not.an.address", "http://other/"));
    EXPECT_TRUE(direct("*:80", "http://a/"));
    EXPECT_FALSE(direct("*:80", "http://a:81/"));
    EXPECT_TRUE(direct("*.example.org", "http://www.example.org/"));
    EXPECT_FALSE(direct("*.example.org", "http://example.org/"));
    EXPECT_FALSE(direct("*example.org", "http://example.org/"));
    EXPECT_TRUE(direct(" example.org\t", "http://example.org/"));
    EXPECT_TRUE(direct("example.org.", "http://www.example.org/"));
    EXPECT_TRUE(direct("example.org", "http://EXAMPLE.org./"));
    for (const char* nothing : {"", ".", "..", " ", ":80", "[]", "*.", "/", "/8"})
        EXPECT_FALSE(direct(nothing, "http://a/")) << nothing;
}
// As with curl: an address is in no domain.
TEST(proxy, the_end_of_an_address_names_nothing) {
    for (const char* entry : {".1", "*.1", "1", "0.1", ".0.1", "0.0.1", ".0.0.1", "*.10.0.0.1"}) {
        for (const char* to :
             {"http://10.0.0.1/", "http://10.0.0.1./", "http://10.1/", "http://[::ffff:10.0.0.1]/"})
            EXPECT_FALSE(goes_direct({entry}, *parse_url(to))) << entry << " " << to;
    }
    EXPECT_TRUE(goes_direct({"10.0.0.1"}, *parse_url("http://10.0.0.1/")));
    EXPECT_TRUE(goes_direct({".1"}, *parse_url("http://a.1/")));
}
TEST(proxy, hosts_of_some_networks_go_direct) {
    const auto direct = [](const std::string& entry, const std::string& to) {
        return goes_direct({entry}, *parse_url(to));
    };
    EXPECT_TRUE(direct("192.168.0.0/16", "http://192.168.255.1/"));
    EXPECT_FALSE(direct("192.168.0.0/16", "http://192.169.0.1/"));
    EXPECT_TRUE(direct("192.168.7.7/16", "http://192.168.0.1/"));
    EXPECT_TRUE(direct("10.0.0.0/8:8080", "http://10.1.1.1:8080/"));
    EXPECT_FALSE(direct("10.0.0.0/8:8080", "http://10.1.1.1/"));
    EXPECT_TRUE(direct("0.0.0.0/0", "http://8.8.8.8/"));
    EXPECT_FALSE(direct("0.0.0.0/0", "http://[::1]/"));
    EXPECT_TRUE(direct("fd00::/8", "http://[fdab::1]/"));
    EXPECT_FALSE(direct("fd00::/8", "http://[fe80::1]/"));
    EXPECT_TRUE(direct("[fd00::/8]:81", "http://[fdab::1]:81/"));
    EXPECT_TRUE(direct("127.0.0.0/8", "http://[::ffff:127.0.0.1]/"));
    EXPECT_FALSE(direct("127.0.0.0/8", "http://localhost/"));
    EXPECT_FALSE(direct("10.0.0.0/33", "http://10.0.0.1/"));
    EXPECT_FALSE(direct("10.0.0.0/", "http://10.0.0.1/"));
    EXPECT_FALSE(direct("10/8", "http://10.0.0.1/"));
    EXPECT_FALSE(direct("example.org/8", "http://example.org/"));
}
TEST(proxy, is_sent_whole_urls_over_one_connection) {
    raw_server p([](raw_server& r) {
        auto v = r.accept();
        for (int i = 0; i < 2; ++i) {
            const std::string asked = v.request();
            EXPECT_NE(asked.find("Proxy-Authorization: Basic dTpw\r\n"), std::string::npos)
                << asked;
            EXPECT_NE(asked.find(i == 0 ? "Host: one.example\r\n" : "Host: two.example:81\r\n"),
                      std::string::npos)
                << asked;
            const std::string line = asked.substr(0, asked.find('\r'));
            v.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(line.size()) +
                   "\r\n\r\n" + line);
        }
    });
    http::client_options options;
    options.proxy = proxy_url(p, "u:p@");
    auto c = *http::client::create(options);
    EXPECT_EQ(c.get("http://one.example/a?b")->body(), "GET http://one.example/a?b HTTP/1.1");
    EXPECT_EQ(c.get("http://two.example:81")->body(), "GET http://two.example:81/ HTTP/1.1");
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST(proxy, credentials_of_a_request_replace_those_of_the_options) {
    raw_server p([](raw_server& r) {
        auto v = r.accept();
        const std::string asked = v.request();
        EXPECT_NE(asked.find("\r\nproxy-authorization: Bearer own\r\n"), std::string::npos)
            << asked;
        EXPECT_EQ(asked.find("Proxy-Authorization: Basic"), std::string::npos) << asked;
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    http::client_options options;
    options.proxy = proxy_url(p, "u:p@");
    auto c = *http::client::create(options);
    auto request = http::make_request(http::method::get, "http://one.example/");
    request.headers.emplace_back("proxy-authorization", "Bearer own");
    EXPECT_TRUE(c.send(std::move(request)));
}
TEST(proxy, is_not_asked_for_what_goes_direct) {
    served s([](http::response res) { res.send("direct"); });
    http::client_options options;
    options.proxy = "http://127.0.0.1:1";
    options.no_proxy = {"127.0.0.1"};
    auto c = *http::client::create(options);
    EXPECT_EQ(c.get("http://127.0.0.1:" + std::to_string(s.port()))->body(), "direct");
    EXPECT_EQ(c.get("http://127.0.0.2:" + std::to_string(s.port())).code(), errc::refused);
}
TEST(proxy, a_malformed_one_is_refused) {
    http::client_options options;
    options.proxy = "ftp://x";
    EXPECT_EQ(http::client::create(options)->get("http://127.0.0.1/").code(), errc::bad_url);
    ws::dial_options dial;
    dial.proxy = "ftp://x";
    EXPECT_EQ(ws::blocking_client::connect("ws://127.0.0.1/", dial).code(), errc::bad_url);
}
TEST(proxy, carries_websockets_through_a_tunnel) {
    http::router routes;
    routes.websocket("/echo", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& s, ws::message m) { s.send(m); });
    });
    served s(std::move(routes));
    raw_server p([&](raw_server& r) {
        auto v = r.accept();
        EXPECT_EQ(v.request(), "CONNECT echo.example:" + std::to_string(s.port()) +
                                   " HTTP/1.1\r\nHost: echo.example:" + std::to_string(s.port()) +
                                   "\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
        v.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ");
        std::this_thread::sleep_for(5ms);
        // Which a 2xx to CONNECT may not have: ignored (RFC 9110 section 9.3.6).
        v.send("Connection established\r\nContent-Length: 5\r\n\r\n");
        v.carry_to(s.port());
    });
    ws::dial_options options;
    options.proxy = proxy_url(p, "u:p@");
    open_times took;
    options.connected = [&](const open_times& t) { took = t; };
    auto c = ws::blocking_client::connect("ws://echo.example:" + std::to_string(s.port()) + "/echo",
                                          options);
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_GE(took.proxy, 5ms);
    EXPECT_GT(took.connect, 0ns);
    EXPECT_TRUE(c->send("through"));
    EXPECT_EQ(c->receive(5s)->data, "through");
    c->close();
}

struct answers {
    errc code;
    std::string message;
};
answers told(const std::string& answer, bool wait = true) {
    raw_server p([&](raw_server& r) {
        auto v = r.accept();
        EXPECT_EQ(v.request().substr(0, 8), "CONNECT ");
        v.send(answer);
        if (!wait) return;
        EXPECT_EQ(v.request(), "");
    });
    ws::dial_options options;
    options.proxy = proxy_url(p);
    options.proxy_timeout = 50ms;
    const auto got = ws::blocking_client::connect("ws://x.example/", options);
    EXPECT_FALSE(got);
    return {got.code(), got.error().message};
}
TEST(proxy, refusals_are_told) {
    const auto need = told(
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic "
        "realm=\"r\"\r\nContent-Length: 99999999999\r\n\r\nx");
    EXPECT_EQ(need.code, errc::proxy_failed);
    EXPECT_NE(
        need.message.find("407 Proxy Authentication Required (it asks for: Basic realm=\"r\")"),
        std::string::npos)
        << need.message;
    EXPECT_EQ(told("HTTP/1.0 502 Bad Gateway\r\n\r\nhtml").code, errc::proxy_failed);
    EXPECT_EQ(told("HTTP/1.1 101 Switching\r\n\r\n").code, errc::proxy_failed);
}
TEST(proxy, hostile_answers_are_bounded) {
    EXPECT_EQ(told("HTTP/1.1 200 OK\r\n\r\nearly").code, errc::proxy_failed);
    EXPECT_EQ(told("HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x')).code,
              errc::header_too_large);
    std::string interim;
    for (int i = 0; i < 10; ++i) interim += "HTTP/1.1 102 Wait\r\n\r\n";
    EXPECT_EQ(told(interim).code, errc::header_too_large);
    EXPECT_EQ(told("SSH-2.0\r\n").code, errc::bad_status_line);
    EXPECT_EQ(told("HTTP/1.1 200", false).code, errc::closed_early);
    const auto silent = told("");
    EXPECT_EQ(silent.code, errc::timed_out);
    EXPECT_NE(silent.message.find("proxy 127.0.0.1:"), std::string::npos) << silent.message;
}

}  // namespace wire::proxy_test
