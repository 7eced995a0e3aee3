// Proxies that are spoken to over TLS, and servers behind them that are too.
#include <gtest/gtest.h>

#include "certificates.hpp"
#include "raw_server.hpp"
#include "served.hpp"
#include "tls_relay.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"

namespace wire::proxy_test {

using namespace std::chrono_literals;
using testing::certificates;
using testing::raw_server;
using testing::served;
using testing::tls_relay;

struct tls_proxy : ::testing::Test {
    certificates files;
    certificates::files mine =
        files.issue("proxy", {.name = "proxy", .alternatives = "IP:127.0.0.1"});
    certificates::files origin =
        files.issue("origin", {.name = "origin", .alternatives = "DNS:origin.example"});
    http::client_options options;
    ws::dial_options dial;

    tls_proxy() { options.tls = dial.tls = trusting(files.ca_file()); }
    static std::shared_ptr<tls::client_context> trusting(const std::string& ca_file) {
        tls::client_options o;
        o.ca_file = ca_file;
        return *tls::client_context::create(o);
    }
    static http::router routes() {
        http::router r;
        r.get("/x", [](http::response res) {
            res.send(std::string(res.request().target()) + " of " +
                     std::string(*res.request().header("host")));
        });
        r.get("/credentials", [](http::response res) {
            res.send(std::string(res.request().header("proxy-authorization").value_or("none")));
        });
        r.get("/large", [](http::response res) { res.send(std::string(5'000'000, 'l')); });
        r.post("/count",
               [](http::response res) { res.send(std::to_string(res.request().body().size())); });
        r.websocket("/ws", [](ws::session& s, const http::request& q) {
            EXPECT_FALSE(q.header("proxy-authorization"));
            s.on_message([](ws::session& s, ws::message m) { s.send(m); });
        });
        return r;
    }
    http::server_options secure() const {
        http::server_options o;
        o.limits.max_body_bytes = 16 << 20;
        tls::server_options t;
        t.certificates = {{origin.certificate, origin.key}};
        o.tls = *tls::server_context::create(t);
        return o;
    }
    void by(const tls_relay& r, const std::string& host = "127.0.0.1") {
        options.proxy = dial.proxy = "https://u:p@" + host + ":" + std::to_string(r.port());
    }
    // What the plain half of a proxy does: answers CONNECT, and carries.
    static auto tunnel_to(std::uint16_t port, std::string answer = "HTTP/1.1 200 OK\r\n\r\n") {
        return [port, answer](raw_server& r) {
            auto v = r.accept();
            const std::string asked = v.request();
            EXPECT_EQ(asked.substr(0, 8), "CONNECT ");
            EXPECT_NE(asked.find("Proxy-Authorization: Basic dTpw\r\n"), std::string::npos)
                << asked;
            v.send(answer);
            if (port != 0) return v.carry_to(port);
            char hello[4096];  // what is left unread would make the end a reset
            if (answer.find(" 200 ") != std::string::npos)
                (void)::recv(v.fd(), hello, sizeof hello, 0);
        };
    }
    static std::string there(const std::string& scheme, const served& s, const std::string& path) {
        return scheme + "://origin.example:" + std::to_string(s.port()) + path;
    }
    std::string why(const std::string& url) {
        const auto got = http::client::create(options)->get(url);
        EXPECT_FALSE(got);
        return std::string(to_string(got.code())) + " | " + got.error().message;
    }
};

TEST_F(tls_proxy, is_sent_whole_urls_of_http) {
    served s(routes());
    tls_relay p(mine, s.port());
    by(p);
    auto c = *http::client::create(options);
    for (int i = 0; i < 2; ++i) {
        const auto got = c.get("http://one.example/x?y");
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body(), "http://one.example/x?y of one.example");
        EXPECT_GT(got->opening().proxy, 0ns);
        EXPECT_EQ(got->opening().tls, 0ns);
    }
    EXPECT_EQ(c.get("http://two.example/large")->body().size(), 5'000'000U);
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST_F(tls_proxy, carries_https_inside) {
    served s(routes(), secure());
    raw_server plain(tunnel_to(s.port()));
    tls_relay p(mine, plain.port());
    by(p);
    auto c = *http::client::create(options);
    for (int i = 0; i < 2; ++i) {
        const auto got = c.get(there("https", s, "/x"));
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body(), "/x of origin.example:" + std::to_string(s.port()));
        EXPECT_GT(got->opening().proxy, 0ns);
        EXPECT_GT(got->opening().tls, 0ns);
    }
    EXPECT_EQ(c.get(there("https", s, "/large"))->body().size(), 5'000'000U);
    EXPECT_EQ(c.post(there("https", s, "/count"), std::string(3'000'000, 'u'))->body(), "3000000");
    auto request = http::make_request(http::method::get, there("https", s, "/credentials"));
    request.headers.emplace_back("Proxy-Authorization", "Bearer own");
    EXPECT_EQ(c.send(std::move(request))->body(), "none");
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST_F(tls_proxy, carries_ws_and_wss) {
    for (const bool tls : {false, true}) {
        served s(routes(), tls ? secure() : http::server_options{});
        raw_server plain(tunnel_to(s.port()));
        tls_relay p(mine, plain.port());
        by(p);
        dial.headers = {{"Proxy-Authorization", "Bearer own"}};
        auto c = ws::blocking_client::connect(there(tls ? "wss" : "ws", s, "/ws"), dial);
        ASSERT_TRUE(c) << c.error().message;
        for (const std::size_t n : {5UL, 500'000UL}) {
            EXPECT_TRUE(c->send(std::string(n, 'm')));
            EXPECT_EQ(c->receive(5s)->data.size(), n);
        }
        c->close();
        EXPECT_FALSE(c->is_open());
    }
}
TEST_F(tls_proxy, may_be_trusted_apart_from_the_servers) {
    served s(routes(), secure());
    raw_server plain(tunnel_to(s.port()));
    tls_relay p(mine, plain.port());
    by(p);
    options.proxy_tls = options.tls;
    options.tls = trusting(files.other_ca_file());
    const auto told = why(there("https", s, "/x"));
    EXPECT_EQ(told.find("TLS failed | GET https://origin.example:"), 0U) << told;
    EXPECT_NE(told.find(": origin.example:" + std::to_string(s.port()) +
                        " by proxy 127.0.0.1:" + std::to_string(p.port()) + ": TLS handshake: "),
              std::string::npos)
        << told;
}
TEST_F(tls_proxy, that_is_not_trusted_is_told_nothing) {
    raw_server plain([](raw_server& r) { EXPECT_EQ(r.accept().request(), ""); });
    tls_relay p(mine, plain.port());
    by(p);
    options.tls = dial.tls = trusting(files.other_ca_file());
    const std::string name = "proxy 127.0.0.1:" + std::to_string(p.port()) +
                             ": TLS handshake: the server's certificate is not to be trusted: ";
    const auto told = why("https://origin.example/x");
    EXPECT_NE(told.find("GET https://origin.example/x: " + name), std::string::npos) << told;
}
TEST_F(tls_proxy, is_held_to_its_own_name) {
    raw_server plain([](raw_server& r) { EXPECT_EQ(r.accept().request(), ""); });
    tls_relay p(origin, plain.port());  // a good certificate, but of the server
    by(p);
    const auto got = ws::blocking_client::connect("ws://origin.example/", dial);
    EXPECT_EQ(got.code(), errc::tls_failed);
    EXPECT_NE(got.error().message.find("ws://origin.example/: proxy 127.0.0.1:"), std::string::npos)
        << got.error().message;
}
TEST_F(tls_proxy, refusals_and_ends_are_told) {
    const auto told = [&](const std::string& answer,
                          const std::string& url = "https://origin.example/") {
        raw_server plain(tunnel_to(0, answer));
        tls_relay p(mine, plain.port());
        by(p);
        return why(url);
    };
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    const auto refused = told("HTTP/1.1 403 Forbidden\r\n\r\n");
    EXPECT_TRUE(has(refused, "the proxy refused | GET https://origin.example/: proxy 127.0.0.1:") &&
                has(refused, ": 403 Forbidden"))
        << refused;
    const auto silent = told("");
    EXPECT_TRUE(has(silent, ": proxy 127.0.0.1:") &&
                has(silent, ": it closed the connection instead of answering"))
        << silent;
    // The tunnel stands, and ends: nobody but the server may say that it has sent all.
    const auto cut = told("HTTP/1.1 200 OK\r\n\r\n");
    EXPECT_TRUE(has(cut, ": proxy 127.0.0.1:") &&
                has(cut, "it ended the connection before the server did"))
        << cut;
    options.proxy = "https://127.0.0.1:1";
    EXPECT_TRUE(has(why("https://origin.example/"),
                    "refused | GET https://origin.example/: proxy 127.0.0.1:1: connect: "));
    // One without TLS.
    raw_server plain([](raw_server& r) {
        auto v = r.accept();
        char byte;
        (void)::recv(v.fd(), &byte, 1, 0);
        v.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    options.proxy = "https://127.0.0.1:" + std::to_string(plain.port());
    const auto no_tls = why("https://origin.example/");
    EXPECT_TRUE(has(no_tls, ": proxy 127.0.0.1:") &&
                has(no_tls, "does the server speak TLS on this port?"))
        << no_tls;
}
TEST_F(tls_proxy, only_the_server_can_say_that_it_has_sent_all) {
    for (const bool said : {true, false}) {
        raw_server until_close([](raw_server& r) {
            auto v = r.accept();
            v.request();
            v.send("HTTP/1.1 200 OK\r\n\r\nhalf");
        });
        tls_relay server(origin, until_close.port(), said);
        raw_server plain(tunnel_to(server.port()));
        tls_relay p(mine, plain.port());  // says it of itself in any case
        by(p);
        const auto got = http::client::create(options)->get(
            "https://origin.example:" + std::to_string(server.port()) + "/");
        EXPECT_EQ(got.code(), said ? errc::none : errc::truncated);
        if (said) {
            EXPECT_EQ(got->body(), "half");
        }
    }
}
TEST_F(tls_proxy, that_is_silent_is_told_in_time) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        char byte;
        while (::recv(v.fd(), &byte, 1, 0) > 0) {}
    });
    options.proxy = "https://127.0.0.1:" + std::to_string(raw.port());
    options.tls_timeout = 30ms;
    const auto told = why("http://origin.example/");
    EXPECT_NE(told.find("timed out | GET http://origin.example/: proxy 127.0.0.1:"),
              std::string::npos)
        << told;
    EXPECT_NE(told.find("TLS handshake: not complete within 30 ms"), std::string::npos) << told;
}

}  // namespace wire::proxy_test
