// Servers whose connections begin with a PROXY protocol header. Over TLS: src/tls/served_test.cpp.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pieces.hpp"
#include "raw_peer.hpp"
#include "scratch_folder.hpp"
#include "served.hpp"
#include "wire/loop/unix_socket.hpp"
#include "ws_peer.hpp"

namespace wire::http::proxy_protocol_test {

using namespace std::chrono_literals;
using testing::raw_peer;
using testing::served;

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view line = "PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\n";

server_options behind_a_proxy(const char* trusted = "127.0.0.0/8") {
    server_options options;
    options.proxy_protocol = proxy_protocol::required;
    options.trusted_proxies = {*network::parse(trusted)};
    return options;
}
// "PEER by PROXY", without the proxy's port.
void say_who(response res) {
    const address* const proxy = res.request().proxied_by();
    res.send(res.request().peer().to_string() + " by " +
             (proxy != nullptr ? proxy->host() : "nobody"));
}
std::string block(char command, char family, const std::string& rest) {
    std::string out("\r\n\r\n\0\r\nQUIT\n", 12);
    out += command;
    out += family;
    out += static_cast<char>(rest.size() >> 8);
    out += static_cast<char>(rest.size());
    return out + rest;
}

TEST(proxy_protocol, names_the_peer_of_each_request_at_every_cut) {
    std::mutex mutex;
    std::string logged;
    server_options options = behind_a_proxy();
    options.on_finished = [&](const access_record& r) {
        const std::lock_guard lock(mutex);
        logged = common_log(r);
    };
    {
        served s(say_who, options);
        const std::string all = std::string(line) + std::string(get) + std::string(get);
        for (std::size_t cut = 0; cut <= line.size() + 3; ++cut) {
            raw_peer p(s.port());
            p.send(std::string_view(all).substr(0, cut));
            std::this_thread::sleep_for(200us);
            p.send(std::string_view(all).substr(cut));
            EXPECT_EQ(p.response(), "200 192.0.2.1:4711 by 127.0.0.1") << cut;
            EXPECT_EQ(p.response(), "200 192.0.2.1:4711 by 127.0.0.1") << cut;
        }
    }
    EXPECT_TRUE(logged.starts_with("192.0.2.1 - - [")) << logged;
}
TEST(proxy_protocol, kinds_of_headers) {
    served s(say_who, behind_a_proxy());
    const std::string six = std::string(15, '\0') + "\x01" + std::string(15, '\0') + "\x02" +
                            std::string("\x12\x67\x00\x50", 4);
    // Longer than one look at the socket.
    const std::string name = std::string("\x02\x03\xE8", 3) + std::string(1000, 'n');
    for (const auto& [header, peer] : std::vector<std::pair<std::string, std::string>>{
             {block('\x21', '\x21', six), "[::1]:4711 by 127.0.0.1"},
             {block('\x21', '\x21', six + name), "[::1]:4711 by 127.0.0.1"},
             {block('\x21', '\x31', std::string(216, '\0')), "unix: by 127.0.0.1"},
             {block('\x20', '\0', ""), "nobody"},
             {block('\x21', '\0', "?"), " by 127.0.0.1"},
             {"PROXY UNKNOWN\r\n", " by 127.0.0.1"}}) {
        raw_peer p(s.port());
        p.send(header + std::string(get));
        const std::string got = p.response();
        EXPECT_TRUE(got.ends_with(peer)) << got;
    }
}
TEST(proxy_protocol, anything_else_is_closed_unanswered) {
    const auto counts = std::make_shared<metrics>();
    server_options options = behind_a_proxy();
    options.metrics = counts;
    options.limits.header_timeout = 50ms;
    options.limits.max_proxy_header_bytes = 100;
    served s(say_who, options);
    for (const std::string& bytes :
         {std::string(get), std::string("PROXY TCP4 x\r\n"), std::string("PROXY TCP4 192.0"),
          std::string(), block('\x20', '\0', std::string(100, 'x'))}) {
        raw_peer p(s.port());
        p.send(bytes);
        const std::string end = p.rest();
        EXPECT_TRUE(end.empty() || end == "<reset>") << bytes << ": " << end;
    }
    { const raw_peer leaves(s.port()); }
    const std::string refused = "wire_connections_refused_total{reason=\"proxy_protocol\"} ";
    for (int i = 0; i < 1000 && counts->text().find(refused + "6") == std::string::npos; ++i)
        std::this_thread::sleep_for(5ms);
    EXPECT_NE(counts->text().find(refused + "6"), std::string::npos);
    // Two headers: the second is no request.
    raw_peer twice(s.port());
    twice.send(std::string(line) + std::string(line));
    EXPECT_EQ(twice.response().substr(0, 11), "(close) 400");
}
TEST(proxy_protocol, is_not_listened_to_from_strangers) {
    served s(say_who, behind_a_proxy("192.0.2.0/24"));
    raw_peer p(s.port());
    p.send(std::string(line) + std::string(get));
    const std::string end = p.rest();
    EXPECT_TRUE(end.empty() || end == "<reset>") << end;
}
TEST(proxy_protocol, over_a_unix_socket) {
    const testing::scratch_folder f;
    server_options options = behind_a_proxy("unix:");
    options.unix_socket = f.file("s");
    served s(say_who, options);
    raw_peer p(*connect_unix(f.file("s")));
    p.send(std::string(line) + std::string(get));
    EXPECT_EQ(p.response(), "200 192.0.2.1:4711 by unix:");
}
TEST(proxy_protocol, clients_are_counted_not_proxies) {
    server_options options = behind_a_proxy();
    options.limits.max_connections_per_address = 1;
    served s(say_who, options);
    raw_peer first(s.port());
    first.send(std::string(line) + std::string(get));
    EXPECT_EQ(first.response(), "200 192.0.2.1:4711 by 127.0.0.1");
    raw_peer other(s.port());
    other.send("PROXY TCP4 192.0.2.9 192.0.2.2 1 80\r\n" + std::string(get));
    EXPECT_EQ(other.response(), "200 192.0.2.9:1 by 127.0.0.1");
    raw_peer again(s.port());
    again.send(std::string(line) + std::string(get));
    const std::string end = again.rest();
    EXPECT_TRUE(end.empty() || end == "<reset>") << end;
}
TEST(proxy_protocol, those_that_have_not_said_who_they_are_count_and_stop_waits_for_them) {
    server_options options = behind_a_proxy();
    options.host = "127.0.0.1";
    options.limits.max_connections = 1;
    options.limits.close_timeout = 20ms;
    auto s = server::listen(0, handler(say_who), options);
    ASSERT_TRUE(s) << s.error().message;
    raw_peer silent(s->port());
    raw_peer too_many(s->port());
    for (int i = 0; i < 5; ++i) s->run_once(20ms);
    EXPECT_NE(too_many.rest(), "<silence>");
    s->stop();
    s->run_once(0ms);
    silent.send(std::string(line) + std::string(get));
    while (s->run_once(1s)) {}
    EXPECT_EQ(silent.response(), "(close) 200 192.0.2.1:4711 by 127.0.0.1");
}
TEST(proxy_protocol, needs_somebody_to_trust) {
    server_options options;
    options.proxy_protocol = proxy_protocol::required;
    EXPECT_EQ(server::listen(0, router(), options).code(), errc::bad_argument);
}

}  // namespace wire::http::proxy_protocol_test
