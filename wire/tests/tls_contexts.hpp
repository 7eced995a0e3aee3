// Both roles' contexts, and two of their connections in memory, without sockets: what one says is
// handed to the other, cut as the test likes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "certificates.hpp"
#include "pieces.hpp"
#include "wire/tls/client_context.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::testing {

// One side, with what it has to say and what it has heard.
struct party {
    std::unique_ptr<tls::connection> tls;
    buffer to_peer;
    std::string heard;
    error failed;

    void begin() {
        if (auto r = tls->begin(to_peer); !r) failed = r.error();
    }
    // False when it failed.
    bool take(std::string_view raw, std::size_t room = 1000) {
        const exact_copy copy(raw);
        std::span<const char> left(std::string_view(copy).data(), raw.size());
        std::string plain(room, '\0');
        for (;;) {
            const bool was_open = tls->is_open();
            const auto s = tls->receive(left, plain, to_peer);
            if (!s) {
                failed = s.error();
                return false;
            }
            heard.append(plain, 0, s->produced);
            left = left.subspan(s->consumed);
            const bool opened = !was_open && tls->is_open();
            if (!opened && s->produced < plain.size()) {
                EXPECT_TRUE(left.empty() || tls->has_ended());
                return true;
            }
        }
    }
    void say(std::string_view text) { EXPECT_TRUE(tls->send(text, to_peer)); }
    std::string said() {
        std::string out(to_peer.view());
        to_peer.clear();
        return out;
    }
};

struct contexts : ::testing::TestWithParam<tls::record_layer> {
    certificates files;
    tls::client_options client;
    tls::server_options server;

    contexts() {
        client.ca_file = files.ca_file();
        client.records = server.records = GetParam();
        const auto ours = files.for_localhost();
        server.certificates = {{ours.certificate, ours.key}};
    }
    std::shared_ptr<tls::client_context> a_client() {
        auto made = tls::client_context::create(client);
        EXPECT_TRUE(made) << made.error().message;
        return *made;
    }
    std::shared_ptr<tls::server_context> a_server() {
        auto made = tls::server_context::create(server);
        EXPECT_TRUE(made) << made.error().message;
        return *made;
    }
    static party from(result<std::unique_ptr<tls::connection>> made) {
        EXPECT_TRUE(made);
        party p;
        p.tls = *std::move(made);
        p.begin();
        return p;
    }
    // To and fro until both are silent. Each hears the last words of the other also when it has
    // failed.
    static void talk(party& a, party& b) {
        while (!a.to_peer.empty() || !b.to_peer.empty()) {
            if (const std::string text = a.said(); !text.empty() && !b.failed) b.take(text);
            if (const std::string text = b.said(); !text.empty() && !a.failed) a.take(text);
        }
    }
    struct pair {
        party c, s;
    };
    static pair meet(tls::client_context& c, tls::server_context& s,
                     std::string_view host = "localhost") {
        pair p{from(c.connect(host, 443)), from(s.accept())};
        talk(p.c, p.s);
        return p;
    }
    pair meet(std::string_view host = "localhost") { return meet(*a_client(), *a_server(), host); }
    static void expect_open(const pair& p) {
        EXPECT_TRUE(p.c.tls->is_open()) << p.c.failed.message;
        EXPECT_TRUE(p.s.tls->is_open()) << p.s.failed.message;
    }
    static void expect_refused(const pair& p, std::string_view why) {
        EXPECT_EQ(p.c.failed.code, errc::tls_failed);
        EXPECT_NE(p.c.failed.message.find(why), std::string::npos) << p.c.failed.message;
    }
};

}  // namespace wire::testing
