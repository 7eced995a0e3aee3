#include "wire/server/body.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "pieces.hpp"
#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"

namespace wire::http {
namespace {

using namespace std::chrono_literals;
using testing::raw_peer;
using testing::served;

std::string get(const std::string& target, const std::string& fields = "") {
    return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
std::string post(const std::string& target, const std::string& body, const std::string& fields = "") {
    return "POST " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
std::string post_chunked(const std::string& target, const std::vector<std::string>& chunks) {
    buffer out;
    out.append("POST " + target + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const auto& c : chunks) {
        char size[20];
        std::snprintf(size, sizeof size, "%zx\r\n", c.size());
        out.append(size);
        out.append(c);
        out.append("\r\n");
    }
    out.append("0\r\nTrailer: dropped\r\n\r\n");
    return std::string(out.view());
}
std::string patterned(std::size_t n) {
    std::string text(n, 'x');
    for (std::size_t i = 0; i < n; i += 61) text[i] = static_cast<char>('a' + i / 61 % 26);
    return text;
}
void reset(raw_peer& p) {
    const linger now{1, 0};
    ::setsockopt(p.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

// ---- responses ----

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
    EXPECT_NE(p.head_text.find("\r\nContent-Type: text/plain; charset=utf-8\r\n"), std::string::npos);
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
    served s([&](response res) {
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
    }, options);
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(p.response().size(), 4U + 20'000'000);
    EXPECT_GT(waits, 0);
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
    reset(*p);
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
    served s([&](response res) {
        auto out = std::make_shared<body_writer>(res.start_body());
        const auto fill = [out] {
            while (out->write(std::string(50'000, 'x'))) {
            }
        };
        out->on_closed([&, out] { closed.set_value(); });
        out->on_drained(fill);
        fill();
    }, options);
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

// ---- requests ----

// Answers with what it read and how that ended.
void collect(response res, body_reader in) {
    auto text = std::make_shared<std::string>();
    in.read([text](std::string_view piece) { *text += piece; },
            [text, res = std::move(res)](errc why) mutable { res.send(*text + " (" + std::string(to_string(why)) + ")"); });
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
    const std::string text = post("/x", "body") + post_chunked("/y", {"ab", "c"}) + post("/whole", "w") + post("/empty", "") + get("/");
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
    for (const std::string& text : {post("/x", large + "y"), post_chunked("/x", {large, "y"}), post("/whole", large),
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
    routes.stream(method::post, "/later", [&](response res, body_reader in) { taken.set_value({std::move(res), std::move(in)}); });
    routes.stream(method::post, "/no", [](response res, body_reader) { res.status(403).send("no"); });
    routes.stream(method::post, "/yes", collect);
    served s(std::move(routes));
    const auto head = [](const std::string& target) {
        return "POST " + target + " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
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
TEST(body_reader, paused_keeps_the_peer_waiting) {
    std::promise<body_reader*> paused;
    std::atomic<std::size_t> got{0};
    body_reader in;
    router routes;
    routes.stream(method::post, "/", [&](response res, body_reader reader) {
        in = std::move(reader);
        in.read([&](std::string_view piece) {
            const bool first = got == 0;
            got += piece.size();
            if (!first) return;
            in.pause();
            paused.set_value(&in);
        }, [res = std::move(res), &got](errc) mutable { res.send(std::to_string(got)); });
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
        in.read([&](std::string_view) {
            in.pause();
            paused.set_value();
        }, [res = std::move(res)](errc why) mutable { res.send(std::string(to_string(why))); });
    });
    served s(std::move(routes));
    raw_peer p(s.port());
    p.send(post("/", "all"));
    paused.get_future().wait();
    in.resume();
    EXPECT_EQ(p.response(), "200 no error");
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
        in.read([](std::string_view) {}, [&, res = std::move(res)](errc why) mutable {
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
    const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
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
        reset(p);
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
        in.read([&, kept](std::string_view) {
            ++calls;
            if (*kept) kept->status(413).send("enough");
        }, [&](errc) { calls += 1000; });
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
        in.read([out](std::string_view piece) { out->write(piece); }, [out](errc) { out->finish(); });
    });
    served s(std::move(routes));
    raw_peer p(s.port());
    p.send(post("/secret/x", "body", "Authorization: a\r\n") + post("/echo", "body") + post("/secret/x", "body"));
    EXPECT_EQ(p.response(), "200 body (no error)");
    EXPECT_NE(p.head_text.find("X-After: 1"), std::string::npos);
    EXPECT_EQ(p.response(), "200 body");
    EXPECT_NE(p.head_text.find("X-After: 1"), std::string::npos);
    EXPECT_EQ(p.response(), "(close) 401 no");
    p.finish_sending();
    EXPECT_EQ(p.rest(), "");
}

// ---- both ----

// Sends back what it reads as it comes, and waits for the peer to take it.
struct echo : std::enable_shared_from_this<echo> {
    body_writer out;
    body_reader in;

    static void start(response res, body_reader reader) {
        auto self = std::make_shared<echo>();
        self->in = std::move(reader);
        self->out = res.start_body();
        self->out.on_drained([self] { self->in.resume(); });
        self->in.read([self](std::string_view piece) {
            if (!self->out.write(piece)) self->in.pause();
        }, [self](errc why) {
            if (why == errc::none) self->out.finish();
        });
    }
};

TEST(bodies, may_be_sent_back_as_they_come) {
    router routes;
    routes.stream(method::post, "/", echo::start);
    served s(std::move(routes));
    raw_peer p(s.port());
    for (const std::size_t n : {0UL, 1UL, 1000UL, 5'000'000UL}) {
        const std::string text = patterned(n);
        std::thread sender([&] { p.send(post("/", text) + post_chunked("/", n == 0 ? std::vector<std::string>{} : std::vector{text, text})); });
        EXPECT_TRUE(p.response() == "200 " + text) << n;
        EXPECT_TRUE(p.response() == "200 " + text + text) << n;
        sender.join();
    }
}
TEST(bodies, whoever_sends_without_reading_has_to_wait) {
    server_options options;
    options.limits.max_unsent_bytes = 100'000;
    router routes;
    routes.stream(method::post, "/", echo::start);
    served s(std::move(routes), options);
    raw_peer p(s.port());
    const std::string text = patterned(60'000'000);
    const std::string all = post("/", text);
    const std::size_t sent = p.send_until_stuck(all, 300);
    EXPECT_LT(sent, all.size());
    std::thread sender([&] { p.send(std::string_view(all).substr(sent)); });
    EXPECT_TRUE(p.response() == "200 " + text);
    sender.join();
    p.send(post("/", "small"));
    EXPECT_EQ(p.response(), "200 small");
}
TEST(bodies, what_was_sent_back_is_cut_off_when_the_request_is) {
    router routes;
    routes.stream(method::post, "/", echo::start);
    served s(std::move(routes));
    for (const std::string end : {"x\r\n", ""}) {
        raw_peer p(s.port());
        p.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" + end);
        if (end.empty()) p.finish_sending();
        const std::string all = p.rest();
        EXPECT_EQ(all.find("0\r\n\r\n"), std::string::npos);
    }
}

}  // namespace
}  // namespace wire::http
