#include "wire/server/router.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "raw_peer.hpp"
#include "served.hpp"

namespace wire::http {
namespace {

handler says(const std::string& name, std::vector<std::string> params = {}) {
    return [name, params](response res) {
        res.body() = name;
        for (const auto& p : params) res.body() += " " + p + "=" + std::string(res.request().param(p));
        res.send();
    };
}

class routes : public ::testing::Test {
protected:
    std::string ask(const std::string& line) {
        testing::raw_peer p(server->port());
        p.send(line + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        std::string said = p.response(line.substr(0, 5) == "HEAD " ? method::head : method::get).substr(8);  // without "(close) "
        const auto at = p.head_text.find("Allow: ");
        if (at != std::string::npos) said += " allow " + p.head_text.substr(at + 7, p.head_text.find('\r', at) - at - 7);
        return said;
    }
    void serve(router r) { server.emplace(std::move(r)); }
    std::optional<testing::served> server;
};

TEST_F(routes, by_path_and_method) {
    router r;
    r.get("/", says("root")).get("/a", says("get a")).post("/a", says("post a")).get("/a/b", says("a b")).get("/a/", says("slash"));
    serve(std::move(r));
    EXPECT_EQ(ask("GET /"), "200 root");
    EXPECT_EQ(ask("GET /?a=b"), "200 root");
    EXPECT_EQ(ask("GET /a"), "200 get a");
    EXPECT_EQ(ask("POST /a"), "200 post a");
    EXPECT_EQ(ask("GET /a/b"), "200 a b");
    EXPECT_EQ(ask("GET /a/"), "200 slash");
    EXPECT_EQ(ask("GET http://x/a"), "200 get a");
    for (const auto path : {"/b", "/A", "//", "/a//b", "/a/b/", "/a/b/c"}) EXPECT_EQ(ask(std::string("GET ") + path), "404 Not Found\n") << path;
}
TEST_F(routes, parameters) {
    router r;
    r.get("/u/{id}", says("user", {"id"})).get("/u/{id}/p/{post}", says("post", {"id", "post", "none"})).get("/u/me", says("me"));
    r.get("/f/{path...}", says("file", {"path"})).get("/f/{name}/raw", says("raw", {"name", "path"}));
    serve(std::move(r));
    EXPECT_EQ(ask("GET /u/7"), "200 user id=7");
    EXPECT_EQ(ask("GET /u/a%20b"), "200 user id=a%20b");
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
    r.get("/a", says("a")).put("/a", says("put")).post("/p", says("p")).get("/{x}", says("x")).del("/{x}", says("del"));
    serve(std::move(r));
    EXPECT_EQ(ask("DELETE /p"), "200 del");  // the other place that matches has it
    EXPECT_EQ(ask("PATCH /a"), "405 Method Not Allowed\n allow GET, HEAD, PUT, DELETE, OPTIONS");
    EXPECT_EQ(ask("BREW /a"), "405 Method Not Allowed\n allow GET, HEAD, PUT, DELETE, OPTIONS");
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
TEST(router, malformed_patterns) {
    router r;
    r.get("/a/{id}", says("x"));
    for (const auto bad : {"", "a", "/{}", "/{...}", "/{a}/{a}", "/{a...}/b", "/x{a}", "/{a}x", "/{a", "/a}", "/a/{other}"}) {
        EXPECT_THROW(r.get(bad, says("y")), std::invalid_argument) << bad;
    }
    EXPECT_THROW(r.add(method::other, "/", says("y")), std::invalid_argument);
}

}  // namespace
}  // namespace wire::http
