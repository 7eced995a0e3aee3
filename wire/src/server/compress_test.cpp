#include "wire/server/compress.hpp"

#include <gtest/gtest.h>

#include "raw_peer.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"
#include "wire/proto/compression.hpp"

namespace wire::http {
namespace {

std::string unpacked(coding c, std::string_view bytes) {
    auto d = decompressor::create(c);
    if (!d) return "<no zlib>";
    buffer out;
    const auto s = d->add(bytes, 1 << 20, out);
    return s.ended && s.used == bytes.size() ? std::string(out.view()) : "<broken>";
}

class compressed_responses : public ::testing::Test {
protected:
    void SetUp() override {
        if (!compression_available()) GTEST_SKIP() << "built without zlib";
        router r;
        r.after(compress({.min_bytes = 100}));
        r.get("/text", [this](response res) { res.header("ETag", "\"x\"").header("Accept-Ranges", "bytes").send(text); });
        r.get("/later", [this](response res) {
            pool.run([this, res = std::move(res)]() mutable { res.header("ETag", "W/\"x\"").send(text); });
        });
        r.get("/small", [](response res) { res.send("small"); });
        r.get("/random", [](response res) {
            std::string noise(500, '\0');
            std::uint32_t x = 1;
            for (char& c : noise) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
            res.send(noise);
        });
        r.get("/type", [this](response res) { res.content_type(res.request().query()).send(text); });
        r.get("/encoded", [this](response res) { res.header("content-encoding", "br").send(text); });
        r.get("/part", [this](response res) { res.status(206).send(text); });
        r.get("/as-is", [this](response res) { res.header("Cache-Control", "max-age=1, No-Transform").send(text); });
        r.get("/vary", [this](response res) { res.header("Vary", "Cookie, Accept-Encoding").send(text); });
        r.get("/none", [](response res) { res.status(204).send(); });
        server.emplace(std::move(r));
    }
    // The decoded body, after the fields that are of interest.
    std::string ask(const std::string& target, const std::string& accept = "gzip", method m = method::get) {
        testing::raw_peer p(server->port());
        p.send(std::string(to_string(m)) + " " + target + " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: " + accept + "\r\n\r\n");
        std::string body = p.response(m);
        body.erase(0, 4);
        std::string out;
        for (const std::string name : {"Content-Encoding", "Vary", "ETag", "Accept-Ranges"}) {
            const auto at = p.head_text.find("\r\n" + name + ": ");
            if (at == std::string::npos) continue;
            const auto value = at + name.size() + 4;
            out += p.head_text.substr(value, p.head_text.find('\r', value) - value) + "|";
        }
        if (out.starts_with("gzip") && m == method::get) body = unpacked(coding::gzip, body);
        if (out.starts_with("deflate")) body = unpacked(coding::zlib, body);
        length = p.head_text.substr(p.head_text.find("Content-Length: ") + 16);
        length = length.substr(0, length.find('\r'));
        return out + (body == text ? "text" : body);
    }
    const std::string text = [] {
        std::string t;
        for (int i = 0; i < 100; ++i) t += "line " + std::to_string(i) + "\n";
        return t;
    }();
    std::string length;
    blocking_pool pool{2};
    std::optional<testing::served> server;
};

TEST_F(compressed_responses, as_the_client_asks) {
    EXPECT_EQ(ask("/text"), "gzip|Accept-Encoding|W/\"x\"|text");
    EXPECT_EQ(ask("/text", "deflate"), "deflate|Accept-Encoding|W/\"x\"|text");
    EXPECT_EQ(ask("/text", "br, gzip;q=0.2"), "gzip|Accept-Encoding|W/\"x\"|text");
    EXPECT_EQ(ask("/text", "gzip;q=0"), "Accept-Encoding|\"x\"|bytes|text");
    EXPECT_EQ(ask("/text", ""), "Accept-Encoding|\"x\"|bytes|text");
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ask("/later"), "gzip|Accept-Encoding|W/\"x\"|text");
}
TEST_F(compressed_responses, head_says_what_get_would) {
    EXPECT_EQ(ask("/text"), "gzip|Accept-Encoding|W/\"x\"|text");
    const std::string of_get = length;
    EXPECT_EQ(ask("/text", "gzip", method::head), "gzip|Accept-Encoding|W/\"x\"|");
    EXPECT_EQ(length, of_get);
}
TEST_F(compressed_responses, what_is_left_alone) {
    EXPECT_EQ(ask("/small"), "small");
    EXPECT_EQ(ask("/random").substr(0, 16), "Accept-Encoding|");  // would not shrink
    EXPECT_EQ(ask("/type?image/png"), "text");
    EXPECT_EQ(ask("/encoded").find("gzip"), std::string::npos);
    EXPECT_EQ(ask("/part"), "text");
    EXPECT_EQ(ask("/as-is"), "text");
    EXPECT_EQ(ask("/none"), "");
}
TEST_F(compressed_responses, types_that_shrink) {
    for (const auto type : {"text/html;charset=utf-8", "Application/JSON", "application/problem+json", "image/svg+xml"}) {
        EXPECT_EQ(ask(std::string("/type?") + type), "gzip|Accept-Encoding|text") << type;
    }
    EXPECT_EQ(ask("/vary"), "gzip|Cookie, Accept-Encoding|text");
}

}  // namespace
}  // namespace wire::http
