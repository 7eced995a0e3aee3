// Decoding bodies whole and in pieces, and bodies that are wrong or expand too much.

#include "proto/body_coding.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_writer.hpp"

namespace wire::http::body_coding_test {

using testing::served;

std::string packed(std::string_view text, wire::coding c) {
    auto p = compressor::create(c);
    buffer out;
    EXPECT_EQ(p->add(text, flush::finish, out), errc::none);
    return std::string(out.view());
}
std::string failure(errc code) { return "<" + std::string(to_string(code)) + ">"; }
// Fed so many bytes at a time, and taken as many at a time.
std::string decode(std::string_view body, std::string_view name, const limits& l = {},
                   std::size_t piece = 1 << 20, std::size_t most = 1 << 20) {
    auto d = body_decoder::of(name, l);
    buffer out;
    while (!body.empty()) {
        std::string_view rest = body.substr(0, piece);
        body.remove_prefix(rest.size());
        while (!rest.empty() || d->has_more()) {
            const std::size_t before = out.size();
            if (const errc failed = d->add(rest, most, out); failed != errc::none)
                return failure(failed);
            EXPECT_LE(out.size() - before, most);
        }
    }
    return d->finish() == errc::none ? std::string(out.view()) : failure(d->finish());
}

class body_coding : public ::testing::Test {
protected:
    void SetUp() override {
        if (!compression_available()) GTEST_SKIP() << "built without zlib";
    }
};

struct named {
    std::string name;
    wire::coding coding;
};
const std::vector<named> all = {{"gzip", wire::coding::gzip},
                                {"deflate", wire::coding::zlib},
                                {"Deflate", wire::coding::raw_deflate}};

TEST_F(body_coding, is_known_by_its_name) {
    for (const auto known : {"gzip", "X-GZip", "deflate", "gzip,", ", ,\tgzip ,"})
        EXPECT_TRUE(body_decoder::of(known, {})) << known;
    for (const auto other :
         {"", ",", "compress", "identity", "gzip, gzip", "gzip,,gzip", "deflate, gzip"})
        EXPECT_FALSE(body_decoder::of(other, {})) << other;
}
TEST_F(body_coding, decodes_each) {
    const std::string text = "some text, some text, some other text";
    for (const auto& [name, c] : all) {
        const std::string body = packed(text, c);
        for (const std::size_t piece : {1, 2, 7, 1000}) {
            for (const std::size_t most : {1, 5, 1000})
                EXPECT_EQ(decode(body, name, {}, piece, most), text) << name;
        }
        EXPECT_EQ(decode(packed("", c), name), "");
        EXPECT_EQ(decode("", name), "");
    }
    const std::string members = packed("one ", wire::coding::gzip) +
                                packed("", wire::coding::gzip) +
                                packed("three", wire::coding::gzip);
    for (const std::size_t piece : {1, 20, 1000})
        EXPECT_EQ(decode(members, "gzip", {}, piece), "one three");
    std::string random;  // which does not compress, and is longer than a step
    for (std::uint32_t x = 1; random.size() < 3'000'000; x = x * 1664525 + 1013904223)
        random.push_back(static_cast<char>(x >> 24));
    limits l;
    l.max_body_bytes = 4'000'000;
    EXPECT_TRUE(decode(packed(random, wire::coding::gzip), "gzip", l) == random);
}
TEST_F(body_coding, is_bounded) {
    limits l;
    l.max_body_bytes = 1000;
    for (const auto& [name, c] : all) {
        for (const std::size_t most : {1, 999, 1000, 1001, 5000}) {
            EXPECT_EQ(decode(packed(std::string(1000, 'x'), c), name, l, 3, most).size(), 1000U);
            EXPECT_EQ(decode(packed(std::string(1001, 'x'), c), name, l, 3, most),
                      failure(errc::body_too_large));
        }
    }
    EXPECT_EQ(decode(packed(std::string(600, 'x'), wire::coding::gzip) +
                         packed(std::string(401, 'x'), wire::coding::gzip),
                     "gzip", l),
              failure(errc::body_too_large));
    l.max_body_bytes = ~0ULL;
    EXPECT_EQ(decode(packed(std::string(1 << 24, 'x'), wire::coding::gzip), "gzip", l),
              failure(errc::expands_too_much));
}
TEST_F(body_coding, refuses_what_is_broken) {
    for (const auto& [name, c] : all) {
        const std::string good = packed("some text, some text", c);
        for (std::size_t n = 1; n < good.size(); ++n)
            EXPECT_EQ(decode(good.substr(0, n), name), failure(errc::bad_compressed_data)) << n;
        for (const std::size_t piece : {1, 1000})
            EXPECT_EQ(decode(good + "trailing", name, {}, piece),
                      failure(errc::bad_compressed_data));
    }
}

TEST_F(body_coding, of_replies) {
    // Answers with the coding of its path what it was asked for, and with "/asked" what that was.
    served s([](response res) {
        const request& r = res.request();
        const std::string coding(r.path().substr(1));
        if (coding == "asked")
            return res.send(std::string(r.header("accept-encoding").value_or("-")));
        if (coding != "none") res.header("Content-Encoding", coding.substr(0, coding.find('.')));
        if (coding == "gzip.twice") res.header("Content-Encoding", "gzip");
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
        return got ? std::string(got->body()) + (got->decoded() ? " decoded" : "")
                   : failure(got.code());
    };
    std::string known;
    append_decoded_codings(known);
    EXPECT_EQ(ask("asked"), known);
    EXPECT_EQ(ask("gzip"), "plain decoded");
    EXPECT_EQ(ask("deflate"), "plain decoded");
    EXPECT_EQ(ask("deflate.raw"), "plain decoded");
    EXPECT_EQ(ask("gzip.twice"), "as it is");  // two codings, which are left to the caller
    EXPECT_EQ(ask("none"), "as it is");
    EXPECT_EQ(ask("compress"), "as it is");
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

// One response, chunk by chunk, to a client that takes it in pieces.
struct pieces : body_coding {
    std::unique_ptr<event_loop> loop = *event_loop::create();
    std::string body;
    std::optional<result<reply>> got;
    bool decoded = false;
    std::size_t largest = 0;
    request_id id = 0;
    std::function<void()> each = [] {};

    void ask(async_client& c, std::string url) {
        got.reset();
        body.clear();
        response_pieces to;
        to.head = [this](const reply& r) { decoded = r.decoded(); };
        to.data = [this](std::string_view piece) {
            body += piece;
            largest = std::max(largest, piece.size());
            each();
        };
        to.end = [this](result<reply> r) { got.emplace(std::move(r)); };
        id = c.send(make_request(method::get, std::move(url)), std::move(to));
    }
    void run() {
        const auto until = clock::now() + std::chrono::seconds(10);
        while (!got && clock::now() < until) loop->run_once(until - clock::now());
        ASSERT_TRUE(got);
    }
    // What comes of a body that is sent with the given size of chunks.
    std::string of(const std::string& encoded, const std::string& coding, std::size_t chunk,
                   client_options options = {}, bool ends = true) {
        testing::raw_server server([&](testing::raw_server& r) {
            auto v = r.accept();
            v.request();
            std::string all =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: " + coding +
                "\r\n\r\n";
            for (std::size_t at = 0; at < encoded.size(); at += chunk) {
                buffer framed;
                append_chunk(framed, std::string_view(encoded).substr(at, chunk));
                all += framed.view();
            }
            if (ends) all += "0\r\n\r\n";
            ::send(v.fd(), all.data(), all.size(),
                   MSG_NOSIGNAL);  // which the client may not want to its end
        });
        options.decompress = true;
        async_client c(*loop, options);
        ask(c, server.url());
        run();
        return *got ? body : failure(got->code());
    }
};

TEST_F(pieces, are_decoded) {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i * 7919 % 10'007) + "\n";
    for (const auto& [name, c] : all) {
        const std::string encoded = packed(text, c);
        for (const std::size_t chunk : {1000UL, 100'000UL, encoded.size()}) {
            EXPECT_TRUE(of(encoded, name, chunk) == text) << name << chunk;
            EXPECT_TRUE(decoded);
            EXPECT_TRUE((*got)->decoded());
            EXPECT_EQ((*got)->body(), "");
        }
        EXPECT_EQ(of(packed("short", c), name, 1), "short");
    }
    EXPECT_LE(largest, 64U * 1024);
    EXPECT_EQ(of(packed("one ", wire::coding::gzip) + packed("two", wire::coding::gzip), "gzip", 5),
              "one two");
    EXPECT_EQ(of("", "gzip", 1), "");
    EXPECT_EQ(of("as it is", "compress", 3), "as it is");
    EXPECT_FALSE(decoded);
}
TEST_F(pieces, that_are_broken_or_too_many_end_with_an_error) {
    const std::string good = packed("some text, some text", wire::coding::gzip);
    EXPECT_EQ(of(good.substr(0, good.size() - 1), "gzip", 4), failure(errc::bad_compressed_data));
    EXPECT_EQ(of(good + "trailing", "gzip", 4), failure(errc::bad_compressed_data));
    EXPECT_EQ(of("not gzip", "gzip", 4), failure(errc::bad_compressed_data));
    EXPECT_EQ(of(good, "gzip", 4, {}, false), failure(errc::closed_early));
    EXPECT_EQ(of(packed(std::string(1 << 24, 'x'), wire::coding::gzip), "gzip", 1000),
              failure(errc::expands_too_much));
    EXPECT_LE(body.size(), 5'000'000U);
    client_options options;
    options.max_streamed_bytes = 1000;
    EXPECT_EQ(of(packed(std::string(1000, 'x'), wire::coding::gzip), "gzip", 1000, options).size(),
              1000U);
    EXPECT_EQ(of(packed(std::string(1001, 'x'), wire::coding::gzip), "gzip", 1000, options),
              failure(errc::body_too_large));
}
TEST_F(pieces, that_repeat_are_no_bombs) {
    std::string repetitive;
    while (repetitive.size() < 300 * 1024) repetitive += "GET /index.html 200 1024\n";
    for (const std::string& honest : {std::string(70'000, '\0'), repetitive})
        EXPECT_TRUE(of(packed(honest, wire::coding::gzip), "gzip", 1000) == honest);
}
TEST_F(pieces, are_not_decoded_while_paused) {
    const std::string text(4 << 20, 'x');
    std::string packed_text = packed(text, wire::coding::gzip);
    client_options options;
    options.decompress = true;
    options.limits.max_decompression_ratio = 0;
    served s([&](response res) {
        res.header("Content-Encoding", "gzip");
        res.send(packed_text);
    });
    async_client c(*loop, options);
    each = [&] {
        c.pause(id);
        const std::size_t before = body.size();
        loop->post([&, before] {
            EXPECT_EQ(body.size(), before);
            c.resume(id);
        });
    };
    const std::string url = "http://127.0.0.1:" + std::to_string(s.port()) + "/";
    ask(c, url);
    run();
    EXPECT_TRUE(body == text);
    EXPECT_LE(largest, 64U * 1024);
    // And no further when it is not wanted.
    each = [&] { c.cancel(id); };
    ask(c, url);
    run();
    EXPECT_EQ(got->code(), errc::cancelled);
    EXPECT_EQ(body.size(), largest);
    auto blocking = *client::create(options);
    std::size_t bytes = 0;
    EXPECT_TRUE(blocking.send(make_request(method::get, url), [&](std::string_view piece) {
        bytes += piece.size();
        return true;
    }));
    EXPECT_EQ(bytes, text.size());
}

}  // namespace wire::http::body_coding_test
