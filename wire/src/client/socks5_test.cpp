// SOCKS5 byte by byte, the proxies that refuse or lie, and both clients through proxies of tests
// and of others.
#include "socks5.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "command.hpp"
#include "hex.hpp"
#include "pieces.hpp"
#include "raw_server.hpp"
#include "served.hpp"
#include "socks5_proxy.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"

namespace wire {
namespace {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::raw_visitor;
using testing::served;
using testing::socks5_proxy;

std::string bytes_of(std::string_view hex) {
    const auto octets = testing::from_hex(hex);
    return {octets.begin(), octets.end()};
}
std::string hex_of(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        for (const int shift : {4, 0}) out += "0123456789abcdef"[(c >> shift) & 15];
    }
    return out;
}

// What is sent, message by message, and how it ends.
std::string talk(const std::string& proxy, const std::string& host, const testing::pieces& cut) {
    detail::socks5_tunnel t(*detail::parse_proxy(proxy), host, 0x1234);
    buffer out;
    if (const auto begun = t.begin(out); !begun) return std::string(to_string(begun.code()));
    std::string end = "more";
    for (const auto piece : cut) {
        const testing::exact_copy copy(piece);
        const auto open = t.receive(std::string_view(copy), out);
        if (open && !*open) continue;
        end = open ? "open" : open.error().message;
        if (!open) {
            EXPECT_EQ(open.code(), errc::proxy_failed);
            end += t.is_unreachable() ? " *" : "";
            break;
        }
    }
    return hex_of(out.view()) + " " + end;
}
std::string talk(const std::string& proxy, const std::string& host, const std::string& hex) {
    const std::string bytes = bytes_of(hex);
    const std::string whole = talk(proxy, host, testing::pieces{bytes});
    for (const auto& cut : testing::all_cuts(bytes)) EXPECT_EQ(talk(proxy, host, cut), whole);
    return whole;
}
const std::string anybody = "socks5h://p";
const std::string user = "socks5h://u:pw@p";

TEST(socks5, connects_to_names_and_addresses) {
    EXPECT_EQ(talk(anybody, "a.b", "0500 05000001 00000000 0000"),
              "050100"
              "05010003"
              "03612e62"
              "1234"
              " open");
    EXPECT_EQ(talk(anybody, "10.0.0.255", "0500 05000001 7f000001 0050"),
              "050100"
              "05010001"
              "0a0000ff"
              "1234"
              " open");
    EXPECT_EQ(talk(anybody, "2001:db8::1", "0500 05000004 00000000000000000000000000000001 0050"),
              "050100"
              "05010004"
              "20010db8000000000000000000000001"
              "1234"
              " open");
    EXPECT_EQ(talk(anybody, "a.b", "0500 05000003 02 6162 0050"),
              "050100"
              "05010003"
              "03612e62"
              "1234"
              " open");
    EXPECT_EQ(talk(anybody, "a.b", "0500 05000003 00 0050"),
              "050100"
              "05010003"
              "03612e62"
              "1234"
              " open");
}
TEST(socks5, shows_user_and_password_where_asked) {
    EXPECT_EQ(talk(user, "a.b", "0502 0100 05000001 00000000 0000"),
              "05020002"
              "01"
              "0175"
              "027077"
              "05010003"
              "03612e62"
              "1234"
              " open");
    EXPECT_EQ(talk(user, "a.b", "0500 05000001 00000000 0000"),
              "05020002"
              "05010003"
              "03612e62"
              "1234"
              " open");
    EXPECT_EQ(talk("socks5h://u@p", "a.b", "0502"),
              "05020002"
              "01"
              "0175"
              "00"
              " more");
    EXPECT_EQ(talk(user, "a.b", "0502 01ff"),
              "05020002"
              "01"
              "0175"
              "027077"
              " it refused user and password");
}
TEST(socks5, waits_for_the_whole_answer) {
    const std::string all = bytes_of("0500 05000003 02 6162 0050");
    for (std::size_t n = 0; n < all.size(); ++n) {
        const auto said = talk(anybody, "a.b", testing::pieces{all.substr(0, n)});
        EXPECT_TRUE(said.ends_with(" more")) << n << ": " << said;
    }
}
TEST(socks5, names_that_are_too_long_are_refused) {
    EXPECT_EQ(talk(anybody, std::string(256, 'n'), ""), "malformed URL");
    EXPECT_TRUE(
        talk(anybody, std::string(255, 'n'), "0500 05000001 00000000 0000").ends_with("1234 open"));
}
TEST(socks5, hostile_answers_end_it) {
    const auto end = [](const std::string& proxy, const std::string& hex) {
        const std::string said = talk(proxy, "a.b", hex);
        return said.substr(said.find(' ') + 1);
    };
    const std::string other = "its answer is not SOCKS5 (is it a proxy of another kind?)";
    EXPECT_EQ(end(anybody, "48545450"), other);  // HTTP
    EXPECT_EQ(end(anybody, "0400"), other);
    EXPECT_EQ(end(anybody, "0500 04"), other);
    EXPECT_EQ(end(anybody, "0500 05000002 00000000 0000"), other);
    EXPECT_EQ(end(user, "0502 0500"), other);
    EXPECT_EQ(end(anybody, "05ff"), "it does not serve clients without user and password");
    EXPECT_EQ(end(user, "05ff"), "it takes neither user and password nor their absence");
    EXPECT_EQ(end(anybody, "0502"), "it chose the authentication method 2, which was not offered");
    EXPECT_EQ(end(user, "0501"), "it chose the authentication method 1, which was not offered");
    EXPECT_EQ(end(anybody, "0500 05000001 00000000 0000 48"), "it sent more than its answers");
    EXPECT_EQ(end(anybody, "0500 0505"),
              "no connection to a.b:4660: connection refused (SOCKS5 reply 5) *");
    EXPECT_EQ(end(anybody, "0500 0502"),
              "no connection to a.b:4660: not allowed by the proxy's rules (SOCKS5 reply 2)");
    EXPECT_EQ(end(anybody, "0500 05c8"),
              "no connection to a.b:4660: unknown reason (SOCKS5 reply 200)");
    EXPECT_TRUE(talk(anybody, "::1", "0500 0504")
                    .ends_with("no connection to [::1]:4660: host unreachable (SOCKS5 reply 4) *"));
}

// ---- the clients ----

http::router routes() {
    http::router r;
    r.get("/x", [](http::response res) {
        res.send(std::string(res.request().target()) + " of " +
                 std::string(*res.request().header("host")) +
                 (res.request().header("proxy-authorization") ? " with credentials" : ""));
    });
    r.websocket("/ws", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& s, ws::message m) { s.send(m); });
    });
    return r;
}
http::client_options by(const std::string& proxy) {
    http::client_options options;
    options.proxy = proxy;
    return options;
}
// Looks up any name but none of the system's.
auto answers(std::vector<std::string> literals, std::atomic<int>& asked) {
    return
        [&asked, literals](const std::string&, std::uint16_t port) -> result<std::vector<address>> {
            ++asked;
            std::vector<address> out;
            for (const auto& l : literals) out.push_back(*address::parse(l, port));
            return out;
        };
}

