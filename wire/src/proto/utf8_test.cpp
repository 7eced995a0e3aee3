// Valid and invalid text at every split, against a plain decoder.
#include "wire/proto/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pieces.hpp"

namespace wire::utf8_test {

// RFC 3629 section 3, by decoding: slow and plain, to compare with.
bool is_valid_by_decoding(std::string_view s) {
    for (std::size_t i = 0; i < s.size();) {
        const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
        const unsigned lead = byte(i);
        const std::size_t n = lead < 0x80       ? 1
                              : lead >> 5 == 6  ? 2
                              : lead >> 4 == 14 ? 3
                              : lead >> 3 == 30 ? 4
                                                : 0;
        if (n == 0 || i + n > s.size()) return false;
        unsigned code = n == 1 ? lead : lead & (0xFFU >> (n + 1));
        for (std::size_t k = 1; k < n; ++k) {
            if (byte(i + k) >> 6 != 2) return false;
            code = code << 6 | (byte(i + k) & 0x3F);
        }
        const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
        if (code < least[n] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
        i += n;
    }
    return true;
}

TEST(utf8, every_sequence_of_two_bytes_and_every_lead_with_edges) {
    for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
            const std::string two{static_cast<char>(a), static_cast<char>(b)};
            ASSERT_EQ(is_utf8(two), is_valid_by_decoding(two)) << a << " " << b;
            for (const int c : {0x7F, 0x80, 0xBF, 0xC0}) {
                const std::string three = two + static_cast<char>(c);
                ASSERT_EQ(is_utf8(three), is_valid_by_decoding(three)) << a << " " << b << " " << c;
                for (const int d : {0x41, 0x80, 0xBF, 0xC2}) {
                    const std::string four = three + static_cast<char>(d);
                    ASSERT_EQ(is_utf8(four), is_valid_by_decoding(four))
                        << a << " " << b << " " << c << " " << d;
                }
            }
        }
    }
}
TEST(utf8, in_pieces_within_long_text) {
    const std::string text = std::string(20, 'a') + "\xCE\xBA\xE1\xBD\xB9\xF0\x9F\x98\x80" +
                             std::string(33, 'b') + "\xEF\xBF\xBF";
    for (const auto& cut : testing::all_cuts(text)) {
        utf8_validator v;
        for (const auto piece : cut) ASSERT_TRUE(v.feed(piece));
        EXPECT_TRUE(v.complete());
    }
}
TEST(utf8, fails_at_the_first_byte_that_cannot_be_right) {
    utf8_validator v;
    EXPECT_TRUE(v.feed("\xF4"));
    EXPECT_FALSE(v.complete());
    EXPECT_FALSE(v.feed("\x90"));  // beyond U+10FFFF
    EXPECT_FALSE(v.feed("a"));     // for good
    v.reset();
    EXPECT_TRUE(v.feed("a"));
    EXPECT_TRUE(v.complete());
    EXPECT_TRUE(v.feed("\xE2\x82"));
    EXPECT_FALSE(v.complete());
}

}  // namespace wire::utf8_test
