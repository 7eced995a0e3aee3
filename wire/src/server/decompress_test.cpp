// Bodies of requests that were sent with a Content-Encoding: decoded, refused, bounded.
#include "wire/server/decompress.hpp"

#include <gtest/gtest.h>

#include "coded_bodies.hpp"
#include "proto/body_unpacker.hpp"
#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/proto/compression.hpp"

namespace wire::http::decompress_test {

using testing::post;
using testing::raw_peer;
using testing::served;

std::string packed(std::string_view text, coding c = coding::gzip) {
    auto p = compressor::create(c);
    buffer out;
    EXPECT_EQ(p->add(text, flush::finish, out), errc::none);
    return std::string(out.view());
}
std::string coded(const std::string& name) { return "Content-Encoding: " + name + "\r\n"; }

class decompressed_requests : public ::testing::Test {
protected:
    void SetUp() override {
        if (!compression_available()) GTEST_SKIP() << "built without zlib";
        server_options options;
        options.limits.max_body_bytes = 200'000;
        router r;
        r.before("/plain", decompress_requests());
        r.before("/pieces", decompress_requests());
        r.before("/paused", decompress_requests());
        r.before("/plain/twice", decompress_requests());
        r.post("/plain/twice", [](response res) { res.send(res.request().body()); });
        r.get("/plain/nothing", [](response res) { res.send("nothing"); });
        r.post("/plain", [](response res) { res.send(res.request().body()); });
        r.post("/as_sent", [](response res) { res.send(res.request().body()); });
        r.stream(
            method::post, "/pieces",
            [](response res, body_reader in) {
                auto text = std::make_shared<std::string>();
                in.read([text](std::string_view piece) { *text += piece; },
                        [text, res = std::move(res)](errc why) mutable {
                            if (why == errc::none) res.send(*text);
                        });
            },
            150'000);
        // Pauses at every piece, and goes on from the loop.
        r.stream(method::post, "/paused", [](response res, body_reader in) {
            auto text = std::make_shared<std::string>();
            event_loop& loop = res.loop();
            in.read(
                [text, in, &loop](std::string_view piece) mutable {
                    *text += piece;
                    in.pause();
                    loop.post([in]() mutable { in.resume(); });
                },
                [text, res = std::move(res)](errc why) mutable {
                    if (why == errc::none) res.send(*text);
                });
        });
        server_.emplace(std::move(r), options);
    }
    std::string ask(const std::string& request) {
        raw_peer p(server_->port());
        p.send(request);
        std::string text = p.response();
        head_ = p.head_text;
        return text;
    }

    std::optional<served> server_;
    std::string head_;
};

TEST_F(decompressed_requests, come_decoded_where_that_was_asked_for) {
    const std::string text = testing::patterned(100'000);
    for (const std::string path : {"/plain", "/pieces", "/paused"}) {
        EXPECT_EQ(ask(post(path, packed(text), coded("gzip"))), "200 " + text) << path;
        EXPECT_EQ(ask(post(path, packed(text), coded("X-GZip"))), "200 " + text) << path;
        EXPECT_EQ(ask(post(path, packed(text, coding::zlib), coded("deflate"))), "200 " + text);
        EXPECT_EQ(ask(post(path, text, coded("identity"))), "200 " + text) << path;
        EXPECT_EQ(ask(post(path, text)), "200 " + text) << path;
        EXPECT_EQ(ask(post(path, "", coded("gzip"))), "200 ") << path;
    }
    EXPECT_EQ(ask(post("/as_sent", packed(text), coded("gzip"))), "200 " + packed(text));
}
TEST_F(decompressed_requests, may_come_a_byte_at_a_time_and_be_followed) {
    const std::string text = testing::patterned(3000);
    for (const std::string path : {"/plain", "/pieces", "/paused"}) {
        raw_peer p(server_->port());
        const std::string request = post(path, packed(text), coded("gzip"));
        for (const char c : request) p.send({&c, 1});
        p.send(request + request);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(p.response(), "200 " + text) << path;
    }
}
// Beginning an answer lets the connection look at what else it has received.
TEST_F(decompressed_requests, may_be_answered_from_the_middle_of_a_paused_body) {
    struct answering {
        response res;
        body_writer out;
        std::string text;
        int pieces;
    };
    router r;
    r.before(decompress_requests());
    r.stream(method::post, "/", [](response res, body_reader in) {
        event_loop& loop = res.loop();
        auto self = std::make_shared<answering>(answering{std::move(res), {}, {}, 0});
        in.read(
            [self, in, &loop](std::string_view piece) mutable {
                self->text += piece;
                if (++self->pieces == 2) self->out = self->res.start_body();
                in.pause();
                loop.post([in]() mutable { in.resume(); });
            },
            [self](errc why) {
                if (why != errc::none) return;
                self->out.write(self->text);
                self->out.finish();
            });
    });
    served s(std::move(r));
    const std::string text = testing::patterned(1'000'000);
    const std::string body = packed(text);
    const std::size_t half = body.size() / 2;
    std::string request = testing::post_chunked("/", {body.substr(0, half), body.substr(half)});
    request.insert(request.find("\r\n") + 2, coded("gzip"));
    raw_peer p(s.port());
    p.send(request);
    EXPECT_EQ(p.response(), "200 " + text);
}
TEST_F(decompressed_requests, in_unknown_codings_are_415_with_those_that_are_known) {
    for (const std::string path : {"/plain", "/pieces"}) {
        for (const auto* fields :
             {"compress", "br, gzip", "gzip, gzip", "gzip\r\nContent-Encoding: gzip", "gzip;q=1"}) {
            const std::string said = ask(post(path, "x", coded(fields)));
            EXPECT_TRUE(said.ends_with("415 unsupported content coding\n")) << path << said;
            std::string known = "gzip, deflate";
            if (brotli_available()) known += ", br";
            if (zstd_available()) known += ", zstd";
            EXPECT_NE(head_.find("\r\nAccept-Encoding: " + known + "\r\n"), std::string::npos);
        }
    }
}
TEST_F(decompressed_requests, may_be_br_or_zstd_where_those_are_built_in) {
    const std::string text(testing::coded_text);
    for (const std::string path : {"/plain", "/pieces", "/paused"}) {
        const std::string br = ask(post(path, testing::br_text(), coded("br")));
        const std::string zstd = ask(post(path, testing::zstd_text(), coded("zstd")));
        EXPECT_EQ(br.substr(0, 4), brotli_available() ? "200 " : "415 ") << path;
        EXPECT_EQ(zstd.substr(0, 4), zstd_available() ? "200 " : "415 ") << path;
        if (brotli_available()) {
            EXPECT_EQ(br.substr(4), text);
        }
        if (!zstd_available()) continue;
        EXPECT_EQ(zstd.substr(4), text);
        EXPECT_EQ(ask(post(path, testing::zstd_of_x(1000, 21), coded("zstd"))).substr(0, 4),
                  "200 ");
        // A reply may ask for such a window, a request not.
        EXPECT_NE(ask(post(path, testing::zstd_of_x(1000, 22), coded("zstd"))).find("400 "),
                  std::string::npos);
        if (path == "/paused") continue;  // which has no limit of 200,000
        EXPECT_NE(ask(post(path, testing::zstd_of_x(200'001), coded("zstd"))).find("413 "),
                  std::string::npos);
    }
}
TEST_F(decompressed_requests, are_decoded_once_where_it_was_asked_for_twice) {
    EXPECT_EQ(ask(post("/plain/twice", packed("text"), coded("gzip"))), "200 text");
    EXPECT_EQ(ask("GET /plain/nothing HTTP/1.1\r\nHost: a\r\nContent-Encoding: br\r\n\r\n"),
              "200 nothing");
}
TEST_F(decompressed_requests, that_are_damaged_are_400) {
    const std::string good = packed(testing::patterned(10'000));
    std::string wrong = good;
    wrong[wrong.size() - 5] ^= 1;  // of the checksum
    for (const std::string path : {"/plain", "/pieces", "/paused"}) {
        for (const std::string& bad : {std::string("no gzip at all"), wrong, good + "more",
                                       good.substr(0, good.size() - 1)}) {
            EXPECT_NE(ask(post(path, bad, coded("gzip"))).find("400 "), std::string::npos) << path;
        }
    }
}
TEST_F(decompressed_requests, that_become_too_large_are_413) {
    for (const std::string path : {"/plain", "/pieces"}) {
        const std::size_t most = path == "/plain" ? 200'000 : 150'000;
        EXPECT_EQ(ask(post(path, packed(testing::patterned(most)), coded("gzip"))).substr(0, 4),
                  "200 ");
        const auto refused = ask(post(path, packed(testing::patterned(most + 1)), coded("gzip")));
        EXPECT_NE(refused.find("413 "), std::string::npos) << refused.substr(0, 50);
        const auto bomb = ask(post(path, packed(std::string(50'000'000, ' ')), coded("gzip")));
        EXPECT_NE(bomb.find("413 "), std::string::npos) << bomb.substr(0, 50);
    }
}
// Whether the body had come when it was taken, or comes in pieces.
TEST_F(decompressed_requests, may_have_been_taken_before) {
    const std::string text = testing::patterned(100'000);
    for (const bool in_pieces : {false, true}) {
        const auto read = [](response res) {
            body_reader in = res.take_body();
            auto got = std::make_shared<std::string>();
            in.read([got](std::string_view piece) { *got += piece; },
                    [got, res = std::move(res)](errc why) mutable {
                        if (why == errc::none) res.send(*got);
                    });
        };
        router r;
        r.before([](response& res) { res.take_body(); });
        r.before(decompress_requests());
        if (in_pieces) {
            r.stream(method::post, "/",
                     [read](response res, body_reader) { read(std::move(res)); });
        } else {
            r.post("/", read);
        }
        served s(std::move(r));
        raw_peer p(s.port());
        p.send(post("/", packed(text), coded("gzip")));
        EXPECT_EQ(p.response(), "200 " + text) << in_pieces;
        p.send(post("/", packed(text).substr(0, 100), coded("gzip")));
        EXPECT_NE(p.response().find("400 "), std::string::npos) << in_pieces;
    }
}
TEST_F(decompressed_requests, must_not_have_been_read_before) {
    for (const bool in_pieces : {false, true}) {
        router r;
        r.before([](response& res) { res.take_body().read([](std::string_view) {}, [](errc) {}); });
        r.before(decompress_requests());
        if (in_pieces) {
            r.stream(method::post, "/", [](response res, body_reader) { res.send("as sent"); });
        } else {
            r.post("/", [](response res) { res.send("as sent"); });
        }
        served s(std::move(r));
        raw_peer p(s.port());
        p.send(post("/", packed("text"), coded("gzip")));
        const std::string said = p.response();
        EXPECT_NE(said.find("500 decompress_requests() after the body was read\n"),
                  std::string::npos)
            << said;
        raw_peer q(s.port());
        q.send(post("/", "text"));
        EXPECT_NE(q.response().find("200 as sent"), std::string::npos);
    }
}
TEST(decompress, a_refusal_has_its_own_type) {
    router r;
    r.before([](response& res) { res.content_type("application/json"); });
    r.before(decompress_requests());
    r.post("/", [](response res) { res.send("{}"); });
    served s(std::move(r));
    raw_peer p(s.port());
    p.send(post("/", "x", coded("compress")));
    EXPECT_EQ(p.response(), "415 unsupported content coding\n");
    EXPECT_EQ(p.head_text.find("json"), std::string::npos) << p.head_text;
}

}  // namespace wire::http::decompress_test