TEST(socks5_proxy, is_given_names_or_addresses) {
    served s(routes());
    const std::string port = std::to_string(s.port());
    socks5_proxy p(s.port());
    std::atomic<int> asked{0};
    auto options = by(p.url("socks5h"));
    options.resolve = answers({"192.0.2.7"}, asked);
    auto by_name = *http::client::create(options);
    for (int i = 0; i < 2; ++i) {
        const auto got = by_name.get("http://some.example:" + port + "/x?y");
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body(), "/x?y of some.example:" + port);
        EXPECT_GT(got->opening().proxy, 0ns);
    }
    EXPECT_EQ(by_name.connections_opened(), 1U);
    EXPECT_EQ(by_name.get("http://[2001:db8::1]:" + port + "/x")->body(),
              "/x of [2001:db8::1]:" + port);
    EXPECT_EQ(asked, 0);
    options.proxy = p.url("socks5");
    EXPECT_EQ(http::client::create(options)->get("http://some.example:" + port + "/x")->body(),
              "/x of some.example:" + port);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(p.asked_for(),
              "some.example:" + port + " [2001:db8::1]:" + port + " 192.0.2.7:" + port + " ");
}
TEST(socks5_proxy, answers_in_single_bytes) {
    served s(routes());
    socks5_proxy p(s.port(), {.user = "u", .password = "p:w", .in_single_bytes = true});
    const auto got = http::client::create(by(p.url("socks5h", "u:p%3Aw@")))
                         ->get("http://some.example:" + std::to_string(s.port()) + "/x");
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body(), "/x of some.example:" + std::to_string(s.port()));
    const auto refused = http::client::create(by(p.url("socks5h", "u:other@")))
                             ->get("http://some.example:" + std::to_string(s.port()) + "/x");
    EXPECT_EQ(refused.code(), errc::proxy_failed);
    EXPECT_TRUE(refused.error().message.ends_with(": it refused user and password"))
        << refused.error().message;
}
TEST(socks5_proxy, carries_websockets) {
    served s(routes());
    socks5_proxy p(s.port());
    for (const char* scheme : {"socks5", "socks5h"}) {
        ws::dial_options options;
        options.proxy = p.url(scheme);
        open_times took;
        options.connected = [&](const open_times& t) { took = t; };
        auto c = ws::blocking_client::connect("ws://127.0.0.1:" + std::to_string(s.port()) + "/ws",
                                              options);
        ASSERT_TRUE(c) << c.error().message;
        EXPECT_GT(took.proxy, 0ns);
        EXPECT_TRUE(c->send("through"));
        EXPECT_EQ(c->receive(5s)->data, "through");
        c->close();
    }
}
TEST(socks5_proxy, is_not_asked_for_what_goes_direct) {
    served s(routes());
    auto options = by("socks5://127.0.0.1:1");
    options.no_proxy = {"127.0.0.1"};
    EXPECT_EQ(http::client::create(options)
                  ->get("http://127.0.0.1:" + std::to_string(s.port()) + "/x")
                  ->status(),
              200);
}
TEST(socks5_proxy, is_asked_for_a_server_s_other_addresses) {
    served s(routes());
    const std::string port = std::to_string(s.port());
    socks5_proxy p(s.port(), {.unreachable = {"[2001:db8::1]:" + port, "192.0.2.1:" + port}});
    std::atomic<int> asked{0};
    auto options = by(p.url("socks5"));
    options.resolve = answers({"2001:db8::1", "192.0.2.1", "192.0.2.2"}, asked);
    const auto got = http::client::create(options)->get("http://some.example:" + port + "/x");
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body(), "/x of some.example:" + port);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(p.asked_for(),
              "[2001:db8::1]:" + port + " 192.0.2.1:" + port + " 192.0.2.2:" + port + " ");
}
TEST(socks5_proxy, is_asked_for_four_addresses_at_most) {
    std::vector<std::string> many;
    for (int i = 1; i < 10; ++i) many.push_back("192.0.2." + std::to_string(i));
    std::vector<std::string> with_port;
    for (const auto& one : many) with_port.push_back(one + ":80");
    socks5_proxy p(1, {.unreachable = with_port});
    std::atomic<int> asked{0};
    auto options = by(p.url("socks5"));
    options.resolve = answers(many, asked);
    const auto got = http::client::create(options)->get("http://some.example/");
    EXPECT_EQ(got.code(), errc::proxy_failed);
    EXPECT_NE(got.error().message.find(
                  "GET http://some.example/: proxy 127.0.0.1:" + std::to_string(p.port()) +
                  ": no connection to 192.0.2.4:80: host unreachable (SOCKS5 reply 4)"),
              std::string::npos)
        << got.error().message;
    EXPECT_EQ(p.asked_for(), "192.0.2.1:80 192.0.2.2:80 192.0.2.3:80 192.0.2.4:80 ");
}
TEST(socks5_proxy, whose_names_cannot_be_looked_up_is_not_blamed) {
    auto options = by("socks5://127.0.0.1:1");
    options.resolve = [](const std::string& host, std::uint16_t) -> result<std::vector<address>> {
        return error(errc::not_resolved, host + " is not in my book");
    };
    EXPECT_EQ(http::client::create(options)->get("http://some.example/").error().message,
              "GET http://some.example/: name look-up: some.example is not in my book");
    options.proxy = "socks5h://proxy.example";
    EXPECT_EQ(http::client::create(options)->get("http://some.example/").error().message,
              "GET http://some.example/: proxy proxy.example:1080: name look-up: proxy.example is "
              "not in my book");
    EXPECT_EQ(http::client::create(by("socks5h://127.0.0.1:1"))->get("http://a/").code(),
              errc::refused);
}

