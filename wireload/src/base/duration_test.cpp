#include "base/duration.hpp"

#include <gtest/gtest.h>

namespace wireload::duration_test {

TEST(ParseDuration, KnowsEveryUnit) {
    EXPECT_EQ(parse_duration("7ns")->count(), 7);
    EXPECT_EQ(parse_duration("20us")->count(), 20'000);
    EXPECT_EQ(parse_duration("500ms")->count(), 500'000'000);
    EXPECT_EQ(parse_duration("10s")->count(), 10'000'000'000);
    EXPECT_EQ(parse_duration("1.5h")->count(), 5'400'000'000'000);
    EXPECT_EQ(parse_duration("1m30s")->count(), 90'000'000'000);
    EXPECT_EQ(parse_duration("0s")->count(), 0);
}

TEST(ParseDuration, RefusesTheRest) {
    for (const char* text : {"", "10", "s", "-1s", "10 s", "1d", "10sec", "1e3s", "99999999h",
                             "infs", "nan", "nans"}) {
        EXPECT_FALSE(parse_duration(text).has_value()) << text;
    }
}

TEST(FormatDuration, KeepsThreeDigits) {
    EXPECT_EQ(format_duration(854), "854 ns");
    EXPECT_EQ(format_duration(12'345), "12.3 us");
    EXPECT_EQ(format_duration(1'234'567), "1.23 ms");
    EXPECT_EQ(format_duration(999'600'000), "1.00 s");
    EXPECT_EQ(format_duration(150e9), "2.50 min");
}

TEST(FormatDuration, HasMoreDigitsWhereALimitIsNear) {
    EXPECT_EQ(format_duration(20e6, 20e6), "20.0 ms");
    EXPECT_EQ(format_duration(20'004'000, 20e6), "20.004 ms");
    EXPECT_EQ(format_duration(19'999'600, 20e6), "19.9996 ms");
    EXPECT_EQ(format_duration(20'004'000, 15e6), "20.0 ms");
    EXPECT_EQ(format_duration(2'100'000, 2'100'000), "2.10 ms");
    EXPECT_EQ(format_duration(2'100'001, 2'100'000), "2.100001 ms");
    EXPECT_EQ(format_duration(999'999'990, 1e9), "0.99999999 s");
    EXPECT_EQ(format_duration(100.25, 100), "100.2 ns");
    EXPECT_EQ(format_duration(1, 0), "1 ns");
}

}  // namespace wireload::duration_test
