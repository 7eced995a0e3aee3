// Tunnels opened by handlers: their bytes, their ends, and what is no tunnel.
#include "wire/server/tunnel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"

namespace wire::http::tunnel_test {

using namespace std::chrono_literals;
using testing::get;
using testing::patterned;
using testing::raw_peer;
using testing::served;

const std::string connect_request = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n";

server_options tunnelling() {
    server_options o;
    o.tunnels = true;
    return o;
}

// Sends back what comes, until the peer has sent all.
void echo(response res) {
    const auto t = std::make_shared<tunnel>(res.open_tunnel());
    t->from_peer.read([t](std::string_view bytes) { t->to_peer.write(bytes); },
                      [t](errc why) {
                          if (why == errc::none) t->to_peer.finish();
                      });
}

TEST(tunnel, begins_right_behind_the_heads) {
    served s(echo, tunnelling());
    raw_peer p(s.port());
    p.send(connect_request + "first\r\n\r\n" + get("/"));
    const std::string head = p.head();
    EXPECT_EQ(head.substr(0, 17), "HTTP/1.1 200 OK\r\n");
    for (const char* name : {"Content-Length", "Transfer-Encoding", "Content-Type", "Connection"})
        EXPECT_EQ(head.find(name), std::string::npos) << head;
    const std::string sent = "first\r\n\r\n" + get("/");
    EXPECT_EQ(p.exactly(sent.size()), sent);
    for (const std::string more : {"a", "HTTP/1.1 400 no\r\n\r\n", "0\r\n\r\n"}) {
        p.send(more);
        EXPECT_EQ(p.exactly(more.size()), more);
    }
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
}
TEST(tunnel, comes_in_pieces_and_large) {
    served s(echo, tunnelling());
    raw_peer p(s.port());
    for (const char c : connect_request) p.send({&c, 1});
    EXPECT_EQ(p.head().substr(0, 12), "HTTP/1.1 200");
    const std::string much = patterned(20'000'000);
    std::thread sends([&] {
        p.send(much);
        p.finish_sending();
    });
    EXPECT_TRUE(p.rest() == much);
    sends.join();
}
TEST(tunnel, names_its_target) {
    served s(
        [](response res) {
            const tunnel_target to = target_of(res.request());
            res.status(502).send(to.host + " " + std::to_string(to.port));
        },
        tunnelling());
    const auto target = [&](const std::string& text) {
        raw_peer p(s.port());
        p.send("CONNECT " + text + " HTTP/1.1\r\nHost: a\r\n\r\n");
        return p.response();
    };
    EXPECT_EQ(target("a.example:443"), "(close) 502 a.example 443");
    EXPECT_EQ(target("192.0.2.1:1"), "(close) 502 192.0.2.1 1");
    EXPECT_EQ(target("[2001:db8::1]:65535"), "(close) 502 2001:db8::1 65535");
    for (const std::string bad : {"a", "a:", ":1", "a:0", "a:65536", "[::1]", "/", "*", "http://a/",
                                  "u@a:1", "a:1/", "a b:1"}) {
        EXPECT_EQ(target(bad).substr(0, 11), "(close) 400") << bad;
    }
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(p.response(), "502  0");
}
TEST(tunnel, needs_the_option_and_no_body) {
    const auto refused = [](const served& s, const std::string& fields) {
        raw_peer p(s.port());
        p.send("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + get("/smuggled"));
        const std::string said = p.response();
        p.finish_sending();
        EXPECT_EQ(p.rest(), "");
        return said;
    };
    served without(echo);
    EXPECT_EQ(refused(without, ""), "(close) 501 unsupported method\n");
    served with(echo, tunnelling());
    EXPECT_EQ(refused(with, "Content-Length: 0\r\n"), "(close) 501 unsupported method\n");
    EXPECT_EQ(refused(with, "Transfer-Encoding: chunked\r\n"), "(close) 501 unsupported method\n");
}
TEST(tunnel, is_not_opened_by_mistake) {
    std::atomic<int> lost = 0;
    served s(
        [&](response res) {
            const std::string host(target_of(res.request()).host);
            if (host == "plain") return res.send("hello");
            if (host == "pieces") {
                body_writer out = res.start_body();
                out.on_closed([&lost] { ++lost; });
                out.write("hello");
                return out.finish();
            }
            if (host == "forbidden") return res.status(403).send("no");
            if (host == "status") res.status(404);
            tunnel t = res.open_tunnel();
            t.to_peer.on_closed([&lost] { ++lost; });
            t.to_peer.write("hello");
            t.to_peer.finish();
        },
        tunnelling());
    const auto answer = [&](const std::string& host) {
        raw_peer p(s.port());
        p.send("CONNECT " + host + ":1 HTTP/1.1\r\nHost: a\r\n\r\n" + get("/smuggled"));
        const std::string said = p.response();
        p.finish_sending();
        EXPECT_EQ(p.rest(), "") << host;
        return said;
    };
    EXPECT_EQ(answer("plain"), "(close) 501 Not Implemented\n");
    EXPECT_EQ(answer("pieces"), "(close) 501 Not Implemented\n");
    EXPECT_EQ(answer("forbidden"), "(close) 403 no");
    EXPECT_EQ(answer("status"), "(close) 500 Internal Server Error\n");
    raw_peer p(s.port());
    p.send(get("/") + get("/"));
    EXPECT_EQ(p.response(), "500 Internal Server Error\n");  // not a CONNECT
    EXPECT_EQ(p.response(), "500 Internal Server Error\n");
    EXPECT_EQ(lost, 4);  // each writer but the plain answer's heard that its bytes go nowhere
}
TEST(tunnel, ends_with_its_writer) {
    std::atomic<int> heard = 0;
    served s(
        [&](response res) {
            const bool finishes = target_of(res.request()).port == 1;
            tunnel t = res.status(299).open_tunnel();
            t.from_peer.read([&heard](std::string_view) { ++heard; }, [&heard](errc) { ++heard; });
            t.to_peer.write("bye");
            if (finishes) t.to_peer.finish();
        },
        tunnelling());
    for (const std::string port : {"1", "2"}) {
        raw_peer p(s.port());
        p.send("CONNECT a:" + port + " HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(p.head().substr(0, 13), "HTTP/1.1 299 ");
        EXPECT_EQ(p.exactly(3), "bye");
        if (port == "1") p.finish_sending();
        EXPECT_EQ(p.rest(), port == "1" ? "" : "<reset>");
    }
    EXPECT_EQ(heard, 0);
}
TEST(tunnel, goes_on_one_way_when_the_peer_has_sent_all) {
    std::promise<void> ended;
    std::optional<tunnel> open;
    served s(
        [&](response res) {
            open = res.open_tunnel();
            open->from_peer.read([](std::string_view) {},
                                 [&](errc why) {
                                     EXPECT_EQ(why, errc::none);
                                     ended.set_value();
                                 });
        },
        tunnelling());
    raw_peer p(s.port());
    p.send(connect_request);
    p.head();
    p.finish_sending();
    ended.get_future().wait();
    // From this thread.
    EXPECT_TRUE(open->to_peer.write("late"));
    EXPECT_EQ(p.exactly(4), "late");
    open->to_peer.write("r");
    open->to_peer.finish();
    EXPECT_EQ(p.rest(), "r");
}
TEST(tunnel, holds_its_peer_back_while_its_reader_pauses) {
    std::promise<void> first;
    std::optional<tunnel> open;
    std::atomic<std::size_t> came = 0;
    std::promise<void> over;
    served s(
        [&](response res) {
            open = res.open_tunnel();
            open->from_peer.read(
                [&](std::string_view bytes) {
                    if (came == 0) {
                        open->from_peer.pause();
                        first.set_value();
                    }
                    came += bytes.size();
                },
                [&](errc) { over.set_value(); });
        },
        tunnelling());
    raw_peer p(s.port());
    p.send(connect_request);
    p.head();
    const std::string much(64 << 20, 'x');
    const std::size_t sent = p.send_until_stuck(much, 300);
    EXPECT_LT(sent, much.size());
    first.get_future().wait();
    EXPECT_LT(came, sent);
    p.finish_sending();  // the end waits, too
    open->from_peer.resume();
    over.get_future().wait();
    EXPECT_EQ(came, sent);
    open->to_peer.finish();
    EXPECT_EQ(p.rest(), "");
}
TEST(tunnel, lets_each_direction_flow_for_itself) {
    std::atomic<std::size_t> came = 0;
    served s(
        [&](response res) {
            const auto t = std::make_shared<tunnel>(res.open_tunnel());
            while (t->to_peer.write(std::string(100'000, 'x'))) {}  // nobody takes it
            t->from_peer.read([&came](std::string_view bytes) { came += bytes.size(); },
                              [t](errc) { t->to_peer.finish(); });
        },
        tunnelling());
    raw_peer p(s.port());
    p.send(connect_request);
    const std::string much(16 << 20, 'y');
    p.send(much);
    p.finish_sending();
    EXPECT_GT(p.rest().size(), 100'000U);
    EXPECT_EQ(came, much.size());
}
TEST(tunnel, ends_when_nothing_moves) {
    server_options options = tunnelling();
    options.limits.idle_timeout = 100ms;
    options.metrics = std::make_shared<http::metrics>();
    std::promise<errc> reader;
    std::promise<void> writer;
    std::optional<tunnel> open;
    served s(
        [&](response res) {
            open = res.open_tunnel();
            open->from_peer.read([](std::string_view) {}, [&](errc why) { reader.set_value(why); });
            open->to_peer.on_closed([&] { writer.set_value(); });
        },
        options);
    raw_peer p(s.port());
    p.send(connect_request);
    p.head();
    EXPECT_EQ(p.rest(), "<reset>");
    EXPECT_EQ(reader.get_future().get(), errc::timed_out);
    writer.get_future().wait();
    EXPECT_FALSE(open->to_peer.write("x"));
    s.stop();
    EXPECT_NE(options.metrics->text().find("\nwire_timeouts_total{phase=\"idle\"} 1\n"),
              std::string::npos);
}
TEST(tunnel, may_be_opened_later_and_too_late) {
    std::promise<response> asked;
    served s([&](response res) { asked.set_value(std::move(res)); }, tunnelling());
    {
        raw_peer p(s.port());
        p.send(connect_request + "early");
        response res = asked.get_future().get();
        std::promise<std::string> came;
        tunnel t = res.open_tunnel();  // on this thread
        t.from_peer.read([&](std::string_view bytes) { came.set_value(std::string(bytes)); },
                         [](errc) {});
        EXPECT_EQ(came.get_future().get(), "early");
        t.to_peer.write("hi");
        t.to_peer.finish();
        p.head();
        EXPECT_EQ(p.exactly(2), "hi");
    }
    asked = {};
    std::optional<response> res;
    {
        raw_peer p(s.port());
        p.send(connect_request);
        res = asked.get_future().get();
        p.reset();
    }
    // Until the loop has seen that the peer is gone.
    raw_peer other(s.port());
    asked = {};
    other.send(get("/"));
    asked.get_future().get().send("x");
    other.response();
    tunnel t = res->open_tunnel();
    std::promise<errc> end;
    std::promise<void> closed;
    t.to_peer.on_closed([&] { closed.set_value(); });
    t.from_peer.read([](std::string_view) {}, [&](errc why) { end.set_value(why); });
    EXPECT_EQ(end.get_future().get(), errc::closed_early);
    closed.get_future().wait();
}
TEST(tunnel, is_told_that_the_server_stops_and_ends_with_the_drain) {
    server_options options = tunnelling();
    options.drain_timeout = 100ms;
    std::promise<errc> end;
    std::optional<tunnel> open;
    served s(
        [&](response res) {
            open = res.open_tunnel();
            open->from_peer.read([](std::string_view) {}, [&](errc why) { end.set_value(why); });
        },
        options);
    raw_peer p(s.port());
    p.send(connect_request);
    p.head();
    s.stop();
    EXPECT_EQ(end.get_future().get(), errc::closed_early);
    EXPECT_EQ(p.rest(), "<reset>");
}
TEST(tunnel, is_logged_when_it_has_ended) {
    std::promise<access_record> logged;
    std::atomic<int> records = 0;
    server_options options = tunnelling();
    std::string target;
    options.on_finished = [&](const access_record& r) {
        target = r.request->target();
        if (++records == 1) logged.set_value(r);
    };
    served s(echo, options);
    raw_peer p(s.port());
    p.send(connect_request + "hello");
    const std::string head = p.head();
    EXPECT_EQ(p.exactly(5), "hello");
    EXPECT_EQ(records, 0);
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
    const access_record r = logged.get_future().get();
    EXPECT_EQ(target, "a.example:443");
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.bytes_in, connect_request.size() + 5);
    EXPECT_EQ(r.bytes_out, head.size() + 5);
}
TEST(tunnel, goes_through_a_router) {
    router r;
    r.get("/", [](response res) { res.send("page"); });
    r.before("/", [](response& res) {
        if (!res.request().header("Proxy-Authorization")) {
            res.status(407).header("Proxy-Authenticate", "Basic").send("");
        }
    });
    r.otherwise([](response res) {
        if (res.request().method() != method::connect) return res.status(404).send("");
        echo(std::move(res));
    });
    served s(std::move(r), tunnelling());
    raw_peer p(s.port());
    p.send(connect_request);
    EXPECT_EQ(p.response(), "(close) 407 ");
    raw_peer q(s.port());
    q.send("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic x\r\n\r\nhi");
    EXPECT_EQ(q.head().substr(0, 12), "HTTP/1.1 200");
    EXPECT_EQ(q.exactly(2), "hi");
}

}  // namespace wire::http::tunnel_test
