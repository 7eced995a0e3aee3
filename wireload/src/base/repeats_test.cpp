#include "base/repeats.hpp"

#include <string>

#include <gtest/gtest.h>

namespace wireload::repeats_test {

TEST(CountRepeats, StopsAtTheFirstThatDiffersIsCutOffOrIsNotCalledFor) {
    const std::string text = "reply ";
    for (std::size_t n = 0; n < 6; ++n) {
        std::string in;
        for (std::size_t i = 0; i < n; ++i) in += text;
        for (std::size_t most = 0; most < 8; ++most) {
            EXPECT_EQ(count_repeats(in, text, most), std::min(n, most));
            // With every part of one more behind them.
            for (std::size_t part = 1; part < text.size(); ++part)
                EXPECT_EQ(count_repeats(in + text.substr(0, part), text, most), std::min(n, most));
        }
        for (std::size_t i = 0; i < in.size(); ++i) {
            std::string other = in;
            other[i] = '!';
            EXPECT_EQ(count_repeats(other, text, 8), i / text.size());
        }
    }
}

TEST(CountRepeats, IsNotMisledByTextThatRepeatsItself) {
    EXPECT_EQ(count_repeats("aaaaa", "aa", 8), 2U);
    EXPECT_EQ(count_repeats("aaaaab", "aa", 8), 2U);
    EXPECT_EQ(count_repeats("abababab", "ab", 3), 3U);
}

}  // namespace wireload::repeats_test
