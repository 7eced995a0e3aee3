// Bodies of requests, read in pieces.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "pieces.hpp"
#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/server/body.hpp"

namespace wire::http::body_reader_test {

using namespace std::chrono_literals;
using testing::get;
using testing::post;
using testing::post_chunked;
using testing::raw_peer;
using testing::served;

// Answers with what it read and how that ended.
void collect(response res, body_reader in) {
    auto text = std::make_shared<std::string>();
    in.read([text](std::string_view piece) { *text += piece; },
            [text, res = std::move(res)](errc why) mutable {
                res.send(*text + " (" + std::string(to_string(why)) + ")");
            });
}
router collecting(std::uint64_t most = 1 << 30) {
    router routes;
    routes.stream(method::post, "/{name}", collect, most);
    routes.post("/whole", [](response res) { res.send(std::string(res.request().body())); });
    routes.get("/", [](response res) { res.send("other"); });
    return routes;
}

TEST(body_reader, however_the_body_is_cut) {
    served s(collecting());
    raw_peer p(s.port());
    const std::string text = post("/x", "body") + post_chunked("/y", {"ab", "c"}) +
                             post("/whole", "w") + post("/empty", "") + get("/");
    for (const auto& cut : testing::all_cuts(text)) {
        for (const auto piece : cut) {
            p.send(piece);
            std::this_thread::yield();
        }
        ASSERT_EQ(p.response(), "200 body (no error)");
        ASSERT_EQ(p.response(), "200 abc (no error)");
        ASSERT_EQ(p.response(), "200 w");
        ASSERT_EQ(p.response(), "200  (no error)");
        ASSERT_EQ(p.response(), "200 other");
    }
}
TEST(body_reader, a_handler_that_is_given_whole_bodies_may_read_too) {
    served s([](response res) {
        body_reader in = res.take_body();
        collect(std::move(res), std::move(in));
    });
    raw_peer p(s.port());
    p.send(post("/x", "body") + get("/"));
    EXPECT_EQ(p.response(), "200 body (no error)");
    EXPECT_EQ(p.response(), "200  (no error)");
}
TEST(body_reader, has_a_limit_of_its_own) {
    server_options options;
    options.limits.max_body_bytes = 10;
    served s(collecting(1000), options);
    const std::string large(1000, 'x');
    raw_peer p(s.port());
    p.send(post("/x", large) + post_chunked("/x", {large.substr(0, 500), large.substr(500)}));
    EXPECT_EQ(p.response(), "200 " + large + " (no error)");
    EXPECT_EQ(p.response(), "200 " + large + " (no error)");
    for (const std::string& text :
         {post("/x", large + "y"), post_chunked("/x", {large, "y"}), post("/whole", large),
          post("/x", large + "y", "Expect: 100-continue\r\n").substr(0, 90)}) {
        raw_peer q(s.port());
        q.send(text);
        EXPECT_EQ(q.response(), "(close) 413 body too large\n");
        q.finish_sending();
        EXPECT_EQ(q.rest(), "");
    }
    p.send(get("/"));
    EXPECT_EQ(p.response(), "200 other");
}
TEST(body_reader, says_continue_only_when_it_reads) {
    std::promise<std::pair<response, body_reader>> taken;
    router routes;
    routes.stream(method::post, "/later", [&](response res, body_reader in) {
        taken.set_value({std::move(res), std::move(in)});
    });
    routes.stream(method::post, "/no",
                  [](response res, body_reader) { res.status(403).send("no"); });
    routes.stream(method::post, "/yes", collect);
    served s(std::move(routes));
    const auto head = [](const std::string& target) {
        return "POST " + target +
               " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    };
    raw_peer p(s.port());
    p.send(head("/yes"));
    EXPECT_EQ(p.exactly(25), "HTTP/1.1 100 Continue\r\n\r\n");
    p.send("ab");
    EXPECT_EQ(p.response(), "200 ab (no error)");
    p.send(head("/yes") + "cd");
    EXPECT_EQ(p.response(), "200 cd (no error)");
    p.send(head("/later"));
    auto [res, in] = taken.get_future().get();
    pollfd readable{p.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&readable, 1, 50), 0);
    collect(std::move(res), std::move(in));
    EXPECT_EQ(p.exactly(25), "HTTP/1.1 100 Continue\r\n\r\n");
    p.send("ef");
    EXPECT_EQ(p.response(), "200 ef (no error)");
    p.send(head("/no"));
    EXPECT_EQ(p.response(), "(close) 403 no");
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
}
TEST(body_reader, says_continue_before_an_answer_that_begins_with_the_first_piece) {
    struct echo {
        response res;
        body_reader in;
        body_writer out;
    };
    router routes;
    routes.stream(method::post, "/", [](response res, body_reader in) {
        auto self = std::make_shared<echo>(echo{std::move(res), std::move(in), {}});
        self->in.read(
            [self](std::string_view piece) {
                if (self->res) self->out = self->res.start_body();
                self->out.write(piece);
            },
            [self](errc why) {
                if (self->res) self->out = self->res.start_body();
                if (why == errc::none) self->out.finish();
            });
    });
    served s(std::move(routes));
    raw_peer p(s.port());
    p.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    EXPECT_EQ(p.exactly(25), "HTTP/1.1 100 Continue\r\n\r\n");
    p.send("ab");
    EXPECT_EQ(p.exactly(17), "HTTP/1.1 200 OK\r\n");
    p.send("cd" + post("/", "whole") + post("/", "", "Connection: close\r\n"));
    const std::string rest = p.rest();
    EXPECT_NE(rest.find("\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"),
              std::string::npos);
    EXPECT_NE(rest.find("\r\n\r\n5\r\nwhole\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"), std::string::npos);
    EXPECT_TRUE(rest.ends_with("\r\n\r\n0\r\n\r\n"));
}
TEST(body_reader, paused_keeps_the_peer_waiting) {
    std::promise<body_reader*> paused;
    std::atomic<std::size_t> got{0};
    body_reader in;
    router routes;
    routes.stream(method::post, "/", [&](response res, body_reader reader) {
        in = std::move(reader);
        in.read(
            [&](std::string_view piece) {
                const bool first = got == 0;
                got += piece.size();
                if (!first) return;
                in.pause();
                paused.set_value(&in);
            },
            [res = std::move(res), &got](errc) mutable { res.send(std::to_string(got)); });
    });
    server_options options;
    options.limits.body_timeout = 50ms;  // is not counted while paused
    served s(std::move(routes), options);
    raw_peer p(s.port());
    const std::string text = post("/", std::string(50'000'000, 'x'));
    const std::size_t sent = p.send_until_stuck(text, 300);
    EXPECT_LT(sent, text.size());  // what socket buffers take
    const std::size_t taken = got;
    EXPECT_LE(taken, 64U * 1024);
    paused.get_future().get()->resume();  // from this thread
    p.send(std::string_view(text).substr(sent));
    EXPECT_EQ(p.response(), "200 50000000");
}
TEST(body_reader, may_pause_at_the_last_byte) {
    body_reader in;
    std::promise<void> paused;
    router routes;
    routes.stream(method::post, "/", [&](response res, body_reader reader) {
        in = std::move(reader);
        in.read(
            [&](std::string_view) {
                in.pause();
                paused.set_value();
            },
            [res = std::move(res)](errc why) mutable { res.send(std::string(to_string(why))); });
    });
    served s(std::move(routes));
    raw_peer p(s.port());
    p.send(post("/", "all"));
    paused.get_future().wait();
    in.resume();
    EXPECT_EQ(p.response(), "200 no error");
}
// What a reader of a whole body needs for an echo, which its own callbacks keep.
struct whole_echo {
    body_reader in;
    body_writer out;
};
TEST(body_reader, of_a_whole_body_that_paused_hears_of_the_connections_end) {
    std::weak_ptr<whole_echo> left;
    std::vector<errc> ends;
    std::promise<void> paused;
    server_options options;
    options.limits.max_body_bytes = 64 << 20;
    options.limits.max_unsent_bytes = 1000;
    served s(
        [&](response res) {
            auto self = std::make_shared<whole_echo>();
            left = self;
            self->in = res.take_body();
            self->out = res.start_body();
            self->in.read(
                [&, self](std::string_view piece) {
                    EXPECT_FALSE(self->out.write(piece));
                    self->in.pause();
                    paused.set_value();
                },
                [&, self](errc why) { ends.push_back(why); });
        },
        options);
    raw_peer p(s.port());
    p.send(post("/", std::string(32 << 20, 'x')));  // more than sockets take
    paused.get_future().wait();
    p.reset();
    s.stop();
    EXPECT_EQ(ends, std::vector{errc::closed_early});
    EXPECT_TRUE(left.expired());
}
TEST(body_reader, of_a_whole_body_that_paused_ends_with_its_response) {
    std::weak_ptr<whole_echo> left;
    int ends = 0;
    served s([&](response res) {
        auto self = std::make_shared<whole_echo>();
        left = self;
        self->in = res.take_body();
        self->out = res.start_body();
        self->in.read(
            [self](std::string_view piece) {
                self->in.pause();
                self->out.write(piece);
                self->out.finish();
            },
            [&, self](errc) { ++ends; });
    });
    raw_peer p(s.port());
    p.send(post("/", "whole"));
    EXPECT_EQ(p.response(), "200 whole");
    s.stop();
    EXPECT_EQ(ends, 0);
    EXPECT_TRUE(left.expired());
}
// Its connection goes first, and then it answers.
TEST(body_reader, of_a_whole_body_that_paused_ends_with_a_response_that_comes_too_late) {
    struct kept : whole_echo {
        std::optional<response> res;
    };
    std::promise<std::shared_ptr<kept>> begun;
    std::promise<void> gone;
    std::vector<errc> ends;
    server_options options;
    options.on_finished = [&](const access_record&) { gone.set_value(); };
    served s(
        [&](response res) {
            auto self = std::make_shared<kept>();
            self->in = res.take_body();
            self->res = std::move(res);
            self->in.read([self](std::string_view) { self->in.pause(); },
                          [&, self](errc why) { ends.push_back(why); });
            begun.set_value(self);
        },
        options);
    std::weak_ptr<kept> left;
    {
        raw_peer p(s.port());
        p.send(post("/", "whole"));
        auto self = begun.get_future().get();
        left = self;
        p.reset();
        gone.get_future().wait();
        self->res->send("too late");
    }
    s.stop();
    EXPECT_EQ(ends, std::vector{errc::closed_early});
    EXPECT_TRUE(left.expired());
}
TEST(body_reader, a_paused_body_is_not_lost_when_the_peer_has_finished_sending) {
    std::promise<body_reader> taken;
    std::promise<response> kept;
    router routes;
    routes.stream(method::post, "/", [&](response res, body_reader in) {
        kept.set_value(std::move(res));
        taken.set_value(std::move(in));
    });
    served s(std::move(routes));
    raw_peer p(s.port());
    p.send(post("/", "late"));
    p.finish_sending();
    body_reader in = taken.get_future().get();
    std::this_thread::sleep_for(30ms);
    collect(kept.get_future().get(), std::move(in));
    EXPECT_EQ(p.response(), "200 late (no error)");
    EXPECT_EQ(p.rest(), "");
}
TEST(body_reader, is_told_once_what_went_wrong) {
    std::mutex mutex;
    std::vector<std::string> ends;
    router routes;
    routes.stream(method::post, "/", [&](response res, body_reader in) {
        in.read([](std::string_view) {},
                [&, res = std::move(res)](errc why) mutable {
                    const std::lock_guard lock(mutex);
                    ends.emplace_back(to_string(why));
                    res.send("too late");
                });
    });
    server_options options;
    options.limits.body_timeout = 100ms;
    served s(std::move(routes), options);
    auto next_end = [&, n = std::size_t{0}]() mutable {
        for (;; std::this_thread::yield()) {
            const std::lock_guard lock(mutex);
            if (ends.size() > n) return ends[n++];
        }
    };
    const std::string head =
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    {
        raw_peer p(s.port());
        p.send(head + "x\r\n");
        EXPECT_EQ(p.response(), "(close) 400 malformed chunk\n");
        EXPECT_EQ(next_end(), "malformed chunk");
    }
    {
        raw_peer p(s.port());
        p.send(head);
        EXPECT_EQ(p.response(), "(close) 408 timed out\n");
        EXPECT_EQ(next_end(), "timed out");
    }
    {
        raw_peer p(s.port());
        p.send(head);
        p.finish_sending();
        EXPECT_EQ(p.rest(), "");
        EXPECT_EQ(next_end(), "connection closed in the middle of a message");
    }
    {
        raw_peer p(s.port());
        p.send(head);
        p.reset();
    }
    EXPECT_EQ(next_end(), "connection closed in the middle of a message");
    s.stop();
    EXPECT_EQ(ends.size(), 4U);
}
TEST(body_reader, an_early_answer_ends_the_connection_in_order) {
    std::atomic<int> calls{0};
    router routes;
    routes.stream(method::post, "/", [&](response res, body_reader in) {
        auto kept = std::make_shared<response>(std::move(res));
        in.read(
            [&, kept](std::string_view) {
                ++calls;
                if (*kept) kept->status(413).send("enough");
            },
            [&](errc) { calls += 1000; });
    });
    served s(std::move(routes));
    raw_peer p(s.port());
    const std::string text = post("/", std::string(3'000'000, 'x'));
    std::thread sender([&] {
        p.send(text);
        p.finish_sending();
    });
    EXPECT_EQ(p.response(), "(close) 413 enough");
    sender.join();
    EXPECT_EQ(p.rest(), "");
    EXPECT_EQ(calls, 1);
}
TEST(body_reader, a_handler_that_forgets_its_response_answers_500) {
    router routes;
    routes.stream(method::post, "/", [](response, body_reader) {});
    routes.stream(method::post, "/throw", [](response, body_reader in) {
        in.read([](std::string_view) {}, [](errc) {});
        throw std::runtime_error("no");
    });
    served s(std::move(routes));
    for (const auto target : {"/", "/throw"}) {
        raw_peer p(s.port());
        p.send(post(target, "body"));
        EXPECT_EQ(p.response(), "(close) 500 Internal Server Error\n");
        p.finish_sending();
        EXPECT_EQ(p.rest(), "");
    }
}
TEST(body_reader, whole_bodies_that_are_cut_off_cost_nothing) {
    served s([](response res) { res.send("x"); });
    for (int i = 0; i < 3; ++i) {
        raw_peer p(s.port());
        p.send(post("/", "whole").substr(0, 50));
        p.finish_sending();
        EXPECT_EQ(p.rest(), "");
    }
}

TEST(body_reader, goes_through_middleware) {
    router routes;
    routes.before("/secret", [](response& res) {
        if (!res.request().header("authorization")) res.status(401).send("no");
    });
    routes.after([](response& res) { res.header("X-After", "1"); });
    routes.group("/secret").stream(method::post, "/x", collect);
    routes.stream(method::post, "/echo", [](response res, body_reader in) {
        auto out = std::make_shared<body_writer>(res.start_body());
        in.read([out](std::string_view piece) { out->write(piece); },
                [out](errc) { out->finish(); });
    });
    served s(std::move(routes));
    raw_peer p(s.port());
    p.send(post("/secret/x", "body", "Authorization: a\r\n") + post("/echo", "body") +
           post("/secret/x", "body"));
    EXPECT_EQ(p.response(), "200 body (no error)");
    EXPECT_NE(p.head_text.find("X-After: 1"), std::string::npos);
    EXPECT_EQ(p.response(), "200 body");
    EXPECT_NE(p.head_text.find("X-After: 1"), std::string::npos);
    EXPECT_EQ(p.response(), "(close) 401 no");
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
}

}  // namespace wire::http::body_reader_test
