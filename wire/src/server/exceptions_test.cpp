// What peers are answered, and on_exception is told, when users' functions throw.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"
#include "wire/server/coroutine.hpp"

namespace wire::http::exceptions_test {

using namespace std::chrono_literals;
using testing::get;
using testing::post;
using testing::raw_peer;
using testing::served;

std::string message_of(const std::exception_ptr& why) {
    try {
        std::rethrow_exception(why);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "no std::exception";
    }
}

// Answers with what was thrown and where, and counts those that came without a response.
struct reporting {
    server_options options() {
        server_options o;
        o.metrics = counts;
        o.on_exception = [this](response res, std::exception_ptr why) {
            if (!res) {
                ++without_response;
                return;
            }
            const std::string path(res.request().path());
            res.status(503).content_type("text/x").send(path + ": " + message_of(why));
        };
        return o;
    }
    bool counted(int n) const {
        return counts->text().find("wire_exceptions_total " + std::to_string(n) + "\n") !=
               std::string::npos;
    }
    std::shared_ptr<metrics> counts = std::make_shared<metrics>();
    std::atomic<int> without_response{0};
};

std::string ask(std::uint16_t port, const std::string& request) {
    raw_peer p(port);
    p.send(request);
    return p.response();
}

TEST(exceptions, of_handlers_and_middleware_are_told_with_the_response) {
    router r;
    r.get("/plain", [](response res) {
        res.header("X-Secret", "1").content_type("text/html").body() = "half";
        throw std::runtime_error("no database");
    });
    r.get("/odd", [](response) { throw 7; });
    r.get("/deep", [](response res) {
        [](response inner) {
            if (inner) throw std::logic_error("deep");
        }(std::move(res));
    });
    r.before("/before", [](response&) { throw std::runtime_error("before"); });
    r.after("/after", [](response&) { throw std::runtime_error("after"); });
    r.get("/after", [](response res) { res.send("never seen"); });
    r.after([](response& res) { res.header("X-After", "1"); });
    reporting report;
    served s(std::move(r), report.options());
    raw_peer p(s.port());
    const auto expect = [&](const std::string& path, const std::string& answer) {
        p.send(get(path));
        EXPECT_EQ(p.response(), "503 " + path + ": " + answer);
        EXPECT_EQ(p.head_text.find("X-Secret"), std::string::npos);
        EXPECT_NE(p.head_text.find("Content-Type: text/x\r\n"), std::string::npos);
    };
    expect("/plain", "no database");
    EXPECT_NE(p.head_text.find("X-After"), std::string::npos);
    expect("/odd", "no std::exception");
    expect("/deep", "deep");
    expect("/before", "before");
    expect("/after", "after");
    EXPECT_EQ(report.without_response, 0);
    EXPECT_TRUE(report.counted(5)) << report.counts->text();
}
TEST(exceptions, of_coroutines_are_told_with_the_response) {
    router r;
    r.get("/at_once", [](response res) -> task<> {
        if (res) throw std::runtime_error("at once");
        co_return;
    });
    r.get("/late", [](response res) -> task<> {
        co_await sleep_for(res.loop(), 1ms);
        throw std::runtime_error("late");
    });
    r.get("/inner", [](response res) -> task<> {
        co_await [](response inner) -> task<> {
            co_await sleep_for(inner.loop(), 1ms);
            throw std::runtime_error("inner");
        }(std::move(res));
    });
    r.get("/caught", [](response res) -> task<> {
        event_loop& loop = res.loop();
        try {
            response local = std::move(res);
            throw std::runtime_error("nobody's business");
        } catch (const std::exception&) {}
        co_await sleep_for(loop, 1ms);
    });
    reporting report;
    served s(std::move(r), report.options());
    raw_peer p(s.port());
    for (const std::string path : {"/at_once", "/late", "/inner"}) {
        p.send(get(path));
        EXPECT_EQ(p.response().substr(0, 5 + path.size()), "503 " + path + ":") << path;
    }
    p.send(get("/caught"));
    EXPECT_EQ(p.response(), "500 Internal Server Error\n");
    EXPECT_EQ(report.without_response, 0);
    EXPECT_TRUE(report.counted(3)) << report.counts->text();
}
TEST(exceptions, of_a_handler_that_opens_a_session_close_it) {
    reporting report;
    std::atomic<int> status{0};
    server_options options = report.options();
    options.on_finished = [&](const access_record& r) { status = r.status; };
    router r;
    r.websocket("/", [](ws::session&, const request&) { throw std::runtime_error("no"); });
    served s(std::move(r), options);
    raw_peer p(s.port());
    p.send(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    std::string head;
    for (std::string c; !head.ends_with("\r\n\r\n") && !(c = p.exactly(1)).empty();) head += c;
    EXPECT_EQ(head.substr(0, 12), "HTTP/1.1 101");
    EXPECT_EQ(p.exactly(4), "\x88\x02\x03\xF3");  // 1011
    EXPECT_EQ(report.without_response, 1);
    EXPECT_TRUE(report.counted(1)) << report.counts->text();
    EXPECT_EQ(status, 0);  // the session is logged when its connection has ended
    p.finish_sending();
    for (int i = 0; i < 1000 && status == 0; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(status, 101);
}
TEST(exceptions, that_the_handler_catches_are_its_own) {
    reporting report;
    served s(
        [](response res) {
            try {
                const response mine = std::move(res);
                throw std::runtime_error("caught");
            } catch (const std::exception&) {}
        },
        report.options());
    raw_peer p(s.port());
    p.send(get("/a") + get("/b"));
    EXPECT_EQ(p.response(), "500 Internal Server Error\n");
    EXPECT_EQ(p.response(), "500 Internal Server Error\n");
    EXPECT_TRUE(report.counted(0));
}
TEST(exceptions, come_without_a_response_that_is_elsewhere) {
    std::vector<response> kept;
    reporting report;
    served s(
        [&kept](response res) {
            if (res.request().path() == "/keep") {
                kept.push_back(std::move(res));
            } else {
                res.send("sent");
                if (!kept.empty() && kept.back()) kept.back().send("kept");
            }
            throw std::runtime_error("afterwards");
        },
        report.options());
    raw_peer a(s.port());
    a.send(get("/keep"));
    EXPECT_EQ(ask(s.port(), get("/")).substr(0, 8), "200 sent");
    // Whichever was handled first.
    ask(s.port(), get("/"));
    EXPECT_EQ(a.response(), "200 kept");
    s.stop();
    EXPECT_EQ(report.without_response, 3);
}
TEST(exceptions, of_a_bodys_callbacks_are_told_and_stop_the_reading) {
    router r;
    r.stream(method::post, "/piece", [](response res, body_reader in) {
        in.read([](std::string_view) { throw std::runtime_error("piece"); },
                [res = std::move(res)](errc) mutable { res.send("never"); });
    });
    r.stream(method::post, "/end", [](response res, body_reader in) {
        in.read([](std::string_view) {},
                [res = std::move(res)](errc) { throw std::runtime_error("end"); });
    });
    reporting report;
    served s(std::move(r), report.options());
    EXPECT_EQ(ask(s.port(), post("/piece", "x")), "(close) 503 /piece: piece");
    EXPECT_EQ(ask(s.port(), post("/end", "x")), "503 /end: end");
    EXPECT_TRUE(report.counted(2)) << report.counts->text();
}
// The response that it has destroyed is answered for before the next callback, which would have
// been given the body of just this request.
TEST(exceptions, that_a_handler_has_caught_end_its_body) {
    std::atomic<int> calls{0};
    router r;
    r.stream(method::post, "/", [&](response res, body_reader in) {
        in.read([&](std::string_view) { ++calls; }, [&](errc) { ++calls; });
        try {
            const response mine = std::move(res);
            if (mine) throw std::runtime_error("caught");
        } catch (const std::runtime_error&) {}
    });
    reporting report;
    served s(std::move(r), report.options());
    EXPECT_EQ(ask(s.port(), post("/", "body")), "(close) 500 Internal Server Error\n");
    s.stop();
    EXPECT_EQ(calls, 0);
}
TEST(exceptions, of_a_writers_callbacks_leave_the_server_running) {
    std::atomic<bool> closed{false};
    std::optional<body_writer> out;  // the loop's
    reporting report;
    served s(
        [&](response res) {
            if (res.request().path() == "/") return res.send("here");
            out = res.start_body();
            out->on_closed([&] {
                closed = true;
                throw std::runtime_error("closed");
            });
        },
        report.options());
    {
        raw_peer p(s.port());
        p.send(get("/stream"));
        p.exactly(20);
        p.reset();
    }
    for (int i = 0; i < 5000 && !closed; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(closed);
    EXPECT_EQ(ask(s.port(), get("/")), "200 here");
    EXPECT_EQ(report.without_response, 1);
}
TEST(exceptions, of_a_hook_close_the_body_that_is_not_sent) {
    std::atomic<bool> closed{false};
    std::optional<body_writer> out;  // the loop's
    reporting report;
    served s(
        [&](response res) {
            res.on_send([](response&) { throw std::runtime_error("hook"); });
            out = res.start_body();
            EXPECT_FALSE(out->is_open());
            out->on_closed([&] { closed = true; });
        },
        report.options());
    EXPECT_EQ(ask(s.port(), get("/x")), "503 /x: hook");
    s.stop();
    EXPECT_TRUE(closed);
}
TEST(exceptions, answer_500_where_on_exception_drops_the_response_or_throws) {
    for (const bool throws : {false, true}) {
        server_options options;
        options.error_pages.set(500, "text/html", "<p>Ours</p>");
        options.on_exception = [throws](response, std::exception_ptr) {
            if (throws) throw std::runtime_error("again");
        };
        served s([](response) { throw std::runtime_error("once"); }, std::move(options));
        raw_peer p(s.port());
        p.send(get("/") + get("/"));
        EXPECT_EQ(p.response(), "500 <p>Ours</p>");
        EXPECT_EQ(p.response(), "500 <p>Ours</p>");
    }
}
// A pool's function that lets one pass would end the program.
TEST(exceptions, on_threads_of_a_pool_end_in_the_router) {
    blocking_pool pool(1);  // in order, so that all were told when the last request is answered
    for (const bool behind_next : {true, false}) {
        router r;
        r.get("/throws", [](response) { throw std::runtime_error("handler"); });
        r.get("/fine", [](response res) { res.send("fine"); });
        if (behind_next) {
            r.around([&pool](response res, next go_on) {
                pool.run([res = std::move(res), go_on]() mutable { go_on(std::move(res)); });
            });
            r.before("/fine/not", [](response&) { throw std::runtime_error("middleware"); });
        }
        reporting report;
        served s(
            [&](response res) {
                if (behind_next) return r(std::move(res));
                pool.run([&r, res = std::move(res)]() mutable { r(std::move(res)); });
            },
            report.options());
        EXPECT_EQ(ask(s.port(), get("/throws")), "500 Internal Server Error\n");
        EXPECT_EQ(ask(s.port(), get("/fine/not")),
                  behind_next ? "500 Internal Server Error\n" : "404 Not Found\n");
        EXPECT_EQ(ask(s.port(), get("/fine")), "200 fine");
        s.stop();
        EXPECT_EQ(report.without_response, behind_next ? 2 : 1);
        EXPECT_TRUE(report.counted(behind_next ? 2 : 1)) << report.counts->text();
    }
}
TEST(exceptions, are_counted_without_on_exception) {
    reporting report;
    server_options options;
    options.metrics = report.counts;
    served s([](response) { throw std::runtime_error("lost"); }, std::move(options));
    EXPECT_EQ(ask(s.port(), get("/")), "500 Internal Server Error\n");
    EXPECT_TRUE(report.counted(1));
}
// It is asked before there is a response.
TEST(exceptions, of_plan_body_are_told_without_one) {
    for (const bool told : {true, false}) {
        reporting report;
        server_options options = told ? report.options() : server_options();
        options.metrics = report.counts;
        options.plan_body = [](const request& r) -> body_plan {
            if (r.path() == "/odd") throw std::runtime_error("no plan");
            return {};
        };
        const auto echo = [](response res) { res.send(std::string(res.request().body())); };
        served s(echo, std::move(options));
        EXPECT_EQ(ask(s.port(), post("/odd", "abc")), "(close) 500 Internal Server Error\n");
        EXPECT_EQ(ask(s.port(),
                      "POST /odd HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
                      "Expect: 100-continue\r\n\r\n"),
                  "(close) 500 Internal Server Error\n");
        EXPECT_EQ(ask(s.port(), post("/", "abc")), "200 abc");
        s.stop();
        EXPECT_EQ(report.without_response, told ? 2 : 0);
        EXPECT_TRUE(report.counted(2)) << report.counts->text();
    }
}

}  // namespace wire::http::exceptions_test
