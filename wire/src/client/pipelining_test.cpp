// Several requests under way on one connection, and what servers make of that.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>

#include "loop_client.hpp"
#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/coroutine.hpp"

namespace wire::http::pipelining_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::raw_visitor;
using testing::served;

std::string answer(const std::string& body, const std::string& fields = "") {
    return "HTTP/1.1 200 OK\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}
std::string path_of(const std::string& request) {
    const auto from = request.find(' ') + 1;
    return request.substr(from, request.find(' ', from) - from);
}
void answer_path(raw_visitor& v) { v.send(answer(path_of(v.request()))); }
// Until the client closes.
void serve_on(raw_visitor& v) {
    for (std::string r = v.request(); !r.empty(); r = v.request()) v.send(answer(path_of(r)));
}

struct pipelining : testing::loop_client {
    std::deque<std::string> got;  // in the order of the answers
    std::string root;

    pipelining() {
        options.max_connections_per_host = 1;
        options.max_pipelined = 8;
    }
    void use(const raw_server& r) { root = "http://127.0.0.1:" + std::to_string(r.port()); }
    request_id ask(client_request r, const std::string& name) {
        return c().send(std::move(r), [this, name](result<reply> a) {
            got.push_back(name + (a ? "=" + std::string(a->body())
                                    : ": " + std::string(to_string(a.code()))));
        });
    }
    request_id get(const std::string& name) {
        return ask(make_request(method::get, root + "/" + name), name);
    }
    void run(std::size_t answers) {
        ASSERT_TRUE(run_until([&] { return got.size() >= answers; }));
        ASSERT_EQ(got.size(), answers);
    }
    // The first answer shows that the connection can take several.
    void begin() {
        get("first");
        run(1);
        EXPECT_EQ(got.front(), "first=/first");
        got.clear();
    }
    std::string all() {
        std::string out;
        for (const auto& g : got) out += g + "|";
        got.clear();
        return out;
    }
};

TEST_F(pipelining, is_off_unless_asked_for) {
    EXPECT_EQ(client_options().max_pipelined, 1U);
    raw_server r([](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        const std::string asked = v.request();
        pollfd p{v.fd(), POLLIN, 0};
        EXPECT_EQ(::poll(&p, 1, 50), 0);
        v.send(answer(path_of(asked)));
        serve_on(v);
    });
    use(r);
    options.max_pipelined = 1;
    begin();
    get("a");
    get("b");
    run(2);
    EXPECT_EQ(all(), "a=/a|b=/b|");
    made.reset();
}
TEST_F(pipelining, answers_are_matched_in_order_however_they_come) {
    for (const bool together : {true, false}) {
        raw_server r([together](raw_server& s) {
            auto v = s.accept();
            answer_path(v);
            std::string answers;
            for (int i = 0; i < 5; ++i) {
                const std::string asked = v.request();  // all before the first is answered
                const std::string head = asked.substr(0, 4) == "HEAD"
                                             ? "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
                                             : answer(path_of(asked));
                answers += "HTTP/1.1 103 Early Hints\r\n\r\n" + head;
            }
            if (together) {
                v.send(answers);
            } else {
                for (const char byte : answers) v.send({&byte, 1});
            }
            serve_on(v);
        });
        use(r);
        begin();
        for (const char* name : {"a", "b"}) get(name);
        ask(make_request(method::head, root + "/h"), "h");
        ask(make_request(method::put, root + "/p"), "p");
        get("c");
        run(5);
        EXPECT_EQ(all(), "a=/a|b=/b|h=|p=/p|c=/c|");
        EXPECT_EQ(c().connections_opened(), 1U);
        made.reset();
    }
}
TEST_F(pipelining, is_bounded_and_what_waits_follows) {
    std::atomic<int> most{0};
    raw_server r([&](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        for (int left = 20; left > 0;) {
            std::vector<std::string> asked{v.request()};
            pollfd p{v.fd(), POLLIN, 0};
            while (::poll(&p, 1, 20) == 1 && static_cast<int>(asked.size()) < left)
                asked.push_back(v.request());
            most = std::max(most.load(), static_cast<int>(asked.size()));
            left -= static_cast<int>(asked.size());
            std::string answers;
            for (const auto& a : asked) answers += answer(path_of(a));
            v.send(answers);
        }
    });
    use(r);
    options.max_pipelined = 4;
    begin();
    std::string expected;
    for (int i = 0; i < 20; ++i) {
        get(std::to_string(i));
        expected += std::to_string(i) + "=/" + std::to_string(i) + "|";
    }
    run(20);
    EXPECT_EQ(all(), expected);
    r.finish();
    EXPECT_EQ(most, 4);
    EXPECT_EQ(c().connections_opened(), 1U);
}
TEST_F(pipelining, only_what_can_be_sent_again_shares_a_connection) {
    raw_server r([](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        for (int i = 0; i < 4; ++i) {
            const std::string asked = v.request();
            pollfd p{v.fd(), POLLIN, 0};
            EXPECT_EQ(::poll(&p, 1, 30), 0) << asked;
            v.send(answer(path_of(asked)));
        }
    });
    use(r);
    begin();
    ask(make_request(method::post, root + "/post"), "post");  // nothing behind it
    get("a");
    response_pieces to;  // neither behind another nor before it
    std::string pieces;
    to.data = [&](std::string_view piece) { pieces += piece; };
    to.end = [&](result<reply> a) { got.push_back("pieces" + std::string(to_string(a.code()))); };
    c().send(make_request(method::get, root + "/s"), std::move(to));
    get("b");
    run(4);
    EXPECT_EQ(pieces, "/s");
    EXPECT_EQ(got[0] + got[1] + got[3], "post=/posta=/ab=/b");
}
TEST_F(pipelining, an_answer_that_ends_the_connection_sends_the_others_again) {
    raw_server r([](raw_server& s) {
        {
            auto v = s.accept();
            answer_path(v);
            const std::string asked = v.request();
            for (int i = 0; i < 2; ++i) v.request();
            v.send(answer(path_of(asked), "Connection: close\r\n"));
        }
        auto v = s.accept();
        serve_on(v);
    });
    use(r);
    begin();
    for (const char* name : {"a", "b", "c"}) get(name);
    run(3);
    EXPECT_EQ(all(), "a=/a|b=/b|c=/c|");
    EXPECT_EQ(c().connections_opened(), 2U);
    made.reset();
}
TEST_F(pipelining, a_connection_that_fails_sends_them_again_and_is_the_last_so_used) {
    for (const bool midway : {false, true}) {
        std::atomic<int> early{0};
        raw_server r([&](raw_server& s) {
            {
                auto v = s.accept();
                answer_path(v);
                for (int i = 0; i < 3; ++i) v.request();
                if (midway) v.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nha");
            }
            auto v = s.accept();
            for (std::string asked = v.request(); !asked.empty(); asked = v.request()) {
                pollfd p{v.fd(), POLLIN, 0};
                early += ::poll(&p, 1, 5);
                v.send(answer(path_of(asked)));
            }
        });
        use(r);
        begin();
        for (const char* name : {"a", "b", "c"}) get(name);
        run(3);
        for (const char* name : {"d", "e"}) get(name);
        run(5);
        std::sort(got.begin(), got.end());
        EXPECT_EQ(all(), (midway ? "a: " + std::string(to_string(errc::closed_early)) : "a=/a") +
                             "|b=/b|c=/c|d=/d|e=/e|");
        EXPECT_EQ(c().connections_opened(), 2U);
        made.reset();
        r.finish();
        EXPECT_EQ(early, 0);
    }
}
TEST_F(pipelining, a_late_answer_fails_alone) {
    raw_server r([&](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        auto w = s.accept();
        serve_on(w);
    });
    use(r);
    begin();
    client_request slow = make_request(method::get, root + "/slow");
    slow.timeouts.emplace().response_timeout = 50ms;
    ask(std::move(slow), "slow");
    get("a");
    get("b");
    run(3);
    std::sort(got.begin(), got.end());
    EXPECT_EQ(all(), "a=/a|b=/b|slow: timed out|");
    made.reset();
}
TEST_F(pipelining, a_body_may_still_be_on_its_way_when_its_turn_comes) {
    constexpr std::size_t size = 32 << 20;
    raw_server r([](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        answer_path(v);
        v.request();
        std::string bytes(256 << 10, ' ');
        std::size_t have = 0;
        for (auto at = clock::now(); have < size; at += 5ms) {
            std::this_thread::sleep_until(at);  // 128 pieces: more than half a second
            const auto n = ::recv(v.fd(), bytes.data(), bytes.size(), MSG_WAITALL);
            if (n <= 0) return;
            have += static_cast<std::size_t>(n);
        }
        v.send(answer("taken"));
        serve_on(v);
    });
    use(r);
    begin();
    get("a");
    client_request large = make_request(method::put, root + "/large", std::string(size, 'u'));
    large.timeouts.emplace().response_timeout = 400ms;
    ask(std::move(large), "large");
    run(2);
    EXPECT_EQ(all(), "a=/a|large=taken|");
    EXPECT_EQ(c().connections_opened(), 1U);
    made.reset();
}
TEST_F(pipelining, cancelling_harms_no_other) {
    for (const int gone : {0, 1, 2}) {  // the first, one in the middle, the last
        raw_server r([&](raw_server& s) {
            auto v = s.accept();
            answer_path(v);
            std::string answers;
            for (int i = 0; i < 3; ++i) answers += answer(path_of(v.request()));
            std::this_thread::sleep_for(30ms);
            v.send(answers);
            serve_on(v);
        });
        use(r);
        begin();
        request_id ids[3];
        for (int i = 0; i < 3; ++i) ids[i] = get(std::string(1, static_cast<char>('a' + i)));
        loop->run_once(1ms);
        c().cancel(ids[gone]);
        run(3);
        EXPECT_EQ(got.front(), std::string(1, static_cast<char>('a' + gone)) + ": cancelled");
        std::sort(got.begin(), got.end());
        std::string expected;
        for (int i = 0; i < 3; ++i) {
            const std::string name(1, static_cast<char>('a' + i));
            expected += name + (i == gone ? ": cancelled|" : "=/" + name + "|");
        }
        EXPECT_EQ(all(), expected);
        get("after");
        run(1);
        EXPECT_EQ(all(), "after=/after|");
        EXPECT_EQ(c().connections_opened(), 1U);
        made.reset();
    }
}
// As download() returns for a request that was not sent.
TEST_F(pipelining, cancelling_nothing_cancels_nothing) {
    raw_server r([](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        const std::string a = path_of(v.request());
        v.send(answer(a) + answer(path_of(v.request())));
        serve_on(v);
    });
    use(r);
    begin();
    const auto id = get("a");
    get("b");
    c().cancel(id);
    for (int i = 0; i < 2; ++i) c().cancel(0);
    run(2);
    EXPECT_EQ(all(), "a: cancelled|b=/b|");
    made.reset();
}
TEST_F(pipelining, the_total_time_of_one_is_over_for_one) {
    raw_server r([&](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        std::string answers;
        for (int i = 0; i < 3; ++i) answers += answer(path_of(v.request()));
        std::this_thread::sleep_for(80ms);
        v.send(answers);
        serve_on(v);
    });
    use(r);
    begin();
    get("a");
    client_request hurried = make_request(method::get, root + "/b");
    hurried.timeouts.emplace().total_timeout = 20ms;
    ask(std::move(hurried), "b");
    get("c");
    run(3);
    EXPECT_EQ(all(), "b: timed out|a=/a|c=/c|");
    made.reset();
}
TEST_F(pipelining, when_all_are_cancelled_the_connection_ends) {
    raw_server r([&](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        while (!v.request().empty()) {}
        auto w = s.accept();
        serve_on(w);
    });
    use(r);
    begin();
    const auto a = get("a");
    const auto b = get("b");
    loop->run_once(1ms);
    c().cancel(a);
    c().cancel(b);
    run(2);
    EXPECT_EQ(all(), "a: cancelled|b: cancelled|");
    get("d");
    run(1);
    EXPECT_EQ(all(), "d=/d|");
    made.reset();
}
TEST_F(pipelining, an_answer_that_came_before_its_request_is_not_taken_for_one) {
    raw_server r([&](raw_server& s) {
        {
            auto v = s.accept();
            answer_path(v);
            const std::string one = path_of(v.request());
            const std::string two = path_of(v.request());
            v.send(answer(one) + answer(two) + answer("forged"));
            (void)v.request();
        }
        auto w = s.accept();
        serve_on(w);
    });
    use(r);
    begin();
    c().get(root + "/a", [this](result<reply> a) {
        got.push_back(std::string(a->body()));
        get("later");  // while the forged answer lies there already
    });
    get("b");
    run(3);
    EXPECT_EQ(all(), "/a|b=/b|later=/later|");
    made.reset();
}
TEST_F(pipelining, a_server_of_http_1_0_is_asked_one_by_one) {
    raw_server r([](raw_server& s) {
        auto v = s.accept();
        for (int i = 0; i < 3; ++i) {
            const std::string asked = v.request();
            pollfd p{v.fd(), POLLIN, 0};
            EXPECT_EQ(::poll(&p, 1, 20), 0);
            const std::string body = path_of(asked);
            v.send("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n\r\n" + body);
        }
    });
    use(r);
    begin();
    get("a");
    get("b");
    run(2);
    EXPECT_EQ(all(), "a=/a|b=/b|");
}
TEST_F(pipelining, a_client_that_goes_tells_each) {
    raw_server r([](raw_server& s) {
        auto v = s.accept();
        answer_path(v);
        while (!v.request().empty()) {}
    });
    use(r);
    begin();
    get("a");
    c().cancel(get("b"));
    get("c");
    run(1);
    made.reset();
    std::sort(got.begin(), got.end());
    const std::string stopped(to_string(errc::stopped));
    EXPECT_EQ(all(), "a: " + stopped + "|b: cancelled|c: " + stopped + "|");
}
TEST_F(pipelining, with_a_server_of_our_own_coroutines_and_bodies_of_all_sizes) {
    http::server_options roomy;
    roomy.limits.max_body_bytes = 64 << 20;
    served s(
        [](response res) {
            res.send(std::string(res.request().path()) + std::string(res.request().body()));
        },
        roomy);
    root = "http://127.0.0.1:" + std::to_string(s.port());
    options.max_connections_per_host = 2;
    std::atomic<int> good{0};
    auto one = [&](int i) -> task<> {
        const std::string body(static_cast<std::size_t>(i % 7) * 60'000, 'b');
        const auto a = co_await c().put(root + "/" + std::to_string(i), body);
        good += a && a->body() == "/" + std::to_string(i) + body;
    };
    auto many = [&]() -> task<> {
        task_group group;
        for (int i = 0; i < 200; ++i) group.spawn(one(i));
        co_await group.join();
    };
    block_on(*loop, many());
    EXPECT_EQ(good, 200);
    EXPECT_LE(c().connections_opened(), 2U);
}

}  // namespace wire::http::pipelining_test
