// Responses that are sent in one call: text of any kind, redirects.
#include "wire/server/response.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"

namespace wire::http::response_test {

using testing::get;
using testing::raw_peer;
using testing::served;

// What the handler answers, its head below it.
std::string answer(handler h, const std::string& request, bool with_head = false) {
    served s(std::move(h));
    raw_peer p(s.port());
    p.send(request);
    const std::string text = p.response(request.starts_with("HEAD") ? method::head : method::get);
    return with_head ? text + "\n" + p.head_text : text;
}
bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

TEST(response, sends_text_of_any_kind) {
    const std::string kept = "kept string";
    const auto send = [&kept](response res) {
        const std::string_view path = res.request().path();
        if (path == "/literal") return res.send("literal");
        if (path == "/view") return res.send(std::string_view("view, cut").substr(0, 4));
        if (path == "/request/s") return res.send(path.substr(1));
        if (path == "/moved") return res.send("moved " + kept);
        if (path == "/own") {
            res.body() = "of its own body";
            return res.send(std::string_view(res.body()).substr(3));
        }
        res.send(kept);
    };
    served s(send);
    raw_peer p(s.port());
    for (const auto& [path, expected] :
         std::vector<std::pair<std::string, std::string>>{{"/literal", "literal"},
                                                          {"/view", "view"},
                                                          {"/request/s", "request/s"},
                                                          {"/moved", "moved kept string"},
                                                          {"/own", std::string("its own body")},
                                                          {"/kept", "kept string"},
                                                          {"/kept", "kept string"}}) {
        p.send(get(path));
        EXPECT_EQ(p.response(), "200 " + expected);
    }
}
TEST(response, sends_its_own_body_moved) {
    const auto send = [](response res) {
        res.body() = std::string(100, 'x');
        std::string& own = res.body();
        res.send(std::move(own));
    };
    EXPECT_EQ(answer(send, get("/")), "200 " + std::string(100, 'x'));
}
// What header() gives lies where the next field is written, and what set_header() removes.
TEST(response, takes_what_it_gave) {
    const std::string value(200, 'v');
    const auto made_of_itself = [&value](response res) {
        res.header("X-A", value);
        for (int i = 0; i < 20; ++i) res.header("X-Copy", *res.header("X-A"));
        res.header("X-Name", "X-Made").header(*res.header("X-Name"), *res.header("X-Name"));
        res.set_header("X-A", std::string_view(*res.header("X-A")).substr(150));
        res.header("X-Type", "text/css").content_type(*res.header("X-Type"));
        res.content_type(*res.header("Content-Type"));
        res.header("X-Gone", "1").header("X-Which", "X-Gone").remove_header(*res.header("X-Which"));
        res.send("x");
    };
    const std::string said = answer(made_of_itself, get("/"), true);
    std::size_t copies = 0;
    const std::string copy = "\r\nX-Copy: " + value + "\r\n";
    for (auto at = said.find(copy); at != std::string::npos; at = said.find(copy, at + 2)) ++copies;
    EXPECT_EQ(copies, 20U);
    EXPECT_TRUE(has(said, "\r\nX-A: " + value.substr(150) + "\r\n")) << said;
    EXPECT_TRUE(has(said, "\r\nX-Made: X-Made\r\n")) << said;
    EXPECT_TRUE(has(said, "\r\nContent-Type: text/css\r\n")) << said;
    EXPECT_FALSE(has(said, "X-Gone: ")) << said;
    EXPECT_TRUE(has(said, "\r\nX-Which: X-Gone\r\n")) << said;
}
TEST(response, redirects_to_what_it_gave) {
    const auto onwards = [](response res) {
        res.header("Location", "/nowhere").header("X-To", "/somewhere/else");
        res.redirect(*res.header("X-To"));
    };
    EXPECT_TRUE(has(answer(onwards, get("/"), true), "\r\nLocation: /somewhere/else\r\n"));
}
TEST(response, may_be_destroyed_by_its_hook) {
    std::unique_ptr<response> kept;
    served s([&](response res) {
        kept = std::make_unique<response>(std::move(res));
        kept->on_send([&](response& r) {
            kept.reset();
            r.header("X-Hook", "1");
        });
        kept->send("hello");
    });
    raw_peer p(s.port());
    for (int i = 0; i < 2; ++i) {
        p.send(get("/"));
        EXPECT_EQ(p.response(), "200 hello");
        EXPECT_TRUE(has(p.head_text, "\r\nX-Hook: 1\r\n")) << p.head_text;
    }
}
TEST(response, has_one_content_type) {
    const std::string said = answer(
        [](response res) {
            res.content_type("text/html").header("X-A", "1").content_type("text/css").send("x");
        },
        get("/"), true);
    EXPECT_TRUE(has(said, "\r\nContent-Type: text/css\r\n")) << said;
    EXPECT_TRUE(has(said, "\r\nX-A: 1\r\n")) << said;
    EXPECT_FALSE(has(said, "text/html")) << said;
}
TEST(response, redirects) {
    const auto to = [](std::string url, int status = 0) {
        return answer(
            [=](response res) {
                res.header("Location", "/not/here").body() = "dropped";
                status == 0 ? res.redirect(url) : res.redirect(url, status);
            },
            get("/"), true);
    };
    const std::string found = to("/there?x=1");
    EXPECT_EQ(found.substr(0, 5), "302 \n");
    EXPECT_TRUE(has(found, "\r\nLocation: /there?x=1\r\n")) << found;
    EXPECT_TRUE(has(found, "\r\nContent-Length: 0\r\n")) << found;
    EXPECT_FALSE(has(found, "/not/here")) << found;
    for (const int status : {301, 303, 307, 308}) {
        EXPECT_EQ(to("https://b/", status).substr(0, 3), std::to_string(status));
    }
    for (const int status : {200, 300, 304, 305, 306, 404}) {
        EXPECT_EQ(to("/x", status).substr(0, 3), "500") << status;
    }
    for (const auto* split : {"/\r\nSet-Cookie: a=b", "/\n", "/\r", "/\x01"}) {
        const std::string refused = to(split);
        EXPECT_EQ(refused.substr(0, 3), "500");
        EXPECT_FALSE(has(refused, "Set-Cookie") || has(refused, "Location")) << refused;
    }
}

}  // namespace wire::http::response_test
