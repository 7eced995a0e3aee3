#include "base/printable.hpp"

#include <gtest/gtest.h>

namespace wireload::printable_test {

TEST(Printable, EscapesAndTellsHowManyThereAre) {
    EXPECT_EQ(printable("a\r\n\t\\\x01\xff"), "a\\r\\n\\t\\\\\\x01\\xff");
    EXPECT_EQ(printable("12345", 5), "12345");
    EXPECT_EQ(printable("123456", 5), "12345... (6 bytes in all)");
}

TEST(Printable, AnExcerptTellsHowManyThereAre) {
    EXPECT_EQ(excerpt("\r\n"), "\r\n");
    const std::string long_text(5'000, 'x');
    const std::string part = excerpt(long_text);
    EXPECT_TRUE(part.starts_with("xxxx"));
    EXPECT_TRUE(part.ends_with("x... (5000 bytes in all)"));
    // With a few words before it, it is not cut again.
    const std::string told = std::string(80, 'y') + part;
    EXPECT_EQ(printable(told), told);
}

}  // namespace wireload::printable_test
