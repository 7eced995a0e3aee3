// Requests that a server refuses by itself, before any handler.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/server/router.hpp"

namespace wire::http::refusals_test {

using namespace std::chrono_literals;
using testing::get;
using testing::mirror;
using testing::raw_peer;
using testing::served;

TEST(server, refuses_what_is_malformed_and_closes) {
    served s(mirror);
    const std::vector<std::pair<std::string, std::string>> cases{
        {"GET / HTTP/1.1\r\n\r\n", "(close) 400 missing, repeated or malformed Host\n"},
        {"GET / HTTP/1.1\nHost: a\n\n", "(close) 400 a line does not end in CRLF\n"},
        {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", "(close) 505 unsupported HTTP version\n"},
        {get("/", "A : b\r\n"), "(close) 400 malformed field name\n"},
        {get("/", "A: b\r\n c\r\n"), "(close) 400 folded field line\n"},
        {get("/", "Content-Length: 1\r\nContent-Length: 1\r\n"),
         "(close) 400 more than one message length\n"},
        {get("/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
         "(close) 400 more than one message length\n"},
        {get("/", "Transfer-Encoding: gzip, chunked\r\n"), "(close) 501 unknown transfer coding\n"},
        {get("/", "Transfer-Encoding: chunked\r\n") + "x\r\n", "(close) 400 malformed chunk\n"},
        {get("/" + std::string(9000, 'a')), "(close) 414 request target too long\n"},
        {get("/", "A: " + std::string(17000, 'a') + "\r\n"), "(close) 431 header too large\n"},
        {get("/", "Content-Length: 1048577\r\n"), "(close) 413 body too large\n"},
        {"\x16\x03\x01\x02", "(close) 400 malformed request line\n"},
    };
    for (const auto& [text, expected] : cases) {
        raw_peer p(s.port());
        p.send(text + get("/smuggled"));
        EXPECT_EQ(p.response(), expected);
        p.finish_sending();
        EXPECT_EQ(p.rest(), "") << expected;
    }
    raw_peer p(s.port());
    p.send(get("/others"));
    EXPECT_EQ(p.response(), "200 GET /others ");
}
// Whether what a refusal says after its head is anything, for each reason to refuse.
TEST(server, a_refusal_of_head_has_no_body) {
    server_options options;
    options.limits.header_timeout = 400ms;
    options.limits.body_timeout = 400ms;
    options.limits.handler_timeout = 400ms;
    std::mutex mutex;
    std::vector<response> kept;
    served s(
        [&](response res) {
            const std::lock_guard lock(mutex);
            kept.push_back(std::move(res));
        },
        options);
    const std::string fields = " HTTP/1.1\r\nHost: a\r\n";
    const std::vector<std::pair<std::string, int>> cases{
        {"HEAD / HTTP/1.1\r\n\r\n", 400},
        {"HEAD / HTTP/1.1\nHost: a\n\n", 400},
        {"HEAD /%zz" + fields + "\r\n", 400},
        {"\r\nHEAD /a b" + fields + "\r\n", 400},
        {"HEAD /" + fields + "A : b\r\n\r\n", 400},
        {"HEAD /" + fields + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {"HEAD /" + fields + "Transfer-Encoding: chunked\r\n\r\nx\r\n", 400},
        {"HEAD /" + fields + "Content-Length: 1048577\r\n\r\n", 413},
        {"HEAD /" + std::string(9000, 'a') + fields + "\r\n", 414},
        {"HEAD /" + fields + "Expect: a-miracle\r\n\r\n", 417},
        {"HEAD /" + fields + "A: " + std::string(17000, 'a') + "\r\n\r\n", 431},
        {"HEAD / HTTP/3.0\r\nHost: a\r\n\r\n", 505},
        {"HEAD /" + fields + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"HEAD / HT", 408},
        {"HEAD /" + fields, 408},
        {"HEAD /" + fields + "Content-Length: 2\r\n\r\nx", 408},
        {"HEAD /" + fields + "\r\n", 503},
    };
    for (const auto& [text, status] : cases) {
        for (const bool in_pieces : {false, true}) {
            raw_peer p(s.port());
            const std::size_t cut = in_pieces ? 7 : 0;
            p.send(text.substr(0, cut));
            if (in_pieces) std::this_thread::sleep_for(5ms);
            p.send(text.substr(cut));
            const std::string said = p.rest();
            const std::string name = text.substr(0, 60);
            EXPECT_EQ(said.substr(0, 13), "HTTP/1.1 " + std::to_string(status) + " ") << name;
            EXPECT_EQ(said.find("\r\n\r\n") + 4, said.size()) << name << "\n" << said;
            EXPECT_NE(said.find("\r\nContent-Length: "), std::string::npos) << name;
        }
    }
    for (const std::string other : {"HEADS / HTTP/1.1\r\n\r\n", "head / HTTP/1.1\r\n\r\n",
                                    "HEA\r\n", "GET /HEAD HTTP/1.1\r\n\r\n"}) {
        raw_peer p(s.port());
        p.send(other);
        const std::string said = p.rest();
        EXPECT_LT(said.find("\r\n\r\n") + 4, said.size()) << other;
    }
}
TEST(server, opens_no_tunnels) {
    std::atomic<int> reached = 0;
    const auto everything = [&](response res) {
        ++reached;
        res.send("hello");
    };
    router r;
    r.add(method::connect, "/{any...}", everything).otherwise(everything);
    served plain(everything);
    served routed(std::move(r));
    for (const auto* s : {&plain, &routed}) {
        raw_peer p(s->port());
        p.send("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n" + get("/smuggled"));
        EXPECT_EQ(p.response(), "(close) 501 unsupported method\n");
        p.finish_sending();
        EXPECT_EQ(p.rest(), "");
        for (const std::string target : {"/", "*", "a", "http://a:443/", "a:443/", "a:"}) {
            raw_peer q(s->port());
            q.send("CONNECT " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
            EXPECT_EQ(q.response(), "(close) 400 malformed request target\n") << target;
        }
        raw_peer q(s->port());
        q.send("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
        EXPECT_EQ(q.response(), "(close) 501 unsupported method\n");
    }
    EXPECT_EQ(reached, 0);
}
TEST(server, an_error_reply_survives_a_peer_that_keeps_sending) {
    served s(mirror);
    raw_peer p(s.port());
    p.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n" +
           std::string(2000000, 'x'));
    EXPECT_EQ(p.response(), "(close) 413 body too large\n");
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
}

}  // namespace wire::http::refusals_test
