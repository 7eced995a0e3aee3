// Which coding responses are compressed in, and each of them.
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <map>

#include "compressed.hpp"
#include "proto/body_packer.hpp"
#include "wire/server/compress.hpp"

namespace wire::http::compress_codings_test {

constexpr std::array every{content_coding::gzip, content_coding::deflate, content_coding::br,
                           content_coding::zstd};

// The first of these that wire was built with.
std::string built(std::initializer_list<content_coding> codings) {
    for (const content_coding c : codings) {
        if (can_pack(c)) return std::string(to_string(c));
    }
    return "";
}

struct coded_responses : testing::compressed {
    void SetUp() override {
        if (built({content_coding::gzip, content_coding::br, content_coding::zstd}).empty())
            GTEST_SKIP() << "built without any";
    }
    coded_responses() {
        std::uint32_t seed = 1;
        for (int i = 0; i < 1000; ++i) {
            seed = seed * 69069 + 1;
            whole += "word" + std::to_string((seed >> 16) % 100 * ((seed >> 24) % 8)) + " ";
        }
    }
    void serve(compress_options options) {
        server.reset();
        router r;
        r.after(compress(options));
        r.get("/text", [this](response res) {
            res.header("ETag", "\"x\"").header("Accept-Ranges", "bytes").send(whole);
        });
        r.get("/pieces", [this](response res) {
            pool.run([this, out = res.header("ETag", "\"x\"").start_body()]() mutable {
                for (std::size_t at = 0; at < whole.size(); at += 100)
                    out.write(whole.substr(at, 100));
                out.finish();
            });
        });
        r.get("/events", [this](response res) {
            events = res.content_type("text/event-stream").start_body();
            started.set_value();
        });
        server.emplace(std::move(r));
    }
    // The coding of the answer, which must be what it should be otherwise.
    std::string coding_for(const std::string& accept) {
        const std::string got = ask("/text", accept);
        const std::string coding = field("Content-Encoding");
        EXPECT_EQ(got, coding.empty() ? "Accept-Encoding|\"x\"|bytes|whole"
                                      : coding + "|Accept-Encoding|W/\"x\"|whole");
        return coding;
    }

    body_writer events;
    std::promise<void> started;
};

TEST_F(coded_responses, are_in_each_coding_that_is_built_in) {
    serve({});
    for (const content_coding c : every) {
        const std::string name(to_string(c));
        EXPECT_EQ(coding_for(name), can_pack(c) ? name : "");
        if (!can_pack(c)) continue;
        EXPECT_LT(sent, whole.size() / 2) << name;
        const std::string length = field("Content-Length");
        EXPECT_EQ(ask("/text", name, method::head), name + "|Accept-Encoding|W/\"x\"|");
        EXPECT_EQ(field("Content-Length"), length);
        EXPECT_EQ(ask("/pieces", name, method::head), name + "|Accept-Encoding|W/\"x\"|");
        for (int i = 0; i < 20; ++i) {
            ASSERT_EQ(ask("/pieces", name), name + "|Accept-Encoding|W/\"x\"|whole");
            ASSERT_EQ(coding_for(name), name);
        }
    }
}
TEST_F(coded_responses, are_in_the_coding_that_is_most_welcome) {
    using enum content_coding;
    serve({});
    EXPECT_EQ(coding_for("gzip, deflate, br, zstd"), built({zstd, br, gzip}));  // browsers
    EXPECT_EQ(coding_for("gzip, deflate, br"), built({br, gzip}));
    EXPECT_EQ(coding_for("deflate, gzip"), built({gzip}));
    EXPECT_EQ(coding_for("*"), built({zstd, br, gzip}));
    EXPECT_EQ(coding_for("zstd;q=0, br;q=0, *"), built({gzip}));
    EXPECT_EQ(coding_for("zstd;q=0.4, br;q=0.5, gzip;q=0.3"), built({br, zstd, gzip}));
    EXPECT_EQ(coding_for("zstd;q=0.4, br;q=0.5, identity;q=0.45"), built({br}));
    EXPECT_EQ(coding_for("zstd;q=0.4, br;q=0.5, identity"), "");
    EXPECT_EQ(coding_for("identity;q=0, *;q=0, br;q=0.001"), built({br}));
    // Nothing is left: as it is, and not an error.
    for (const auto none : {"", "identity;q=0", "*;q=0", "identity;q=0, *;q=0", "compress, x"})
        EXPECT_EQ(coding_for(none), "") << none;
}
TEST_F(coded_responses, are_in_those_of_the_options_in_their_order) {
    using enum content_coding;
    const std::string all = "gzip, deflate, br, zstd";
    serve({.codings = {gzip}});
    EXPECT_EQ(coding_for(all), built({gzip}));
    EXPECT_EQ(coding_for("br, zstd"), "");
    serve({.codings = {br, identity, br, deflate, br, br, br}});
    EXPECT_EQ(coding_for(all), built({br, deflate}));
    serve({.codings = {}});
    EXPECT_EQ(ask("/text", all), "\"x\"|bytes|whole");  // nothing depends on Accept-Encoding
}
TEST_F(coded_responses, have_levels) {
    serve({.level = 1, .br_level = 1, .zstd_level = 1});
    std::map<std::string, std::size_t> fast;
    for (const content_coding c : every) {
        coding_for(std::string(to_string(c)));
        fast.emplace(to_string(c), sent);
    }
    serve({.level = 9, .br_level = 11, .zstd_level = 19});
    for (const content_coding c : every) {
        if (!can_pack(c)) continue;
        EXPECT_EQ(coding_for(std::string(to_string(c))), to_string(c));
        EXPECT_LT(sent, fast[std::string(to_string(c))]) << to_string(c);
    }
    serve({.level = 10, .br_level = 12, .zstd_level = 23});  // which there are not
    for (const content_coding c : every) {
        EXPECT_EQ(coding_for(std::string(to_string(c))), "");
        EXPECT_EQ(ask("/pieces", std::string(to_string(c))), "Accept-Encoding|\"x\"|whole");
    }
}
TEST_F(coded_responses, can_be_read_as_far_as_they_were_written) {
    for (const content_coding c : every) {
        if (!can_pack(c)) continue;
        serve({});
        started = {};
        testing::raw_peer p(server->port());
        p.send(testing::get("/events", "Accept-Encoding: " + std::string(to_string(c)) + "\r\n"));
        started.get_future().wait();
        p.head();
        auto reader = *body_decoder::of(to_string(c), {});
        for (int i = 0; i < 5; ++i) {
            const std::string event = "data: " + std::to_string(i) + "\n\n";
            events.write(event);
            buffer got;
            while (got.size() < event.size()) {
                const std::string chunk = testing::next_chunk(p);
                ASSERT_FALSE(chunk.empty());
                std::string_view rest = chunk;
                ASSERT_EQ(reader.add(rest, 1000, got), errc::none);
            }
            EXPECT_EQ(got.view(), event) << to_string(c);
        }
        events.finish();
    }
}

}  // namespace wire::http::compress_codings_test
