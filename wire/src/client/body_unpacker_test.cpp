// Bodies in br and zstd: at every cut, hostile ones, and those of replies.
#include "proto/body_unpacker.hpp"

#include <gtest/gtest.h>

#include <string>

#include "coded_bodies.hpp"
#include "proto/body_coding.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"

namespace wire::http::body_unpacker_test {

using namespace wire::testing;

std::string failure(errc code) { return "<" + std::string(to_string(code)) + ">"; }

// Fed the bytes before `cut` and then the others, and taken `most` bytes at a time.
std::string decode(std::string_view body, std::string_view name, const limits& l = {},
                   std::size_t cut = 0, std::size_t most = 1 << 20) {
    auto d = body_decoder::of(name, l);
    if (!d) return "<unknown>";
    buffer out;
    for (std::string_view piece : {body.substr(0, cut), body.substr(cut)}) {
        while (!piece.empty() || d->has_more()) {
            const std::size_t before = out.size();
            if (const errc failed = d->add(piece, most, out); failed != errc::none)
                return failure(failed);
            EXPECT_LE(out.size() - before, most);
        }
    }
    return d->finish() == errc::none ? std::string(out.view()) : failure(d->finish());
}

struct format {
    std::string name, text, of_1000, of_1001, bomb;
};
class unpacked_bodies : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        if (!(GetParam() == "br" ? brotli_available() : zstd_available()))
            GTEST_SKIP() << "built without its library";
    }
    const format f = GetParam() == "br" ? format{"br", br_text(), br_1000(), br_1001(), br_bomb()}
                                        : format{"zstd", zstd_text(), zstd_of_x(1000),
                                                 zstd_of_x(1001), zstd_of_x(1 << 24)};
};

TEST_P(unpacked_bodies, come_at_every_cut) {
    for (std::size_t cut = 0; cut <= f.text.size(); ++cut) {
        for (const std::size_t most : {1, 5, 1000})
            EXPECT_EQ(decode(f.text, f.name, {}, cut, most), coded_text) << cut << " " << most;
    }
    EXPECT_EQ(decode("", f.name), "");
    limits l;
    l.max_decompression_ratio = 0;
    l.max_body_bytes = 1 << 24;
    EXPECT_TRUE(decode(f.bomb, f.name, l) == std::string(1 << 24, 'x'));
}
TEST_P(unpacked_bodies, are_bounded) {
    limits l;
    l.max_body_bytes = 1000;
    for (const std::size_t most : {1, 999, 1000, 1001, 5000}) {
        EXPECT_EQ(decode(f.of_1000, f.name, l, 3, most), std::string(1000, 'x'));
        EXPECT_EQ(decode(f.of_1001, f.name, l, 3, most), failure(errc::body_too_large));
    }
    l.max_body_bytes = ~0ULL;
    EXPECT_EQ(decode(f.bomb, f.name, l), failure(errc::expands_too_much));
}
TEST_P(unpacked_bodies, that_are_cut_off_or_followed_are_refused) {
    for (std::size_t n = 1; n < f.text.size(); ++n)
        EXPECT_EQ(decode(f.text.substr(0, n), f.name), failure(errc::bad_compressed_data)) << n;
    for (const std::size_t cut : {std::size_t{1}, f.text.size()})
        EXPECT_EQ(decode(f.text + "trailing", f.name, {}, cut), failure(errc::bad_compressed_data));
    EXPECT_EQ(decode("no such format at all", f.name), failure(errc::bad_compressed_data));
}
// Brotli has no checksum: other text may come out. Nothing else may happen.
TEST_P(unpacked_bodies, may_be_damaged_anywhere) {
    for (std::size_t at = 0; at < f.text.size(); ++at) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string wrong = f.text;
            wrong[at] = static_cast<char>(static_cast<unsigned char>(wrong[at]) ^ (1U << bit));
            const std::string whole = decode(wrong, f.name);
            EXPECT_EQ(decode(wrong, f.name, {}, wrong.size() / 2, 3), whole) << at << " " << bit;
        }
    }
}
TEST_P(unpacked_bodies, of_replies) {
    served s([&](response res) {
        res.header("Content-Encoding", f.name);
        res.send(res.request().path() == "/bomb" ? f.bomb : f.text);
    });
    const std::string root = "http://127.0.0.1:" + std::to_string(s.port());
    client_options options;
    options.decompress = true;
    auto c = *client::create(options);
    const auto got = c.get(root + "/");
    ASSERT_TRUE(got);
    EXPECT_TRUE(got->decoded());
    EXPECT_EQ(got->body(), coded_text);
    EXPECT_EQ(c.get(root + "/bomb").code(), errc::expands_too_much);
}
INSTANTIATE_TEST_SUITE_P(each, unpacked_bodies, ::testing::Values("br", "zstd"),
                         [](const auto& each) { return each.param; });

