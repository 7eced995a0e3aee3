#include "body_coding.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "served.hpp"
#include "wire/client/client.hpp"

namespace wire::http {
namespace {

using testing::served;

std::string packed(std::string_view text, wire::coding c) {
    auto p = compressor::create(c);
    buffer out;
    EXPECT_EQ(p->add(text, flush::finish, out), errc::none);
    return std::string(out.view());
}
std::string decode(std::string_view body, wire::coding c, const limits& l = {}) {
    buffer out;
    const errc failed = decode_body(body, c, l, out);
    return failed == errc::none ? std::string(out.view()) : "<" + std::string(to_string(failed)) + ">";
}
std::string failure(errc code) { return "<" + std::string(to_string(code)) + ">"; }

class body_coding : public ::testing::Test {
protected:
    void SetUp() override {
        if (!compression_available()) GTEST_SKIP() << "built without zlib";
    }
};

TEST_F(body_coding, is_known_by_its_name_and_first_bytes) {
    EXPECT_EQ(body_coding_of("gzip", ""), wire::coding::gzip);
    EXPECT_EQ(body_coding_of("X-GZip", ""), wire::coding::gzip);
    EXPECT_EQ(body_coding_of("deflate", packed("text", wire::coding::zlib)), wire::coding::zlib);
    EXPECT_EQ(body_coding_of("Deflate", packed("text", wire::coding::raw_deflate)), wire::coding::raw_deflate);
    for (const auto other : {"", "br", "identity", "gzip, gzip", "deflate, gzip"}) EXPECT_EQ(body_coding_of(other, "x"), std::nullopt) << other;
}
TEST_F(body_coding, decodes_each) {
    const std::string text = "some text, some text, some other text";
    for (const auto c : {wire::coding::gzip, wire::coding::zlib, wire::coding::raw_deflate}) {
        EXPECT_EQ(decode(packed(text, c), c), text);
        EXPECT_EQ(decode(packed("", c), c), "");
    }
    EXPECT_EQ(decode(packed("one ", wire::coding::gzip) + packed("two ", wire::coding::gzip) + packed("three", wire::coding::gzip), wire::coding::gzip),
              "one two three");
    std::string random;  // which does not compress, and is longer than a step
    for (std::uint32_t x = 1; random.size() < 3'000'000; x = x * 1664525 + 1013904223) random.push_back(static_cast<char>(x >> 24));
    limits l;
    l.max_body_bytes = 4'000'000;
    EXPECT_TRUE(decode(packed(random, wire::coding::gzip), wire::coding::gzip, l) == random);
}
TEST_F(body_coding, is_bounded) {
    limits l;
    l.max_body_bytes = 1000;
    for (const auto c : {wire::coding::gzip, wire::coding::zlib}) {
        EXPECT_EQ(decode(packed(std::string(1000, 'x'), c), c, l).size(), 1000U);
        EXPECT_EQ(decode(packed(std::string(1001, 'x'), c), c, l), failure(errc::body_too_large));
    }
    EXPECT_EQ(decode(packed(std::string(600, 'x'), wire::coding::gzip) + packed(std::string(401, 'x'), wire::coding::gzip), wire::coding::gzip, l),
              failure(errc::body_too_large));
    l.max_body_bytes = ~0ULL;
    EXPECT_EQ(decode(packed(std::string(1 << 24, 'x'), wire::coding::gzip), wire::coding::gzip, l), failure(errc::expands_too_much));
}
TEST_F(body_coding, refuses_what_is_broken) {
    for (const auto c : {wire::coding::gzip, wire::coding::zlib, wire::coding::raw_deflate}) {
        const std::string good = packed("some text, some text", c);
        for (std::size_t n = 0; n < good.size(); ++n) EXPECT_EQ(decode(good.substr(0, n), c), failure(errc::bad_compressed_data)) << n;
        EXPECT_EQ(decode(good + "trailing", c), failure(errc::bad_compressed_data));
    }
}

TEST_F(body_coding, of_replies) {
    // Answers with the coding of its path what it was asked for, and with "/asked" what that was.
    served s([](response res) {
        const request& r = res.request();
        const std::string coding(r.path().substr(1));
        if (coding == "asked") return res.send(std::string(r.header("accept-encoding").value_or("-")));
        if (coding != "none") res.header("Content-Encoding", coding.substr(0, coding.find('.')));
        res.send(coding == "gzip"          ? packed("plain", wire::coding::gzip)
                 : coding == "deflate"     ? packed("plain", wire::coding::zlib)
                 : coding == "deflate.raw" ? packed("plain", wire::coding::raw_deflate)
                 : coding == "gzip.bad"    ? std::string("not gzip")
                 : coding == "gzip.bomb"   ? packed(std::string(1 << 24, 'x'), wire::coding::gzip)
                 : coding == "gzip.empty"  ? std::string()
                                           : std::string("as it is"));
    });
    const std::string root = "http://127.0.0.1:" + std::to_string(s.port()) + "/";
    client_options options;
    options.decompress = true;
    auto c = *client::create(options);
    const auto ask = [&](const std::string& path) {
        const auto got = c.get(root + path);
        return got ? std::string(got->body()) + (got->decoded() ? " decoded" : "") : failure(got.code());
    };
    EXPECT_EQ(ask("asked"), "gzip, deflate");
    EXPECT_EQ(ask("gzip"), "plain decoded");
    EXPECT_EQ(ask("deflate"), "plain decoded");
    EXPECT_EQ(ask("deflate.raw"), "plain decoded");
    EXPECT_EQ(ask("none"), "as it is");
    EXPECT_EQ(ask("br"), "as it is");
    EXPECT_EQ(ask("gzip.empty"), "");
    EXPECT_EQ(ask("gzip.bad"), failure(errc::bad_compressed_data));
    EXPECT_EQ(ask("gzip.bomb"), failure(errc::expands_too_much));
    EXPECT_EQ(ask("none"), "as it is");  // the connection goes on
    EXPECT_EQ(c.get(root + "gzip")->header("content-encoding"), "gzip");
    client_request own = make_request(method::get, root + "gzip");
    own.headers = {{"Accept-Encoding", "gzip"}};
    EXPECT_EQ(c.send(own)->body(), packed("plain", wire::coding::gzip));
    EXPECT_EQ(client::create()->get(root + "asked")->body(), "-");
    EXPECT_EQ(client::create()->get(root + "gzip")->body(), packed("plain", wire::coding::gzip));
}

}  // namespace
}  // namespace wire::http
