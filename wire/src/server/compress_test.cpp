#include "wire/server/compress.hpp"

#include <gtest/gtest.h>

#include "compressed.hpp"
#include "wire/proto/conditional.hpp"

namespace wire::http::compress_test {

struct compressed_responses : testing::compressed {
    compressed_responses() {
        for (int i = 0; i < 100; ++i) whole += "line " + std::to_string(i) + "\n";
        router r;
        r.after(compress({.min_bytes = 100}));
        r.get("/text", [this](response res) {
            res.header("ETag", "\"x\"").header("Accept-Ranges", "bytes").send(whole);
        });
        r.get("/later", [this](response res) {
            pool.run([this, res = std::move(res)]() mutable {
                res.header("ETag", "W/\"x\"").send(whole);
            });
        });
        r.get("/small", [](response res) { res.send("small"); });
        r.get("/random", [](response res) { res.send(testing::noise(500)); });
        r.get("/type",
              [this](response res) { res.content_type(res.request().query()).send(whole); });
        r.get("/encoded",
              [this](response res) { res.header("content-encoding", "compress").send(whole); });
        r.get("/part", [this](response res) { res.status(206).send(whole); });
        r.get("/as-is", [this](response res) {
            res.header("Cache-Control", "max-age=1, No-Transform").send(whole);
        });
        r.get("/as-is-twice", [this](response res) {
            res.header("Cache-Control", "max-age=1").header("Cache-Control", "no-transform");
            res.send(whole);
        });
        r.get("/vary",
              [this](response res) { res.header("Vary", "Cookie, Accept-Encoding").send(whole); });
        r.get("/none", [](response res) { res.status(204).send(); });
        r.get("/tagged", [this](response res) {
            res.header("ETag", "\"x\"");
            const request& asked = res.request();
            if (check_preconditions(asked.headers(), asked.method(), {.etag = "\"x\""}) ==
                precondition::not_modified)
                return res.status(304).send();
            res.send(whole);
        });
        // A 304 is sent before the type is known.
        r.get("/tagged/{kind}", [this](response res) {
            res.header("ETag", "\"x\"");
            const request& asked = res.request();
            if (check_preconditions(asked.headers(), asked.method(), {.etag = "\"x\""}) ==
                precondition::not_modified)
                return res.status(304).send();
            if (asked.param("kind") == "image") res.content_type("image/png");
            res.send(asked.param("kind") == "small" ? std::string_view("small") : whole);
        });
        server.emplace(std::move(r));
    }
};

TEST_F(compressed_responses, as_the_client_asks) {
    EXPECT_EQ(ask("/text"), "gzip|Accept-Encoding|W/\"x\"|whole");
    EXPECT_EQ(ask("/text", "deflate"), "deflate|Accept-Encoding|W/\"x\"|whole");
    EXPECT_EQ(ask("/text", "compress, gzip;q=0.2"), "gzip|Accept-Encoding|W/\"x\"|whole");
    EXPECT_EQ(ask("/text", "gzip;q=0"), "Accept-Encoding|\"x\"|bytes|whole");
    EXPECT_EQ(ask("/text", ""), "Accept-Encoding|\"x\"|bytes|whole");
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ask("/later"), "gzip|Accept-Encoding|W/\"x\"|whole");
}
TEST_F(compressed_responses, head_says_what_get_would) {
    EXPECT_EQ(ask("/text"), "gzip|Accept-Encoding|W/\"x\"|whole");
    const std::string of_get = field("Content-Length");
    EXPECT_EQ(ask("/text", "gzip", method::head), "gzip|Accept-Encoding|W/\"x\"|");
    EXPECT_EQ(field("Content-Length"), of_get);
}
// RFC 9110 section 15.4.5; by a strong tag, caches would look for a response that they never got.
TEST_F(compressed_responses, a_304_has_the_tag_of_its_200) {
    for (const std::string accept : {"gzip", "identity"}) {
        ask("/tagged", accept);
        const std::string tag = field("ETag");
        EXPECT_EQ(tag, accept == "gzip" ? "W/\"x\"" : "\"x\"");
        EXPECT_EQ(ask("/tagged", accept + "\r\nIf-None-Match: " + tag),
                  "Accept-Encoding|" + tag + "|");
    }
}
TEST_F(compressed_responses, a_304_without_a_type_has_the_tag_that_its_client_has) {
    for (const std::string target : {"/tagged/image", "/tagged/small", "/tagged/text"}) {
        for (const method m : {method::get, method::head}) {
            ask(target, "gzip", m);
            const std::string tag = field("ETag");
            const std::string vary = field("Vary");
            EXPECT_EQ(tag, target == "/tagged/text" ? "W/\"x\"" : "\"x\"");
            for (const std::string& named :
                 {tag, "\"a\", " + tag, "\"a\"\r\nIf-None-Match: " + tag}) {
                ask(target, "gzip\r\nIf-None-Match: " + named, m);
                EXPECT_EQ(head.substr(9, 3), "304");
                EXPECT_EQ(field("ETag"), tag) << target << " " << named;
                EXPECT_EQ(field("Vary"), vary) << target << " " << named;
            }
        }
    }
    // Not known: as for a text.
    for (const std::string named : {"*", "\"x\", W/\"x\""})
        EXPECT_EQ(ask("/tagged/image", "gzip\r\nIf-None-Match: " + named),
                  "Accept-Encoding|W/\"x\"|");
}
TEST_F(compressed_responses, what_is_left_alone) {
    EXPECT_EQ(ask("/small"), "small");
    EXPECT_EQ(ask("/random").substr(0, 16), "Accept-Encoding|");  // would not shrink
    EXPECT_EQ(ask("/type?image/png"), "whole");
    EXPECT_EQ(ask("/encoded").find("gzip"), std::string::npos);
    EXPECT_EQ(ask("/part"), "whole");
    EXPECT_EQ(ask("/as-is"), "whole");
    EXPECT_EQ(ask("/as-is-twice"), "whole");
    EXPECT_EQ(ask("/none"), "");
}
TEST_F(compressed_responses, types_that_shrink) {
    for (const auto type : {"text/html;charset=utf-8", "Application/JSON",
                            "application/problem+json", "image/svg+xml"}) {
        EXPECT_EQ(ask(std::string("/type?") + type), "gzip|Accept-Encoding|whole") << type;
    }
    EXPECT_EQ(ask("/vary"), "gzip|Cookie, Accept-Encoding|whole");
}

}  // namespace wire::http::compress_test