TEST(br_bodies, are_one_stream_with_a_window_of_the_standard) {
    if (!brotli_available()) GTEST_SKIP() << "built without brotli";
    EXPECT_EQ(decode(br_text() + br_text(), "br"), failure(errc::bad_compressed_data));
    EXPECT_EQ(decode(br_large_window(), "br"), failure(errc::bad_compressed_data));
    EXPECT_EQ(decode(bytes_of_hex("06"), "br"), "");
}
TEST(zstd_bodies, are_frames_with_windows_up_to_8_mib) {
    if (!zstd_available()) GTEST_SKIP() << "built without zstd";
    const std::string skippable = bytes_of_hex("502a4d1803000000") + "abc";
    EXPECT_EQ(decode(zstd_of_x(2) + skippable + zstd_of_x(3), "zstd"), "xxxxx");
    EXPECT_EQ(decode(skippable, "zstd"), "");
    EXPECT_EQ(decode(zstd_of_x(5, 23), "zstd"), "xxxxx");
    EXPECT_EQ(decode(zstd_of_x(5, 24), "zstd"), failure(errc::bad_compressed_data));
    std::string wrong = zstd_text();
    wrong.back() = static_cast<char>(~wrong.back());  // of the checksum
    EXPECT_EQ(decode(wrong, "zstd"), failure(errc::bad_compressed_data));
    limits l;
    l.max_body_bytes = 1000;
    EXPECT_EQ(decode(zstd_of_x(600) + zstd_of_x(401), "zstd", l), failure(errc::body_too_large));
}
// RFC 8878 section 3.1.1.1.4. libzstd does not look where the last block is empty and the frame
// comes in pieces.
TEST(zstd_bodies, have_the_size_that_their_frame_names) {
    if (!zstd_available()) GTEST_SKIP() << "built without zstd";
    using namespace std::string_literals;
    const std::string none = "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"s;
    const std::string more = "\x28\xb5\x2f\xfd\x20\x51\x01\x00\x00"s;
    const std::string three = "\x28\xb5\x2f\xfd\x20\x03\x18\x00\x00xxx\x01\x00\x00"s;
    for (std::size_t cut = 0; cut <= more.size(); ++cut) {
        EXPECT_EQ(decode(none, "zstd", {}, cut), "") << cut;
        EXPECT_EQ(decode(more, "zstd", {}, cut), failure(errc::bad_compressed_data)) << cut;
        EXPECT_EQ(decode(three + none + three, "zstd", {}, cut, 1), "xxxxxx") << cut;
        EXPECT_EQ(decode(three + more, "zstd", {}, three.size() + cut),
                  failure(errc::bad_compressed_data))
            << cut;
    }
}
// A block that repeats a byte no times: libzstd 1.5.4 takes it in an empty frame that it has whole,
// and refuses it otherwise.
TEST(zstd_bodies, are_read_alike_however_they_are_cut) {
    if (!zstd_available()) GTEST_SKIP() << "built without zstd";
    using namespace std::string_literals;
    const std::string odd = "\x28\xb5\x2f\xfd\x20\x00\x03\x00\x00\x04"s;
    const std::string three = "\x28\xb5\x2f\xfd\x20\x03\x18\x00\x00xxx\x01\x00\x00"s;
    const std::string text = decode(odd, "zstd"), more = decode(three + odd, "zstd");
    for (std::size_t cut = 1; cut < odd.size(); ++cut) {
        EXPECT_EQ(decode(odd, "zstd", {}, cut), text) << cut;
        EXPECT_EQ(decode(three + odd, "zstd", {}, three.size() + cut), more) << cut;
    }
}
// libzstd may read them, and gives them windows of 128 MiB, whatever limit it was set.
TEST(zstd_bodies, are_not_of_formats_before_the_standard) {
    if (!zstd_available()) GTEST_SKIP() << "built without zstd";
    for (const std::string_view first : {"1e", "22", "23", "24", "25", "26", "27"}) {
        const std::string wrong = bytes_of_hex(std::string(first) + "b52ffd0088");
        for (const std::string& body : {wrong, zstd_of_x(3) + wrong}) {
            for (const std::size_t step : {std::size_t{1}, body.size()}) {
                auto d = *body_decoder::of("zstd", {});
                errc failed = errc::none;
                buffer out;
                for (std::size_t at = 0; at < body.size() && failed == errc::none; at += step) {
                    std::string_view piece = std::string_view(body).substr(at, step);
                    failed = d.add(piece, 1000, out);
                }
                EXPECT_EQ(failed, errc::bad_compressed_data) << first << " " << step;
            }
        }
    }
}
TEST(bodies, in_codings_that_are_not_built_in_are_unknown) {
    std::string known;
    append_decoded_codings(known);
    for (const std::string name : {"br", "zstd"}) {
        const bool there = name == "br" ? brotli_available() : zstd_available();
        EXPECT_EQ(body_decoder::of(name, {}).has_value(), there);
        EXPECT_EQ(known.find(name) != std::string::npos, there);
    }
    EXPECT_EQ(decodes_any_coding(), !known.empty());
}

}  // namespace wire::http::body_unpacker_test
