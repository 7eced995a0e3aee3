// TLS with servers behind a SOCKS5 proxy.
#include <gtest/gtest.h>

#include "certificates.hpp"
#include "served.hpp"
#include "socks5_proxy.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"

namespace wire {
namespace {

using namespace std::chrono_literals;
using testing::certificates;
using testing::served;
using testing::socks5_proxy;

struct tls_by_socks5 : ::testing::Test {
    certificates files;
    certificates::files mine =
        files.issue("origin", {.name = "origin", .alternatives = "DNS:origin.example"});

    std::shared_ptr<tls::client_context> trusting() {
        tls::client_options o;
        o.ca_file = files.ca_file();
        return *tls::client_context::create(o);
    }
    http::server_options secure() const {
        http::server_options o;
        tls::server_options t;
        t.certificates = {{mine.certificate, mine.key}};
        o.tls = *tls::server_context::create(t);
        return o;
    }
    static http::router routes() {
        http::router r;
        r.get("/large", [](http::response res) { res.send(std::string(2'000'000, 'l')); });
        r.websocket("/ws", [](ws::session& s, const http::request&) {
            s.on_message([](ws::session& s, ws::message m) { s.send(m); });
        });
        return r;
    }
};

TEST_F(tls_by_socks5, https) {
    served s(routes(), secure());
    socks5_proxy p(s.port(), {.user = "u", .password = "p", .in_single_bytes = true});
    http::client_options options;
    options.tls = trusting();
    options.proxy = p.url("socks5h", "u:p@");
    auto c = *http::client::create(options);
    const std::string port = std::to_string(s.port());
    for (int i = 0; i < 2; ++i) {
        const auto got = c.get("https://origin.example:" + port + "/large");
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body().size(), 2'000'000U);
        EXPECT_GT(got->opening().proxy, 0ns);
        EXPECT_GT(got->opening().tls, 0ns);
    }
    EXPECT_EQ(c.connections_opened(), 1U);
    const auto other = c.get("https://other.example:" + port + "/large");
    EXPECT_EQ(other.code(), errc::tls_failed);
    EXPECT_NE(other.error().message.find("other.example:" + port + " by proxy 127.0.0.1:"),
              std::string::npos)
        << other.error().message;
}
TEST_F(tls_by_socks5, wss) {
    served s(routes(), secure());
    socks5_proxy p(s.port());
    ws::dial_options dial;
    dial.tls = trusting();
    dial.proxy = p.url("socks5");
    dial.resolve = [](const std::string&, std::uint16_t port) -> result<std::vector<address>> {
        return std::vector{*address::parse("192.0.2.1", port)};
    };
    const std::string port = std::to_string(s.port());
    auto c = ws::blocking_client::connect("wss://origin.example:" + port + "/ws", dial);
    ASSERT_TRUE(c) << c.error().message;
    for (const std::size_t n : {5UL, 500'000UL}) {
        EXPECT_TRUE(c->send(std::string(n, 'm')));
        EXPECT_EQ(c->receive(5s)->data.size(), n);
    }
    c->close();
    EXPECT_EQ(p.asked_for(), "192.0.2.1:" + port + " ");
}

}  // namespace
}  // namespace wire
