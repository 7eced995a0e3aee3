// Whom a request came from, as handlers see it. Over TLS: src/tls/request_test.cpp.
#include <gtest/gtest.h>

#include <optional>

#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/loop/blocking_pool.hpp"
#include "ws_peer.hpp"

namespace wire::http::peer_test {

using testing::raw_peer;
using testing::served;
using testing::ws_peer;

router who_asks(blocking_pool& pool) {
    router r;
    r.get("/", [](response res) { res.send(res.request().peer().to_string()); });
    r.before("/guarded", [](response& res) {
        if (res.request().peer().host() != "127.0.0.2")
            res.status(403).send(res.request().peer().host());
    });
    r.get("/elsewhere", [&pool](response res) {
        pool.run([res = std::move(res)]() mutable { res.send(res.request().peer().to_string()); });
    });
    r.get("/tls",
          [](response res) { res.send(res.request().tls() == nullptr ? "plain" : "secure"); });
    r.websocket("/ws", [](ws::session& s, const request& req) { s.send(req.peer().to_string()); });
    return r;
}

std::string own_address(const raw_peer& p) {
    sockaddr_storage raw{};
    socklen_t size = sizeof raw;
    EXPECT_EQ(::getsockname(p.fd(), reinterpret_cast<sockaddr*>(&raw), &size), 0);
    return address::from(reinterpret_cast<const sockaddr*>(&raw)).to_string();
}

TEST(request_peer, is_known_to_handlers_middleware_and_websockets) {
    blocking_pool pool(1);
    served s(who_asks(pool));
    raw_peer p(s.port());
    for (const std::string path : {"/", "/elsewhere", "/"}) {
        p.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(p.response(), "200 " + own_address(p));
    }
    p.send("GET /guarded HTTP/1.1\r\nHost: a\r\n\r\nGET /tls HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "403 127.0.0.1");
    EXPECT_EQ(p.response(), "200 plain");
    ws_peer w(s.port(), "/ws");
    EXPECT_EQ(w.next(), "1 " + own_address(w));
}
TEST(request_peer, is_each_connections_own) {
    blocking_pool pool(1);
    served s(who_asks(pool));
    raw_peer a(s.port());
    raw_peer b(s.port());
    for (int i = 0; i < 3; ++i) {
        for (raw_peer* p : {&a, &b}) {
            p->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            EXPECT_EQ(p->response(), "200 " + own_address(*p));
        }
    }
}
TEST(request_peer, may_have_an_ipv6_address_and_outlive_the_connection) {
    std::optional<response> kept;
    server_options options;
    options.host = "::1";
    if (const auto probe = server::listen(0, router(), options); !probe)
        GTEST_SKIP() << "no IPv6: " << probe.error().message;
    blocking_pool pool(1);
    router r = who_asks(pool);
    r.get("/kept", [&kept](response res) { kept.emplace(std::move(res)); });
    served s(std::move(r), options);
    client_options impatient;
    impatient.response_timeout = std::chrono::milliseconds(300);
    auto c = client::create(impatient);
    ASSERT_TRUE(c);
    const std::string origin = "http://[::1]:" + std::to_string(s.port());
    const auto got = c->get(origin + "/");
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_TRUE(got->body().starts_with("[::1]:")) << got->body();
    EXPECT_FALSE(c->get(origin + "/kept"));  // it gives up
    s.stop();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->request().peer().host(), "::1");
    kept.reset();
}

}  // namespace wire::http::peer_test
