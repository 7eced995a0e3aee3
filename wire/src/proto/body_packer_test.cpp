// Each coding that bodies are compressed in, read again: cut anywhere, flushed, and used again.
#include "body_packer.hpp"

#include <gtest/gtest.h>

#include <string>

#include "body_coding.hpp"

namespace wire::http {
namespace {

constexpr int usual_level = 3;

std::string lines(int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "line " + std::to_string(i * 7919 % 1000) + " of many\n";
    return text;
}

class packed_bodies : public ::testing::TestWithParam<content_coding> {
protected:
    void SetUp() override {
        if (!can_pack(GetParam())) GTEST_SKIP() << "built without its library";
    }
    std::unique_ptr<body_packer> packer(int level = usual_level) const {
        return make_packer(GetParam(), level);
    }
    body_decoder decoder(int window_bits = packed_window_bits) const {
        return *body_decoder::of(to_string(GetParam()), {}, window_bits);
    }
    static std::string read(body_decoder& by, std::string_view bytes) {
        buffer out;
        while (!bytes.empty() || by.has_more()) {
            if (by.add(bytes, 1 << 20, out) != errc::none) return "<broken>";
        }
        return std::string(out.view());
    }
    std::string decoded(const buffer& bytes) const {
        auto by = decoder();
        std::string text = read(by, bytes.view());
        return by.finish() == errc::none ? text : "<open>";
    }
};

TEST_P(packed_bodies, can_be_read_again_cut_anywhere) {
    const std::string text = lines(20);
    for (const flush between : {flush::none, flush::sync}) {
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            const auto by = packer();
            buffer out;
            ASSERT_EQ(by->add(text.substr(0, cut), between, out), errc::none);
            ASSERT_EQ(by->add(text.substr(cut), flush::finish, out), errc::none);
            ASSERT_EQ(decoded(out), text) << cut;
        }
    }
}
TEST_P(packed_bodies, may_be_large_at_any_level_and_of_bytes_that_do_not_shrink) {
    std::string text = lines(40'000);
    std::uint32_t seed = 1;
    for (int i = 0; i < 300'000; ++i) text += static_cast<char>((seed = seed * 69069 + 1) >> 24);
    for (const int level : {1, 3, 6}) {
        const auto by = packer(level);
        buffer whole;
        ASSERT_EQ(by->add(text, flush::finish, whole), errc::none);
        EXPECT_LT(whole.size(), text.size() * 2 / 3);
        EXPECT_TRUE(decoded(whole) == text) << level;

        const auto other = packer(level);
        buffer pieces;
        for (std::size_t at = 0; at < text.size(); at += 70'000) {
            const auto how = at + 70'000 < text.size() ? flush::sync : flush::finish;
            ASSERT_EQ(other->add(std::string_view(text).substr(at, 70'000), how, pieces),
                      errc::none);
        }
        EXPECT_TRUE(decoded(pieces) == text) << level;
    }
}
TEST_P(packed_bodies, can_be_read_as_far_as_they_were_flushed) {
    const auto by = packer();
    auto reader = decoder();
    for (int i = 0; i < 50; ++i) {
        const std::string piece = "data: " + std::to_string(i) + "\n\n";
        buffer out;
        ASSERT_EQ(by->add(piece, flush::sync, out), errc::none);
        EXPECT_EQ(read(reader, out.view()), piece);
        EXPECT_EQ(reader.finish(), errc::bad_compressed_data);  // not its end
        const std::size_t before = out.size();
        ASSERT_EQ(by->add("", flush::sync, out), errc::none);
        EXPECT_EQ(out.size(), before);
    }
    buffer out;
    ASSERT_EQ(by->add("", flush::finish, out), errc::none);
    EXPECT_EQ(read(reader, out.view()), "");
    EXPECT_EQ(reader.finish(), errc::none);
}
TEST_P(packed_bodies, may_be_empty) {
    buffer out;
    ASSERT_EQ(packer()->add("", flush::finish, out), errc::none);
    EXPECT_FALSE(out.empty());
    EXPECT_EQ(decoded(out), "");
}
TEST_P(packed_bodies, come_one_after_another_of_one_packer) {
    const auto by = packer();
    buffer first;
    ASSERT_EQ(by->add(lines(100), flush::finish, first), errc::none);
    if (!by->reset()) {
        EXPECT_EQ(GetParam(), content_coding::br);
        return;
    }
    buffer out;
    ASSERT_EQ(by->add("given up", flush::none, out), errc::none);
    ASSERT_TRUE(by->reset());
    buffer again;
    ASSERT_EQ(by->add(lines(100), flush::finish, again), errc::none);
    EXPECT_EQ(again.view(), first.view());
}
TEST_P(packed_bodies, have_the_levels_of_their_library) {
    const bool deflate =
        GetParam() == content_coding::gzip || GetParam() == content_coding::deflate;
    const int most = deflate ? 9 : GetParam() == content_coding::br ? 11 : 22;
    const int least = GetParam() == content_coding::zstd ? 1 : 0;
    for (const int level : {least, most}) EXPECT_TRUE(packer(level)) << level;
    for (const int level : {least - 1, most + 1, -1000}) EXPECT_FALSE(packer(level)) << level;
}
INSTANTIATE_TEST_SUITE_P(codings, packed_bodies,
                         ::testing::Values(content_coding::gzip, content_coding::deflate,
                                           content_coding::br, content_coding::zstd),
                         [](const auto& of) { return std::string(to_string(of.param)); });

TEST(body_packer, of_identity_is_none) {
    EXPECT_FALSE(can_pack(content_coding::identity));
    EXPECT_FALSE(make_packer(content_coding::identity, usual_level));
}

}  // namespace
}  // namespace wire::http
