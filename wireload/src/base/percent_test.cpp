#include "base/percent.hpp"

#include <gtest/gtest.h>

namespace wireload::percent_test {

TEST(Percent, HasThreeDigits) {
    EXPECT_EQ(format_percent(0), "0%");
    EXPECT_EQ(format_percent(10), "10%");
    EXPECT_EQ(format_percent(12.345), "12.3%");
    EXPECT_EQ(format_percent(100), "100%");
    EXPECT_EQ(format_percent(152.4), "152%");
    EXPECT_EQ(format_percent(1234.5), "1234%");
    EXPECT_EQ(format_percent(0.0000123456), "0.0000123%");
}

TEST(Percent, IsNot100WhereSomethingIsMissing) {
    EXPECT_EQ(format_percent(99.94), "99.9%");
    EXPECT_EQ(format_percent(99.95), "99.95%");
    EXPECT_EQ(format_percent(99.996), "99.996%");
    EXPECT_EQ(format_percent(100.04), "100.04%");
}

TEST(Percent, StaysOnItsSideOfALimit) {
    EXPECT_EQ(format_percent(0.1, 0.1), "0.1%");
    EXPECT_EQ(format_percent(0.10004, 0.1), "0.10004%");
    EXPECT_EQ(format_percent(79.98, 80), "79.98%");
    EXPECT_EQ(format_percent(79.98, 75), "80%");
}

TEST(Percent, ColumnsHaveOneWidthOfDecimals) {
    EXPECT_EQ(format_percent_in_column(100, 2), "100.00%");
    EXPECT_EQ(format_percent_in_column(99.996, 2), ">99.99%");
    EXPECT_EQ(format_percent_in_column(99.99, 2), "99.99%");
    EXPECT_EQ(format_percent_in_column(0, 2), "0.00%");
    EXPECT_EQ(format_percent_in_column(0.004, 2), "<0.01%");
    EXPECT_EQ(format_percent_in_column(99.96, 1), ">99.9%");
    EXPECT_EQ(format_percent_in_column(0.04, 1), "<0.1%");
}

}  // namespace wireload::percent_test
