#include "wire/server/error_pages.hpp"

#include <gtest/gtest.h>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/server/router.hpp"

namespace wire::http::error_pages_test {

TEST(error_pages, the_status_before_its_class) {
    error_pages pages;
    pages.set(4, "a", "class").set(404, "b", "one").set(404, "b", "two");
    ASSERT_NE(pages.find(404), nullptr);
    EXPECT_EQ(pages.find(404)->body, "two");
    EXPECT_EQ(pages.find(400)->body, "class");
    EXPECT_EQ(pages.find(500), nullptr);
}
TEST(error_pages, for_what_the_library_refuses_and_nothing_else) {
    server_options options;
    options.error_pages.set(4, "text/html", "<p>four</p>")
        .set(404, "application/json", "{}")
        .set(500, "text/html", "")
        .set(505, "text/x", "505");
    options.limits.header_timeout = std::chrono::milliseconds(50);
    router r;
    r.get("/forget", [](response res) { res.content_type("image/png").header("X", "y"); });
    r.get("/own", [](response res) { res.status(404).send("mine"); });
    r.websocket("/ws", [](ws::session&, const request&) {});
    testing::served s(std::move(r), options);
    const auto ask = [&](const std::string& text, method m = method::get) {
        testing::raw_peer p(s.port());
        p.send(text);
        const std::string said = p.response(m);
        const auto at = p.head_text.find("Content-Type: ");
        return said +
               (at == std::string::npos
                    ? ""
                    : " " + p.head_text.substr(at + 14, p.head_text.find('\r', at) - at - 14));
    };
    const std::string host = " HTTP/1.1\r\nHost: a\r\n\r\n";
    EXPECT_EQ(ask("GET /none" + host), "404 {} application/json");
    EXPECT_EQ(ask("HEAD /none" + host, method::head), "404  application/json");
    EXPECT_EQ(ask("PUT /own" + host), "405 <p>four</p> text/html");
    EXPECT_EQ(ask("GET /own" + host), "404 mine text/plain; charset=utf-8");
    EXPECT_EQ(ask("GET /forget" + host), "500  text/html");
    EXPECT_EQ(ask("GET /ws" + host), "426 <p>four</p> text/html");
    EXPECT_EQ(ask("GET /" + std::string(9000, 'a') + host), "(close) 414 <p>four</p> text/html");
    EXPECT_EQ(ask("GET / HTTP/1.1\r\n\r\n"), "(close) 400 <p>four</p> text/html");
    EXPECT_EQ(ask("GET / HTTP/3.0\r\n\r\n"), "(close) 505 505 text/x");
    EXPECT_EQ(ask("GET / HT"), "(close) 408 <p>four</p> text/html");
    EXPECT_EQ(ask("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x, chunked\r\n\r\n"),
              "(close) 501 unknown transfer coding\n text/plain; charset=utf-8");
}
TEST(error_pages, what_may_not_be_set) {
    for (const int number : {0, 3, 6, 200, 399, 600}) {
        server_options options;
        options.error_pages.set(number, "text/plain", "");
        EXPECT_EQ(server::listen(0, [](response) {}, options).code(), errc::bad_argument) << number;
    }
    server_options options;
    options.error_pages.set(404, "text/plain\r\nX: y", "");
    EXPECT_EQ(server::listen(0, [](response) {}, options).code(), errc::bad_argument);
}

}  // namespace wire::http::error_pages_test
