// Bodies of responses, written in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"
#include "wire/server/body.hpp"

namespace wire::http::body_writer_test {

using namespace std::chrono_literals;
using testing::get;
using testing::raw_peer;
using testing::served;

void three_pieces(response res) {
    const bool announced = res.request().path() == "/length";
    if (res.request().path() == "/204") res.status(204);
    body_writer out = announced ? res.start_body(13) : res.start_body();
    out.write("one, ");
    out.write("");
    out.write("two, ");
    out.write("xyz");
    out.finish();
}

TEST(body_writer, sends_chunks_or_an_announced_length) {
    served s(three_pieces);
    raw_peer p(s.port());
    p.send(get("/") + get("/length") + get("/204") + "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "200 one, two, xyz");
    EXPECT_NE(p.head_text.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos);
    EXPECT_NE(p.head_text.find("\r\nContent-Type: text/plain; charset=utf-8\r\n"),
              std::string::npos);
    EXPECT_EQ(p.head_text.find("Content-Length"), std::string::npos);
    EXPECT_EQ(p.response(), "200 one, two, xyz");
    EXPECT_NE(p.head_text.find("\r\nContent-Length: 13\r\n"), std::string::npos);
    EXPECT_EQ(p.head_text.find("Transfer-Encoding"), std::string::npos);
    EXPECT_EQ(p.response(), "204 ");
    EXPECT_EQ(p.head_text.find("Transfer-Encoding"), std::string::npos);
    EXPECT_EQ(p.response(method::head), "200 ");
    EXPECT_NE(p.head_text.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos);
    p.send("HEAD /length HTTP/1.1\r\nHost: a\r\n\r\n" + get("/"));
    EXPECT_EQ(p.response(method::head), "200 ");
    EXPECT_NE(p.head_text.find("\r\nContent-Length: 13\r\n"), std::string::npos);
    EXPECT_EQ(p.response(), "200 one, two, xyz");
}
TEST(body_writer, runs_until_the_end_for_http_1_0) {
    served s(three_pieces);
    for (const std::string fields : {"", "Connection: keep-alive\r\n"}) {
        raw_peer p(s.port());
        p.send("GET / HTTP/1.0\r\n" + fields + "\r\n");
        const std::string all = p.rest();
        EXPECT_EQ(all.substr(all.size() - 17), "\r\n\r\none, two, xyz");
        EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos);
        EXPECT_EQ(all.find("chunked"), std::string::npos);
    }
    raw_peer p(s.port());
    p.send("GET /length HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(p.response(), "200 one, two, xyz");
    p.send(get("/", "Connection: close\r\n"));
    EXPECT_EQ(p.response(), "(close) 200 one, two, xyz");
    EXPECT_EQ(p.rest(), "");
}
TEST(body_writer, may_be_used_later_and_from_any_thread_in_order) {
    blocking_pool pool(4);
    served s([&](response res) {
        if (res.request().path() == "/start_elsewhere") {
            pool.run([res = std::move(res)]() mutable { three_pieces(std::move(res)); });
            return;
        }
        body_writer out = res.start_body();
        out.write("here, ");
        pool.run([out = std::move(out)]() mutable {
            for (int i = 0; i < 100; ++i) out.write(std::to_string(i) + " ");
            out.finish();
        });
    });
    std::string numbers = "200 here, ";
    for (int i = 0; i < 100; ++i) numbers += std::to_string(i) + " ";
    raw_peer p(s.port());
    std::string many;
    for (int i = 0; i < 20; ++i) many += get("/") + get("/start_elsewhere");
    p.send(many);
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(p.response(), numbers);
        ASSERT_EQ(p.response(), "200 one, two, xyz");
    }
}
TEST(body_writer, a_started_body_keeps_the_next_request_waiting) {
    std::promise<body_writer> started;
    served s([&](response res) {
        if (res.request().path() == "/slow") {
            started.set_value(res.start_body());
        } else {
            res.send("fast");
        }
    });
    raw_peer p(s.port());
    p.send(get("/slow") + get("/fast"));
    body_writer out = started.get_future().get();
    EXPECT_TRUE(out.is_open());
    out.write("slow");
    EXPECT_NE(p.exactly(16).find("200 OK"), std::string::npos);
    out.finish();
    EXPECT_FALSE(out.is_open());
    const std::string all = [&] {
        p.send(get("/", "Connection: close\r\n"));
        return p.rest();
    }();
    EXPECT_LT(all.find("4\r\nslow\r\n0\r\n\r\nHTTP/1.1 200 OK"), all.find("fast"));
}

// Sends `total` bytes as fast as they are taken, from inside the callbacks of its own loop.
struct producer : std::enable_shared_from_this<producer> {
    body_writer out;
    std::string piece = std::string(10'000, 'p');
    std::size_t left = 0;
    std::atomic<std::size_t>* written = nullptr;

    void go_on() {
        while (left > 0) {
            left -= piece.size();
            *written += piece.size();
            if (!out.write(piece)) return;
        }
        out.finish();
    }
    static void start(response res, std::size_t total, std::atomic<std::size_t>& written) {
        auto self = std::make_shared<producer>();
        self->left = total;
        self->written = &written;
        self->out = res.start_body();
        self->out.on_drained([self] { self->go_on(); });
        self->go_on();
    }
};

TEST(body_writer, waits_for_a_slow_reader) {
    server_options options;
    options.limits.max_unsent_bytes = 100'000;
    std::atomic<std::size_t> written{0};
    constexpr std::size_t total = 30'000'000;
    served s([&](response res) { producer::start(std::move(res), total, written); }, options);
    raw_peer p(s.port());
    p.send(get("/"));
    std::size_t before = 1;
    for (int same = 0; same < 20; same = written == before ? same + 1 : 0) {
        before = written;
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_LT(written, total);  // what socket buffers of some megabytes take, and little more
    EXPECT_EQ(p.response().size(), 4 + total);
    EXPECT_EQ(written, total);
    p.send(get("/"));
    EXPECT_EQ(p.response().size(), 4 + total);
}
TEST(body_writer, makes_other_threads_wait_too) {
    server_options options;
    options.limits.max_unsent_bytes = 100'000;
    blocking_pool pool(1);
    std::atomic<int> waits{0};
    served s(
        [&](response res) {
            pool.run([&, res = std::move(res)]() mutable {
                struct gate {
                    std::mutex mutex;
                    std::condition_variable changed;
                    bool open = false;
                };
                auto g = std::make_shared<gate>();
                body_writer out = res.start_body(20'000'000);
                out.on_drained([g] {
                    const std::lock_guard lock(g->mutex);
                    g->open = true;
                    g->changed.notify_one();
                });
                const std::string piece(50'000, 'p');
                for (int i = 0; i < 400; ++i) {
                    if (out.write(piece)) continue;
                    ++waits;
                    std::unique_lock lock(g->mutex);
                    ASSERT_TRUE(g->changed.wait_for(lock, 10s, [&] { return g->open; }));
                    g->open = false;
                }
                out.finish();
            });
        },
        options);
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(p.response().size(), 4U + 20'000'000);
    EXPECT_GT(waits, 0);
}
// The kernel takes each piece at once: no slow peer makes the writer wait.
TEST(body_writer, lets_its_loop_serve_others_however_fast_the_peer_reads) {
    server_options options;
    options.limits.max_unsent_bytes = 1000;
    std::atomic<int> most{0};  // pieces written in one call
    served s(
        [&](response res) {
            auto out = std::make_shared<body_writer>(res.start_body());
            const auto go_on = [&most, out, left = std::make_shared<int>(100)] {
                for (int n = 1; *left > 0; ++n) {
                    --*left;
                    most = std::max<int>(most, n);
                    if (!out->write(std::string(2000, 'x'))) return;
                }
                out->finish();
            };
            out->on_drained(go_on);
            go_on();
        },
        options);
    raw_peer p(s.port());
    p.send(get("/") + get("/"));
    EXPECT_EQ(p.response().size(), 4U + 200'000);
    EXPECT_EQ(p.response().size(), 4U + 200'000);
    EXPECT_EQ(most, 1);
}
TEST(body_writer, an_abandoned_body_is_seen_to_be_cut_off) {
    served s([](response res) {
        const bool announced = res.request().path() == "/length";
        body_writer out = announced ? res.start_body(99) : res.start_body();
        out.write("half");
        if (announced) out.finish();  // too little: as good as nothing
    });
    for (const auto target : {"/", "/length"}) {
        raw_peer p(s.port());
        p.send(get(target) + get("/never"));
        EXPECT_EQ(p.response(), "<end>");
        raw_peer q(s.port());
        q.send(get(target));
        const std::string all = q.rest();
        EXPECT_NE(all.find("half"), std::string::npos);
        EXPECT_EQ(all.find("0\r\n\r\n"), std::string::npos);
        EXPECT_EQ(all.find("<reset>"), std::string::npos);
    }
    raw_peer p(s.port());
    p.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_NE(p.rest().find("<reset>"), std::string::npos);
    raw_peer head(s.port());
    head.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/"));
    EXPECT_EQ(head.response(method::head), "200 ");
}
// Where nothing is sent there is no slow peer to wait for: an endless body would never let go of
// its thread.
TEST(body_writer, is_closed_with_the_head_of_a_response_that_has_no_body) {
    std::promise<body_writer> started;
    std::atomic<int> closed{0};
    served s([&](response res) {
        const std::string path(res.request().path());
        if (path == "/next") return res.send("next");
        res.status(std::stoi(path.substr(1)));
        body_writer out = path == "/200" ? res.start_body(5) : res.start_body();
        EXPECT_FALSE(out.is_open());
        EXPECT_FALSE(out.write("to nobody"));
        out.on_drained([] { ADD_FAILURE() << "there is nothing to be taken"; });
        out.on_closed([&] { ++closed; });
        started.set_value(std::move(out));
    });
    for (const std::string status : {"204", "205", "304", "200"}) {
        const bool head = status == "200";
        started = {};
        raw_peer p(s.port());
        p.send((head ? "HEAD" : "GET") + (" /" + status) + " HTTP/1.1\r\nHost: a\r\n\r\n" +
               get("/next"));
        EXPECT_EQ(p.response(head ? method::head : method::get), status + " ");
        const body_writer out = started.get_future().get();
        EXPECT_EQ(p.response(), "200 next");  // though the writer is still there
    }
    s.stop();
    EXPECT_EQ(closed, 4);
}
TEST(body_writer, bytes_beyond_the_announced_length_are_dropped) {
    served s([](response res) {
        body_writer out = res.start_body(5);
        out.write("abc");
        out.write("defgh");
        out.write("ij");
        out.finish();
        EXPECT_FALSE(out.write("after the end"));
    });
    raw_peer p(s.port());
    p.send(get("/") + get("/"));
    EXPECT_EQ(p.response(), "200 abcde");
    EXPECT_EQ(p.response(), "200 abcde");
}
TEST(body_writer, is_told_once_that_the_peer_has_gone) {
    std::atomic<int> closed{0};
    std::promise<body_writer> started;
    served s([&](response res) {
        body_writer out = res.start_body();
        out.on_closed([&] { ++closed; });
        started.set_value(std::move(out));
    });
    std::optional<raw_peer> p(s.port());
    p->send(get("/"));
    body_writer out = started.get_future().get();
    p->exactly(10);
    p->reset();
    p.reset();
    while (out.is_open()) std::this_thread::yield();
    EXPECT_FALSE(out.write("x"));
    EXPECT_FALSE(out.write("x"));
    std::atomic<bool> again{false};
    out.on_closed([&] { again = true; });  // who asks later is told, too
    while (!again) std::this_thread::yield();
    out.finish();
    EXPECT_EQ(closed, 1);
}
TEST(body_writer, may_outlive_its_server) {
    body_writer kept;
    bool closed = false;
    {
        server_options options;
        options.drain_timeout = 50ms;
        std::promise<body_writer> started;
        served s([&](response res) { started.set_value(res.start_body()); }, options);
        raw_peer p(s.port());
        p.send(get("/"));
        kept = started.get_future().get();
        kept.on_closed([&closed] { closed = true; });
        s.stop();
    }
    EXPECT_TRUE(closed);
    EXPECT_FALSE(kept.write("to nobody"));
    kept.finish();
}
TEST(body_writer, stop_lets_it_finish) {
    std::promise<body_writer> started;
    served s([&](response res) { started.set_value(res.start_body()); });
    raw_peer p(s.port());
    p.send(get("/"));
    body_writer out = started.get_future().get();
    out.write("a");
    EXPECT_NE(p.exactly(16).find("200 OK"), std::string::npos);
    s.ask_to_stop();
    std::this_thread::sleep_for(20ms);
    out.write("b");
    out.finish();
    const std::string all = p.rest();
    EXPECT_NE(all.find("1\r\na\r\n1\r\nb\r\n0\r\n\r\n"), std::string::npos);
    p.finish_sending();
    s.join();
}
TEST(body_writer, a_peer_that_takes_nothing_is_given_up) {
    server_options options;
    options.limits.write_timeout = 100ms;
    options.limits.max_unsent_bytes = 100'000;
    std::promise<void> closed;
    served s(
        [&](response res) {
            auto out = std::make_shared<body_writer>(res.start_body());
            const auto fill = [out] {
                while (out->write(std::string(50'000, 'x'))) {}
            };
            out->on_closed([&, out] { closed.set_value(); });
            out->on_drained(fill);
            fill();
        },
        options);
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(closed.get_future().wait_for(10s), std::future_status::ready);
}
TEST(body_writer, a_bad_field_makes_it_a_500) {
    std::promise<bool> open;
    served s([&](response res) {
        res.header("X", "a\r\nb");
        body_writer out = res.start_body();
        open.set_value(out.write("never"));
        out.finish();
    });
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(p.response(), "500 Internal Server Error\n");
    EXPECT_FALSE(open.get_future().get());
}

}  // namespace wire::http::body_writer_test