struct outcome {
    errc code;
    std::string message;
};
outcome told(const std::string& hex, bool wait = true) {
    raw_server p([&](raw_server& r) {
        auto v = r.accept();
        char greeting[3];
        EXPECT_EQ(::recv(v.fd(), greeting, 3, MSG_WAITALL), 3);
        v.send(bytes_of(hex));
        if (wait) v.request();  // reads until the client has gone
    });
    ws::dial_options options;
    options.proxy = "socks5h://127.0.0.1:" + std::to_string(p.port());
    options.proxy_timeout = 50ms;
    const auto got = ws::blocking_client::connect("ws://x.example/", options);
    EXPECT_FALSE(got);
    return {got.code(), got.error().message};
}
TEST(socks5_proxy, that_is_hostile_is_bounded) {
    std::string much = "0500 05000001 00000000 0000";
    for (int i = 0; i < 3'000; ++i) much += "41";
    EXPECT_EQ(told(much).code, errc::proxy_failed);
    EXPECT_EQ(told("485454502f312e3120343030").code, errc::proxy_failed);
    EXPECT_EQ(told("05", false).code, errc::closed_early);
    for (const char* stops : {"", "05", "0500", "0500 05000003 ff 41"}) {
        const auto silent = told(stops);
        EXPECT_EQ(silent.code, errc::timed_out);
        EXPECT_NE(silent.message.find("ws://x.example/: proxy 127.0.0.1:"), std::string::npos)
            << silent.message;
        EXPECT_NE(silent.message.find(": no answer within 50 ms"), std::string::npos)
            << silent.message;
    }
}
TEST(socks5_proxy, microsocks) {
    if (!testing::is_installed("microsocks")) GTEST_SKIP() << "no microsocks";
    served s(routes());
    const std::uint16_t port = testing::free_port();
    testing::command_server p(
        "microsocks -i 127.0.0.1 -p " + std::to_string(port) + " -u me -P 'p w'", port);
    const std::string at = "@127.0.0.1:" + std::to_string(port);
    const std::string there = ":" + std::to_string(s.port());
    for (const std::string scheme : {"socks5://", "socks5h://"}) {
        auto c = *http::client::create(by(scheme + "me:p%20w" + at));
        for (const std::string host : {"127.0.0.1", "localhost"}) {
            const auto got = c.get("http://" + host + there + "/x");
            ASSERT_TRUE(got) << got.error().message;
            EXPECT_EQ(got->body(), "/x of " + host + there);
        }
        ws::dial_options dial;
        dial.proxy = scheme + "me:p%20w" + at;
        auto w = ws::blocking_client::connect("ws://127.0.0.1" + there + "/ws", dial);
        ASSERT_TRUE(w) << w.error().message;
        EXPECT_TRUE(w->send("through"));
        EXPECT_EQ(w->receive(5s)->data, "through");
    }
    EXPECT_EQ(http::client::create(by("socks5://me:wrong" + at))
                  ->get("http://127.0.0.1" + there + "/x")
                  .code(),
              errc::proxy_failed);
    const auto refused = http::client::create(by("socks5h://me:p%20w" + at))
                             ->get("http://127.0.0.1:" + std::to_string(testing::free_port()));
    EXPECT_EQ(refused.code(), errc::proxy_failed);
    EXPECT_NE(refused.error().message.find("connection refused (SOCKS5 reply 5)"),
              std::string::npos)
        << refused.error().message;
}

}  // namespace
}  // namespace wire
