#include "wire/server/server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>

#include "no_threads.hpp"
#include "pieces.hpp"
#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"

namespace wire::http::server_test {

using namespace std::chrono_literals;
using testing::get;
using testing::mirror;
using testing::post;
using testing::raw_peer;
using testing::served;

TEST(server, answers_and_keeps_the_connection) {
    served s(mirror);
    raw_peer p(s.port());
    for (int i = 0; i < 3; ++i) {
        p.send(get("/a?b"));
        EXPECT_EQ(p.response(), "200 GET /a ");
    }
    EXPECT_NE(p.head_text.find("\r\nDate: "), std::string::npos);
    EXPECT_NE(p.head_text.find("\r\nContent-Length: 7\r\n"), std::string::npos);
    EXPECT_NE(p.head_text.find("\r\nContent-Type: text/plain; charset=utf-8\r\n"),
              std::string::npos);
    EXPECT_EQ(p.head_text.find("Connection"), std::string::npos);
}
TEST(server, however_the_request_is_cut) {
    served s(mirror);
    const std::string chunked =
        "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    const std::string text = get("/x") + post("/", "body") + chunked;
    raw_peer p(s.port());
    for (const auto& cut : testing::all_cuts(text)) {
        for (const auto piece : cut) {
            p.send(piece);
            std::this_thread::yield();
        }
        ASSERT_EQ(p.response(), "200 GET /x ");
        ASSERT_EQ(p.response(), "200 POST / body");
        ASSERT_EQ(p.response(), "200 POST /c abc");
    }
}
TEST(server, pipelined_requests_that_wait_for_a_slow_reader_outlive_its_half_close) {
    server_options options;
    options.limits.max_unsent_bytes = 64 << 10;
    served s([](response res) { res.send(std::string(1 << 20, 'x')); }, options);
    raw_peer p(s.port());
    constexpr int many = 24;  // more than the sockets hold
    std::string all;
    for (int i = 0; i < many; ++i) all += get("/");
    p.send(all);
    p.finish_sending();
    for (int i = 0; i < many; ++i) ASSERT_EQ(p.response().size(), (1U << 20) + 4) << i;
    EXPECT_EQ(p.rest(), "");
}
TEST(server, reset_content_has_none) {
    served s([](response res) { res.status(res.request().path() == "/" ? 205 : 200).send("x"); });
    raw_peer p(s.port());
    p.send(get("/") + get("/other"));
    EXPECT_EQ(p.response(), "205 ");
    EXPECT_NE(p.head_text.find("\r\nContent-Length: 0\r\n"), std::string::npos);
    EXPECT_EQ(p.response(), "200 x");
}
TEST(server, reset_content_in_pieces_has_none) {
    served s([](response res) {
        const bool reset = res.request().path() == "/";
        body_writer out = res.status(reset ? 205 : 200).start_body();
        out.write("x");
        out.finish();
    });
    raw_peer p(s.port());
    p.send(get("/") + get("/other"));
    EXPECT_EQ(p.response(), "205 ");
    EXPECT_NE(p.head_text.find("\r\nContent-Length: 0\r\n"), std::string::npos);
    EXPECT_EQ(p.response(), "200 x");
}
TEST(server, pipelined_requests_are_answered_in_order) {
    served s(mirror);
    raw_peer p(s.port());
    std::string many;
    for (int i = 0; i < 5000; ++i) many += get("/" + std::to_string(i));
    std::thread sender([&] { p.send(many); });
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(p.response(), "200 GET /" + std::to_string(i) + " ");
    sender.join();
}
TEST(server, answers_later_and_from_other_threads_in_order_too) {
    blocking_pool pool(4);
    served s([&](response res) {
        pool.run([res = std::move(res)]() mutable {
            std::this_thread::sleep_for(
                std::chrono::microseconds(res.request().path().size() * 100));
            mirror(std::move(res));
        });
    });
    raw_peer p(s.port());
    std::string many;
    for (int i = 0; i < 50; ++i)
        many += get("/" + std::string(static_cast<std::size_t>(50 - i), 'x')) +
                post("/", "b" + std::to_string(i));
    p.send(many);
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(p.response(),
                  "200 GET /" + std::string(static_cast<std::size_t>(50 - i), 'x') + " ");
        ASSERT_EQ(p.response(), "200 POST / b" + std::to_string(i));
    }
}
TEST(server, request_stays_readable_after_the_handler_has_returned) {
    std::mutex mutex;
    std::vector<response> kept;
    served s([&](response res) {
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(res));
    });
    raw_peer a(s.port());
    raw_peer b(s.port());
    a.send(get("/first", "X-One: 1\r\n"));
    b.send(get("/second", "X-Two: 2\r\n"));
    for (std::size_t n = 0; n < 2; std::this_thread::yield()) {
        const std::lock_guard lock(mutex);
        n = kept.size();
    }
    const std::lock_guard lock(mutex);
    for (response& res : kept) {
        const bool first = res.request().path() == "/first";
        EXPECT_EQ(res.request().header(first ? "x-one" : "x-two"), first ? "1" : "2");
        EXPECT_EQ(res.request().authority(), "a");
        mirror(std::move(res));
    }
    EXPECT_EQ(a.response(), "200 GET /first ");
    EXPECT_EQ(b.response(), "200 GET /second ");
}
TEST(server, persistence_as_asked) {
    served s(mirror);
    raw_peer a(s.port());
    a.send(get("/", "Connection: close\r\n"));
    EXPECT_EQ(a.response(), "(close) 200 GET / ");
    EXPECT_EQ(a.rest(), "");
    raw_peer b(s.port());
    b.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_EQ(b.response(), "(close) 200 GET / ");
    EXPECT_EQ(b.rest(), "");
    raw_peer c(s.port());
    c.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(c.response(), "200 GET / ");
    EXPECT_NE(c.head_text.find("Connection: keep-alive"), std::string::npos);
    c.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_EQ(c.response(), "(close) 200 GET / ");
    raw_peer d(s.port());
    d.send(get("/", "Connection: close\r\n") + get("/never"));
    EXPECT_EQ(d.response(), "(close) 200 GET / ");
    EXPECT_EQ(d.rest(), "");
}
TEST(server, handler_may_close_the_connection) {
    served s([](response res) { res.close_connection().send("bye"); });
    raw_peer p(s.port());
    p.send(get("/") + get("/never"));
    EXPECT_EQ(p.response(), "(close) 200 bye");
    EXPECT_EQ(p.rest(), "");
}
TEST(server, responses_without_body) {
    served s([](response res) {
        if (res.request().path() == "/204") res.status(204);
        if (res.request().path() == "/304") res.status(304);
        res.send("body");
    });
    raw_peer p(s.port());
    p.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(method::head), "200 ");
    EXPECT_NE(p.head_text.find("Content-Length: 4\r\n"), std::string::npos);
    p.send(get("/204"));
    EXPECT_EQ(p.response(), "204 ");
    EXPECT_EQ(p.head_text.find("Content-"), std::string::npos);
    p.send(get("/304"));
    EXPECT_EQ(p.response(), "304 ");
    p.send(get("/"));
    EXPECT_EQ(p.response(), "200 body");
}
TEST(server, status_and_fields) {
    server_options options;
    options.server_name = "test/1";
    served s(
        [](response res) {
            res.status(299)
                .header("X-A", "1")
                .header("Content-Length", "999")
                .header("connection", "close")
                .content_type("text/html")
                .send("x");
        },
        options);
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(p.response(), "299 x");
    EXPECT_EQ(p.head_text.substr(0, 15), "HTTP/1.1 299 \r\n");
    EXPECT_NE(p.head_text.find("X-A: 1\r\n"), std::string::npos);
    EXPECT_NE(p.head_text.find("Server: test/1\r\n"), std::string::npos);
    EXPECT_NE(p.head_text.find("Content-Type: text/html\r\n"), std::string::npos);
    EXPECT_EQ(p.head_text.find("999"), std::string::npos);
    EXPECT_EQ(p.head_text.find("close"), std::string::npos);
}
TEST(server, a_responses_own_server_field_is_the_only_one) {
    server_options options;
    options.server_name = "test/1";
    served s(
        [](response res) {
            const std::string path(res.request().path());
            res.header("sErVeR", "own/2");
            if (path == "/removed") res.remove_header("Server");
            if (path == "/refused") res.status(1);
            res.send("x");
        },
        options);
    raw_peer p(s.port());
    const auto servers = [&](const std::string& path) {
        p.send(get(path));
        p.response();
        std::string found;
        for (const char* field : {"sErVeR: own/2\r\n", "Server: test/1\r\n"}) {
            if (p.head_text.find(field) != std::string::npos) found += field;
        }
        EXPECT_NE(p.head_text.find("\r\nDate: "), std::string::npos);
        return found;
    };
    EXPECT_EQ(servers("/"), "sErVeR: own/2\r\n");
    EXPECT_EQ(servers("/removed"), "Server: test/1\r\n");
    EXPECT_EQ(servers("/refused"), "Server: test/1\r\n");  // the library's own answer
    EXPECT_EQ(servers("/"), "sErVeR: own/2\r\n");
}
TEST(server, response_splitting_is_refused) {
    served s([](response res) {
        const std::string path(res.request().path());
        if (path == "/value") res.header("X", "a\r\nSet-Cookie: b");
        if (path == "/name") res.header("X\r\nY", "a");
        if (path == "/type") res.content_type("text/plain\n");
        if (path == "/status") res.status(101);
        res.send("fine");
    });
    raw_peer p(s.port());
    for (const auto path : {"/value", "/name", "/type", "/status"}) {
        p.send(get(path));
        EXPECT_EQ(p.response(), "500 Internal Server Error\n");
        EXPECT_EQ(p.head_text.find("Cookie"), std::string::npos);
    }
    p.send(get("/"));
    EXPECT_EQ(p.response(), "200 fine");
}
TEST(server, a_handler_that_throws_or_forgets_answers_500) {
    served s([](response res) {
        res.header("X", "y").body() = "half";
        if (res.request().path() == "/throw") throw std::runtime_error("no");
    });
    raw_peer p(s.port());
    for (const auto path : {"/throw", "/forget"}) {
        p.send(get(path));
        EXPECT_EQ(p.response(), "500 Internal Server Error\n");
    }
}
TEST(server, waits_for_a_body_it_said_to_go_on_with) {
    served s(mirror);
    raw_peer p(s.port());
    const std::string head =
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    p.send(head);
    EXPECT_EQ(p.exactly(25), "HTTP/1.1 100 Continue\r\n\r\n");
    p.send("hi");
    EXPECT_EQ(p.response(), "200 POST / hi");
    p.send(head + "ho");  // did not wait: no interim response
    EXPECT_EQ(p.response(), "200 POST / ho");
}
TEST(server, responses_outlive_it_on_any_thread) {
    server_options options;
    options.loops = 2;
    options.drain_timeout = 20ms;
    std::mutex mutex;
    std::vector<response> kept;
    std::optional<served> s;
    s.emplace(
        [&](response res) {
            const std::lock_guard lock(mutex);
            kept.push_back(std::move(res));
        },
        options);
    std::vector<std::unique_ptr<raw_peer>> peers;
    for (int i = 0; i < 32; ++i) {
        peers.push_back(std::make_unique<raw_peer>(s->port()));
        peers.back()->send(get("/"));
    }
    const auto count = [&] {
        const std::lock_guard lock(mutex);
        return kept.size();
    };
    for (int i = 0; i < 1000 && count() < 32; ++i) std::this_thread::sleep_for(5ms);
    ASSERT_EQ(count(), 32U);
    // Some while it ends, the rest after its end.
    std::thread during([&] {
        for (int i = 0; i < 16; ++i) {
            std::this_thread::sleep_for(2ms);
            kept[static_cast<std::size_t>(i)].send("late");
        }
    });
    s.reset();
    during.join();
    std::thread after([&] {
        for (std::size_t i = 16; i < 24; ++i) kept[i].send("late");
    });
    after.join();
    kept.clear();
}
TEST(server, a_peer_that_has_finished_sending_still_gets_its_replies) {
    blocking_pool pool(1);
    served s([&](response res) {
        if (res.request().path() != "/slow") return mirror(std::move(res));
        pool.run([res = std::move(res)]() mutable { mirror(std::move(res)); });
    });
    raw_peer p(s.port());
    p.send(get("/slow") + get("/b") + "GET /cut");
    p.finish_sending();
    EXPECT_EQ(p.response(), "200 GET /slow ");
    EXPECT_EQ(p.response(), "200 GET /b ");
    EXPECT_EQ(p.rest(), "");
}
TEST(server, large_bodies_both_ways_to_a_slow_reader) {
    server_options options;
    options.limits.max_body_bytes = 16 << 20;
    served s([](response res) { res.send(std::string(res.request().body())); }, options);
    raw_peer p(s.port());
    std::string large(8 << 20, 'x');
    for (std::size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<char>('a' + i % 26);
    for (int i = 0; i < 2; ++i) {
        p.send(post("/", large));
        const std::string got = p.response();
        EXPECT_TRUE(got == "200 " + large);
    }
}
TEST(server, a_response_may_outlive_its_connection_and_its_server) {
    std::promise<response> first;
    std::promise<response> second;
    std::atomic<int> n{0};
    std::optional<response> kept;
    {
        server_options options;
        options.drain_timeout = 0ms;
        served s([&](response res) { (n++ == 0 ? first : second).set_value(std::move(res)); },
                 options);
        {
            raw_peer p(s.port());
            p.send(get("/"));
            response res = first.get_future().get();
            kept.emplace(std::move(res));
            p.reset();
        }
        raw_peer q(s.port());
        q.send(get("/"));
        response other = second.get_future().get();  // by now the loop has seen the first one's end
        kept->send("to nobody");
        kept.emplace(std::move(other));
    }
    EXPECT_EQ(kept->request().path(), "/");
    kept->send("to nobody");
}
TEST(server, stop_lets_requests_in_progress_finish) {
    std::promise<response> taken;
    served s([&](response res) {
        if (res.request().path() == "/slow") {
            taken.set_value(std::move(res));
        } else {
            mirror(std::move(res));
        }
    });
    raw_peer idle(s.port());
    idle.send(get("/"));
    idle.response();
    raw_peer busy(s.port());
    raw_peer half(s.port());
    half.send("GET /half HTTP/1.1\r\n");
    busy.send(get("/slow"));
    response res = taken.get_future().get();
    s.ask_to_stop();
    EXPECT_EQ(idle.rest(), "");
    half.send("Host: a\r\n\r\n");
    EXPECT_EQ(half.response(), "(close) 200 GET /half ");
    half.finish_sending();
    mirror(std::move(res));
    EXPECT_EQ(busy.response(), "(close) 200 GET /slow ");
    busy.finish_sending();
    s.join();
}
TEST(server, stop_does_not_wait_for_ever) {
    std::optional<response> never;
    server_options options;
    options.drain_timeout = 50ms;
    std::promise<void> taken;
    served s(
        [&](response res) {
            never.emplace(std::move(res));
            taken.set_value();
        },
        options);
    raw_peer p(s.port());
    p.send(get("/"));
    taken.get_future().wait();
    s.ask_to_stop();
    s.join();
    EXPECT_EQ(p.rest(), "");
}
TEST(server, several_loops_share_one_port) {
    std::mutex mutex;
    std::vector<std::thread::id> threads;
    server_options options;
    options.loops = 3;
    served s(
        [&](response res) {
            {
                const std::lock_guard lock(mutex);
                if (std::find(threads.begin(), threads.end(), std::this_thread::get_id()) ==
                    threads.end()) {
                    threads.push_back(std::this_thread::get_id());
                }
            }
            mirror(std::move(res));
        },
        options);
    std::vector<std::unique_ptr<raw_peer>> peers;
    for (int i = 0; i < 60; ++i) {
        peers.push_back(std::make_unique<raw_peer>(s.port()));
        peers.back()->send(get("/" + std::to_string(i)));
        EXPECT_EQ(peers.back()->response(), "200 GET /" + std::to_string(i) + " ");
    }
    const std::lock_guard lock(mutex);
    // Of 60 the kernel gives all to one of three with a chance of 3^-59.
    EXPECT_GT(threads.size(), 1U);
}
TEST(server, says_that_it_has_no_threads_for_its_loops) {
    server_options options;
    options.host = "127.0.0.1";
    options.loops = 3;
    const testing::no_threads none;
    const error e = start_server(0, mirror, options);
    EXPECT_EQ(e.code, errc::system_error);
    EXPECT_EQ(e.message, "cannot start a thread: Resource temporarily unavailable");
}
TEST(server, says_why_it_cannot_listen) {
    served s(mirror);
    server_options options;
    options.host = "127.0.0.1";
    const error e = start_server(s.port(), mirror, options);
    EXPECT_EQ(e.code, errc::address_in_use);
    EXPECT_EQ(e.message, "cannot listen on 127.0.0.1:" + std::to_string(s.port()) +
                             ": Address already in use");
    options.host = "localhost";
    EXPECT_EQ(start_server(0, mirror, options).code, errc::bad_argument);
}

}  // namespace wire::http::server_test
