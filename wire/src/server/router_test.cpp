#include "wire/server/router.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <stdexcept>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"

namespace wire::http::router_test {

handler says(const std::string& name, std::vector<std::string> params = {}) {
    return [name, params](response res) {
        res.body() = name;
        for (const auto& p : params)
            res.body() += " " + p + "=" + std::string(res.request().param(p));
        res.send();
    };
}

class routes : public ::testing::Test {
protected:
    std::string ask(const std::string& line) {
        testing::raw_peer p(server->port());
        p.send(line + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        // Without "(close) ".
        std::string said =
            p.response(line.substr(0, 5) == "HEAD " ? method::head : method::get).substr(8);
        const auto at = p.head_text.find("Allow: ");
        if (at != std::string::npos)
            said += " allow " + p.head_text.substr(at + 7, p.head_text.find('\r', at) - at - 7);
        return said;
    }
    void serve(router r) { server.emplace(std::move(r)); }
    std::optional<testing::served> server;
};

TEST_F(routes, by_path_and_method) {
    router r;
    r.get("/", says("root"))
        .get("/a", says("get a"))
        .post("/a", says("post a"))
        .get("/a/b", says("a b"))
        .get("/a/", says("slash"));
    serve(std::move(r));
    EXPECT_EQ(ask("GET /"), "200 root");
    EXPECT_EQ(ask("GET /?a=b"), "200 root");
    EXPECT_EQ(ask("GET /a"), "200 get a");
    EXPECT_EQ(ask("POST /a"), "200 post a");
    EXPECT_EQ(ask("GET /a/b"), "200 a b");
    EXPECT_EQ(ask("GET /a/"), "200 slash");
    EXPECT_EQ(ask("GET http://x/a"), "200 get a");
    for (const auto path : {"/b", "/A", "//", "/a//b", "/a/b/", "/a/b/c"})
        EXPECT_EQ(ask(std::string("GET ") + path), "404 Not Found\n") << path;
}
TEST_F(routes, parameters) {
    router r;
    r.get("/u/{id}", says("user", {"id"}))
        .get("/u/{id}/p/{post}", says("post", {"id", "post", "none"}))
        .get("/u/me", says("me"));
    r.get("/f/{path...}", says("file", {"path"}))
        .get("/f/{name}/raw", says("raw", {"name", "path"}));
    serve(std::move(r));
    EXPECT_EQ(ask("GET /u/7"), "200 user id=7");
    EXPECT_EQ(ask("GET /u/a%20b"), "200 user id=a b");  // decoded, once
    EXPECT_EQ(ask("GET /u/a%2520b"), "200 user id=a%20b");
    EXPECT_EQ(ask("GET /u/me"), "200 me");
    EXPECT_EQ(ask("GET /u/me/p/3"), "200 post id=me post=3 none=");  // back from the fixed segment
    EXPECT_EQ(ask("GET /u/"), "404 Not Found\n");
    EXPECT_EQ(ask("GET /f/a/b/c"), "200 file path=a/b/c");
    EXPECT_EQ(ask("GET /f/"), "200 file path=");
    EXPECT_EQ(ask("GET /f"), "404 Not Found\n");
    EXPECT_EQ(ask("GET /f/x/raw"), "200 raw name=x path=");
    EXPECT_EQ(ask("GET /f/x/other"), "200 file path=x/other");
}
TEST_F(routes, methods_that_are_not_there) {
    router r;
    r.get("/a", says("a"))
        .put("/a", says("put"))
        .post("/p", says("p"))
        .get("/{x}", says("x"))
        .del("/{x}", says("del"));
    serve(std::move(r));
    EXPECT_EQ(ask("DELETE /p"), "200 del");  // the other place that matches has it
    EXPECT_EQ(ask("PATCH /a"), "405 Method Not Allowed\n allow GET, HEAD, PUT, DELETE, OPTIONS");
    EXPECT_EQ(ask("TRACE /a"), "405 Method Not Allowed\n allow GET, HEAD, PUT, DELETE, OPTIONS");
    for (const auto unknown : {"BREW /a", "get /a", "BREW /a/b"})
        EXPECT_EQ(ask(unknown), "501 Not Implemented\n");
    EXPECT_EQ(ask("HEAD /a"), "200 ");
    EXPECT_EQ(ask("OPTIONS /p"), "204  allow GET, HEAD, POST, DELETE, OPTIONS");
    EXPECT_EQ(ask("OPTIONS *"), "204 ");
    EXPECT_EQ(ask("OPTIONS /a/b"), "404 Not Found\n");
}
TEST_F(routes, own_handlers_for_the_rest) {
    router r;
    r.add(method::options, "/a", says("options")).add(method::head, "/a", says("head"));
    r.otherwise([](response res) { res.status(410).send("gone"); });
    serve(std::move(r));
    EXPECT_EQ(ask("OPTIONS /a"), "200 options");
    EXPECT_EQ(ask("GET /b"), "410 gone");
    EXPECT_EQ(ask("GET /a"), "405 Method Not Allowed\n allow HEAD, OPTIONS");
}
TEST_F(routes, the_later_of_two_equal_ones_counts) {
    router r;
    r.get("/a", says("one")).get("/a", says("two"));
    serve(std::move(r));
    EXPECT_EQ(ask("GET /a"), "200 two");
}
// ---- middleware ----

// "name(" on the way in, ")name" on the way out.
struct trace {
    std::mutex mutex;
    std::string text;
    void add(const std::string& s) {
        const std::lock_guard lock(mutex);
        text += s;
    }
    std::string take() {
        const std::lock_guard lock(mutex);
        return std::exchange(text, {});
    }
};

TEST_F(routes, middleware_in_the_order_of_adding) {
    trace t;
    router r;
    r.after([&](response& res) {
        t.add(")1");
        res.header("X", "after");
    });
    r.before([&](response&) { t.add("2"); });
    r.around("/a", [&](response res, next go_on) {
        t.add("3(");
        res.on_send([&](response&) { t.add(")3"); });
        go_on(std::move(res));
    });
    r.after("/a/", [&](response&) { t.add(")4"); });
    r.before("/a/b", [&](response& res) { t.add("5:" + std::string(res.request().param("id"))); });
    r.get("/a", says("a")).get("/ab", says("ab")).get("/a/b/{id}", [&](response res) {
        t.add("!");
        res.send("id");
    });
    serve(std::move(r));
    EXPECT_EQ(ask("GET /a/b/7"), "200 id");
    EXPECT_EQ(t.take(), "23(5:7!)4)3)1");
    EXPECT_EQ(ask("GET /a"), "200 a");
    EXPECT_EQ(t.take(), "23()4)3)1");
    EXPECT_EQ(ask("GET /ab"), "200 ab");
    EXPECT_EQ(t.take(), "2)1");
    EXPECT_EQ(ask("GET /a/none"), "404 Not Found\n");
    EXPECT_EQ(t.take(), "23()4)3)1");
    EXPECT_EQ(ask("PUT /a"), "405 Method Not Allowed\n allow GET, HEAD, OPTIONS");
    EXPECT_EQ(t.take(), "23()4)3)1");
}
TEST_F(routes, before_may_answer_by_itself) {
    router r;
    std::atomic<int> reached = 0;
    r.before([](response& res) { res.header("X-Request", "1"); });
    r.before("/private", [](response& res) {
        if (!res.request().header("Authorization"))
            res.status(401).header("WWW-Authenticate", "Basic").send("who?");
    });
    r.get("/private/{x...}", [&](response res) {
        ++reached;
        res.send("in");
    });
    serve(std::move(r));
    testing::raw_peer p(server->port());
    p.send("GET /private/x HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "401 who?");
    EXPECT_NE(p.head_text.find("X-Request: 1\r\n"), std::string::npos);
    EXPECT_EQ(reached, 0);
    p.send("GET /private/x HTTP/1.1\r\nHost: a\r\nAuthorization: Basic x\r\n\r\n");
    EXPECT_EQ(p.response(), "200 in");
    // No way round it.
    p.send("GET /%70rivate/x HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(p.response(), "401 who?");
    EXPECT_NE(p.head_text.find("X-Request: 1\r\n"), std::string::npos);
    EXPECT_EQ(reached, 1);
}
TEST_F(routes, one_path_for_routes_and_middleware) {
    router r;
    const auto guard = [](response& res) { res.status(401).send("guarded"); };
    auto mounted = r.group("/m%6Funt");
    mounted.group("/private").before(guard);
    mounted.get("/{path...}", says("file", {"path"}));
    r.before("/a b//", guard).before("/caf\xC3\xA9", guard);
    r.get("/ech%6F", says("echo")).get("/x/{id}", says("x", {"id"})).get("/a%20b/c", says("c"));
    r.get("/caf%C3%A9/{x...}", says("caf")).get("/{any...}", says("any", {"any"}));
    r.websocket("/w%73", [](ws::session&, const request&) {});
    serve(std::move(r));
    EXPECT_EQ(ask("GET /echo"), "200 echo");
    EXPECT_EQ(ask("GET /%65cho?%zz"), "200 echo");
    EXPECT_EQ(ask("GET http://a/%65cho"), "200 echo");
    EXPECT_EQ(ask("GET /ws"), "426 This is a WebSocket.\n");
    EXPECT_EQ(ask("GET /%77s"), "426 This is a WebSocket.\n");
    EXPECT_EQ(ask("GET /x/%C3%A9%3F%5C"), "200 x id=\xC3\xA9?\\");
    EXPECT_EQ(ask("GET /mount/privateer"), "200 file path=privateer");
    EXPECT_EQ(ask("GET /mount/a%2520b"), "200 file path=a%20b");
    EXPECT_EQ(ask("GET /mount/private%252Fx"), "200 file path=private%2Fx");
    for (const std::string path :
         {"/mount/private", "/mount/private/", "/mount/private/x", "/mount/%70rivate/x",
          "/m%6funt/privat%65", "//mount/private/x", "/mount//private/x", "/mount///private//x",
          "//mount/private", "/a%20b/c", "//a%20b", "/caf%c3%a9/x", "http://a/mount/%70rivate"}) {
        EXPECT_EQ(ask("GET " + path), "401 guarded") << path;
    }
    for (const std::string path :
         {"/mount/private%2fx", "/mount%2Fprivate/x", "/mount/./private/x", "/mount/%2e/private/x",
          "/mount/y/../private/x", "/mount/y/%2E%2e/private/x", "/mount/private%00", "/%zz", "/%",
          "/mount/private/.."}) {
        EXPECT_EQ(ask("GET " + path), "400 malformed request target\n") << path;
    }
    EXPECT_EQ(ask("GET //echo"), "200 any any=/echo");  // empty segments count for routes
}
TEST_F(routes, the_target_stays_as_it_came) {
    router r;
    r.get("/{x}", [](response res) {
        const request& q = res.request();
        res.send(std::string(q.target()) + " " + std::string(q.path()) + " " +
                 std::string(q.query()) + " " + std::string(q.authority()));
    });
    serve(std::move(r));
    EXPECT_EQ(ask("GET /%61%20?b=%63"), "200 /%61%20?b=%63 /a  b=%63 a");
}
TEST_F(routes, after_sees_and_changes_all) {
    router r;
    r.after([](response& res) {
        const std::string seen = std::to_string(res.status()) +
                                 std::string(res.header("x-a").value_or("-")) +
                                 std::string(res.header("X-B").value_or("-"));
        if (res.request().path() == "/bad") return void(res.header("X", "a\nb"));
        if (res.request().path() == "/throw") throw std::runtime_error("no");
        res.status(203).set_header("X-A", "new").remove_header("X-B").remove_header("content-type");
        res.body() = seen + res.body();
    });
    r.get("/", [](response res) {
        res.header("X-A", "1")
            .header("X-B", "2")
            .header("x-a", "3")
            .header("X-C", "4")
            .content_type("text/html")
            .status(201)
            .send("x");
    });
    r.get("/forget", [](response) {});
    r.get("/split", [](response res) { res.header("X", "a\rb").send("x"); });
    r.get("/bad", says("bad")).get("/throw", says("throw"));
    serve(std::move(r));
    testing::raw_peer p(server->port());
    const auto get = [&](const std::string& path) {
        p.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
        return p.response();
    };
    EXPECT_EQ(get("/"), "203 20112x");
    EXPECT_NE(p.head_text.find("X-C: 4\r\nX-A: new\r\nContent-Type: text/plain; charset=utf-8\r\n"),
              std::string::npos)
        << p.head_text;
    EXPECT_EQ(p.head_text.find("X-B"), std::string::npos);
    EXPECT_EQ(get("/forget"), "203 500--Internal Server Error\n");
    EXPECT_EQ(get("/split"), "203 500--Internal Server Error\n");
    EXPECT_EQ(get("/bad"), "500 Internal Server Error\n");
    EXPECT_EQ(get("/throw"), "500 Internal Server Error\n");
    EXPECT_EQ(get("/none"), "203 404--Not Found\n");
}
TEST_F(routes, around_may_go_on_later_and_elsewhere) {
    blocking_pool pool(2);
    router r;
    r.around([&pool](response res, next go_on) {
        pool.run([&pool, res = std::move(res), go_on]() mutable {
            res.on_send([&pool](response& sent) {  // as may what is done after
                pool.run([sent = std::move(sent)]() mutable {
                    sent.body() += " later";
                    sent.send();
                });
            });
            go_on(std::move(res));
        });
    });
    r.after([](response& res) { res.body() += " inner"; });
    r.get("/{x}", says("x", {"x"}));
    serve(std::move(r));
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(ask("GET /" + std::to_string(i)),
                  "200 x x=" + std::to_string(i) + " inner later");
}
TEST_F(routes, next_outlives_the_server) {
    std::promise<std::pair<response, next>> kept;
    router r;
    r.after([](response& res) { res.body() += "after"; });
    r.around([&](response res, next go_on) { kept.set_value({std::move(res), std::move(go_on)}); });
    r.get("/", says("x"));
    server_options options;
    options.drain_timeout = std::chrono::milliseconds(50);
    server.emplace(std::move(r), options);
    testing::raw_peer p(server->port());
    p.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    auto [res, go_on] = kept.get_future().get();
    server.reset();
    go_on(std::move(res));
}
TEST_F(routes, parameters_outlive_the_server) {
    // Too long to lie in a string itself.
    const std::string outer = "all that follows the first segment";
    const std::string inner = "the number of the thing that is asked for";
    std::promise<response> kept;
    router r;
    auto below = std::make_shared<router>();
    below->get("/things/{" + inner + "}", [&](response res) { kept.set_value(std::move(res)); });
    r.get("/things/{" + outer + "...}", [below](response res) { (*below)(std::move(res)); });
    below.reset();
    server_options options;
    options.drain_timeout = std::chrono::milliseconds(50);
    server.emplace(std::move(r), options);
    testing::raw_peer p(server->port());
    p.send("GET /things/seven HTTP/1.1\r\nHost: a\r\n\r\n");
    const response res = kept.get_future().get();
    server.reset();
    EXPECT_EQ(res.request().param(outer), "seven");
    EXPECT_EQ(res.request().param(inner), "seven");
    EXPECT_EQ(res.request().param("another"), "");
}
TEST_F(routes, groups) {
    trace t;
    router r;
    auto api = r.group("/api");
    api.before([&](response&) { t.add("api "); })
        .get("/a", says("a"))
        .put("/a", says("put"))
        .post("/p", says("post"))
        .patch("/p", says("patch"))
        .del("/p", says("del"));
    auto inner = api.group("/in");
    inner.after([&](response&) { t.add("in "); })
        .around([](response res, next n) { n(std::move(res)); })
        .get("/{x}", says("x", {"x"}));
    r.get("/a", says("outside"));
    serve(std::move(r));
    EXPECT_EQ(ask("GET /a"), "200 outside");
    EXPECT_EQ(t.take(), "");
    EXPECT_EQ(ask("PUT /api/a"), "200 put");
    EXPECT_EQ(ask("DELETE /api/p"), "200 del");
    EXPECT_EQ(t.take(), "api api ");
    EXPECT_EQ(ask("GET /api/in/1"), "200 x x=1");
    EXPECT_EQ(t.take(), "api in ");
}
TEST_F(routes, websocket_behind_middleware) {
    router r;
    std::atomic<int> hooks = 0;
    r.after([&](response&) { ++hooks; });
    r.before("/ws", [](response& res) {
        if (res.request().query() != "token") res.status(403).send("no");
    });
    r.websocket("/ws", [](ws::session& s, const request&) { s.send("hello"); });
    serve(std::move(r));
    const auto handshake = [](const std::string& target) {
        return "GET " + target +
               " HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: "
               "Upgrade\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    };
    testing::raw_peer p(server->port());
    p.send(handshake("/ws"));
    EXPECT_EQ(p.response(), "403 no");
    p.send(handshake("/ws?token"));
    EXPECT_EQ(p.response(), "101 ");
    EXPECT_EQ(p.exactly(7), "\x81\x05hello");
    EXPECT_EQ(hooks, 1);
}
TEST(router, malformed_prefixes) {
    router r;
    for (const auto bad : {"", "a", "/{a}", "/a/{b...}", "/a/..", "/%zz", "/a%2Fb"})
        EXPECT_THROW(r.before(bad, [](response&) {}), std::invalid_argument) << bad;
}
TEST(router, malformed_patterns) {
    router r;
    r.get("/a/{id}", says("x"));
    for (const auto bad : {"", "a", "/{}", "/{...}", "/{a}/{a}", "/{a...}/b", "/x{a}", "/{a}x",
                           "/{a", "/a}", "/a/{other}", "/a/../b", "/100%", "/a%2Fb"}) {
        EXPECT_THROW(r.get(bad, says("y")), std::invalid_argument) << bad;
    }
    EXPECT_THROW(r.add(method::other, "/", says("y")), std::invalid_argument);
}

}  // namespace wire::http::router_test
