// What a handler learns of the TLS connection that its request came by.
#include <gtest/gtest.h>

#include <string>

#include "certificates.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"
#include "wire/loop/blocking_pool.hpp"

namespace wire::tls::request_test {

using testing::certificates;
using testing::served;

std::string describe(const http::request& r) {
    const connection_info* const info = r.tls();
    if (info == nullptr) return "plain";
    return std::string(info->version) + " [" + std::string(info->protocol) + "] " +
           std::string(info->peer) + " from " + r.peer().host();
}

struct request_info : ::testing::Test {
    request_info() {
        server_options keys;
        const auto own = files.for_localhost();
        keys.certificates = {{own.certificate, own.key}};
        keys.client_ca_file = files.ca_file();
        keys.client = client_certificate::optional;
        http::server_options options;
        options.tls = *server_context::create(keys);
        http::router r;
        r.get("/", [](http::response res) { res.send(describe(res.request())); });
        r.get("/elsewhere", [this](http::response res) {
            pool.run([res = std::move(res)]() mutable { res.send(describe(res.request())); });
        });
        r.before("/mine", [](http::response& res) {
            if (res.request().tls()->peer != "me") res.status(403).send("who are you?");
        });
        r.get("/mine", [](http::response res) { res.send("yours"); });
        r.websocket("/ws", [](ws::session& s, const http::request& req) { s.send(describe(req)); });
        server.emplace(std::move(r), std::move(options));
    }
    // As somebody; "" for nobody.
    std::shared_ptr<client_context> as(const std::string& name, version most = version::tls_1_3) {
        client_options o;
        o.ca_file = files.ca_file();
        o.max_version = most;
        if (!name.empty()) {
            const auto shown = files.issue(name, {.name = name});
            o.certificate_file = shown.certificate;
            o.key_file = shown.key;
        }
        return *client_context::create(o);
    }
    std::string get(const std::shared_ptr<client_context>& who, const std::string& path) {
        http::client_options o;
        o.tls = who;
        auto c = http::client::create(o);
        std::string all;
        for (int i = 0; i < 2; ++i) {  // the second by the same connection
            const auto got = c->get("https://localhost:" + std::to_string(server->port()) + path);
            all = got ? got->body() : got.error().message;
        }
        return all;
    }

    certificates files;
    blocking_pool pool{1};
    std::optional<served> server;
};

TEST_F(request_info, has_version_protocol_and_the_clients_name) {
    EXPECT_EQ(get(as(""), "/"), "TLSv1.3 [http/1.1]  from 127.0.0.1");
    const std::string long_name(60, 'n');
    EXPECT_EQ(get(as(long_name, version::tls_1_2), "/"),
              "TLSv1.2 [http/1.1] " + long_name + " from 127.0.0.1");
    EXPECT_EQ(get(as("me"), "/elsewhere"), "TLSv1.3 [http/1.1] me from 127.0.0.1");
}
TEST_F(request_info, is_there_for_middleware) {
    EXPECT_EQ(get(as("me"), "/mine"), "yours");
    EXPECT_EQ(get(as("you"), "/mine"), "who are you?");
    EXPECT_EQ(get(as(""), "/mine"), "who are you?");
}
TEST_F(request_info, is_there_when_a_websocket_begins) {
    ws::dial_options o;
    o.tls = as("me");
    auto c = ws::blocking_client::connect(
        "wss://localhost:" + std::to_string(server->port()) + "/ws", o);
    ASSERT_TRUE(c) << c.error().message;
    const auto got = c->receive();
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->data, "TLSv1.3 [http/1.1] me from 127.0.0.1");
}

}  // namespace wire::tls::request_test
