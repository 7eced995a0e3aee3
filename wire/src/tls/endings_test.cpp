// What comes before the end of a connection, however that comes, and in the same bytes.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "client/proxy_filter.hpp"
#include "record_layers.hpp"
#include "tls_contexts.hpp"

namespace wire::tls::endings_test {

using testing::certificates;
using testing::contexts;
using testing::party;

// All that `filter` makes of `raw`, as a stream calls it, and how it ended.
std::string heard_by(stream_filter& filter, std::string_view raw, std::size_t room = 1000) {
    std::string heard;
    std::string plain(room, '\0');
    buffer to_peer;
    for (bool more = true; more && !filter.has_ended();) {
        const auto s = filter.receive(raw, plain, to_peer);
        if (!s) return heard + "|" + s.error().message;
        raw = raw.substr(s->consumed);
        heard.append(plain, 0, s->produced);
        more = !raw.empty() || s->produced == plain.size() || s->again;
    }
    return heard + (filter.has_ended() ? "|the end" : "");
}

struct endings : contexts {};
WIRE_WITH_EACH_RECORD_LAYER(endings);

TEST_P(endings, data_before_a_failure_is_given_out) {
    for (const version v : {version::tls_1_2, version::tls_1_3}) {
        client.max_version = v;
        for (const std::size_t room : {3UL, 1000UL}) {
            auto [c, s] = meet();
            s.say("all of it");
            std::string bytes = s.said();
            s.say("x");
            std::string wrong = s.said();
            wrong.back() = static_cast<char>(wrong.back() ^ 1);
            EXPECT_EQ(heard_by(*c.tls, bytes + wrong, room),
                      "all of it|TLS: decryption failed or bad record mac");
        }
    }
}

// A notice of the end that comes in the middle of the handshake.
TEST_P(endings, of_handshakes_are_told_as_such) {
    const std::string notice("\x15\x03\x03\x00\x02\x01\x00", 7);
    client.max_version = version::tls_1_2;  // in which the whole handshake is in the clear
    party c = from(a_client()->connect("localhost", 443));
    party s = from(a_server()->accept());
    EXPECT_TRUE(s.take(c.said()));
    EXPECT_FALSE(s.take(notice));
    EXPECT_EQ(s.failed.message, "TLS handshake: the peer closed the connection");
    EXPECT_FALSE(c.take(notice));
    EXPECT_EQ(c.failed.message, "TLS handshake: the peer closed the connection");
}

// A client's connection with a server by a proxy, both with TLS, and the other ends of the two.
struct nested : contexts {
    certificates::files at_proxy =
        files.issue("proxy", {.name = "proxy", .alternatives = "DNS:proxy.example"});
    party proxy;
    party origin;
    std::unique_ptr<wire::detail::proxy_filter> filter;

    std::shared_ptr<client_context> ours = a_client();
    std::shared_ptr<server_context> theirs = a_server();
    std::shared_ptr<server_context> the_proxys = [this] {
        server.certificates = {{at_proxy.certificate, at_proxy.key}};
        return a_server();
    }();

    void connect() {
        origin = from(theirs->accept());
        proxy = from(the_proxys->accept());
        filter = std::make_unique<wire::detail::proxy_filter>(*ours->connect("proxy.example", 1),
                                                              "proxy.example:1");
        buffer to_proxy;
        ASSERT_TRUE(filter->begin(to_proxy));
        exchange(to_proxy);
        buffer to_origin;
        bool opened = false;
        ASSERT_TRUE(
            filter->nest(*ours->connect("localhost", 1), to_origin, [&] { opened = true; }));
        ASSERT_TRUE(filter->send(to_origin.view(), to_proxy));
        exchange(to_proxy);
        ASSERT_TRUE(opened);
    }
    // To and fro until all are silent.
    void exchange(buffer& to_proxy) {
        std::string plain(1000, '\0');
        while (!to_proxy.empty()) {
            ASSERT_TRUE(proxy.take(to_proxy.view())) << proxy.failed.message;
            to_proxy.clear();
            if (const auto passed = std::exchange(proxy.heard, ""); !passed.empty()) {
                ASSERT_TRUE(origin.take(passed)) << origin.failed.message;
            }
            if (!origin.to_peer.empty()) proxy.say(origin.said());
            std::string raw = proxy.said();
            for (std::string_view left = raw; !left.empty();) {
                const auto s = filter->receive(left, plain, to_proxy);
                ASSERT_TRUE(s) << s.error().message;
                left.remove_prefix(s->consumed);
            }
        }
    }
    // As the proxy passes them on.
    std::string passed_on() {
        proxy.say(origin.said());
        return proxy.said();
    }
};
WIRE_WITH_EACH_RECORD_LAYER(nested);

TEST_P(nested, data_before_the_proxys_end_are_given_out) {
    for (const std::size_t room : {3UL, 1000UL}) {
        connect();
        origin.say("all of it");
        std::string bytes = passed_on();
        proxy.tls->finish(proxy.to_peer);
        EXPECT_EQ(heard_by(*filter, bytes + proxy.said(), room),
                  "all of it|proxy proxy.example:1: it ended the connection before the server did");
    }
}
TEST_P(nested, data_before_the_servers_end_and_the_proxys_are_given_out) {
    connect();
    origin.say("all of it");
    origin.tls->finish(origin.to_peer);
    std::string bytes = passed_on();
    proxy.tls->finish(proxy.to_peer);
    EXPECT_EQ(heard_by(*filter, bytes + proxy.said()), "all of it|the end");
}
TEST_P(nested, data_before_a_failure_of_either_are_given_out) {
    for (const bool at_origin : {true, false}) {
        for (const std::size_t room : {3UL, 1000UL}) {
            connect();
            origin.say("all of it");
            std::string bytes = at_origin ? "" : passed_on();
            origin.say("x");
            if (at_origin) {
                std::string wrong = origin.said();
                wrong.back() = static_cast<char>(wrong.back() ^ 1);
                proxy.say(wrong);
                bytes = proxy.said();
            } else {
                std::string wrong = passed_on();
                wrong.back() = static_cast<char>(wrong.back() ^ 1);
                bytes += wrong;
            }
            EXPECT_EQ(heard_by(*filter, bytes, room),
                      std::string("all of it|") + (at_origin ? "" : "proxy proxy.example:1: ") +
                          "TLS: decryption failed or bad record mac");
        }
    }
}
}  // namespace wire::tls::endings_test
