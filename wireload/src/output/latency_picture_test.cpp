#include "output/latency_picture.hpp"

#include <gtest/gtest.h>

namespace wireload::latency_picture_test {

TEST(LatencyPicture, ClassesHoldEverythingAndGrowByOneFactor) {
    histogram h;
    for (int i = 0; i < 1000; ++i) h.record(1'000'000);
    h.record(100'000'000);
    h.record(10'000);
    const auto classes = latency_classes(h, 4);
    ASSERT_EQ(classes.size(), 4U);
    std::uint64_t sum = 0;
    for (const latency_class& c : classes) sum += c.count;
    EXPECT_EQ(sum, 1002U);
    EXPECT_EQ(classes.front().count, 1U);
    EXPECT_EQ(classes.back().count, 1U);
    EXPECT_NEAR(classes.back().upper_ns, 100e6, 1e6);
    EXPECT_NEAR(classes[1].upper_ns / classes[0].upper_ns,
                classes[3].upper_ns / classes[2].upper_ns, 1e-6);
}

TEST(LatencyPicture, IsEmptyWhenThereIsNothingToTellApart) {
    histogram h;
    EXPECT_TRUE(latency_classes(h, 10).empty());
    h.record(5);
    h.record(5);
    EXPECT_EQ(latency_picture(h, painter({})), "");
}

TEST(LatencyPicture, OneInAMillionShows) {
    histogram h;
    for (int i = 0; i < 1'000'000; ++i) h.record(1'000);
    h.record(1'000'000);
    const std::string text = latency_picture(h, painter({}));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "<=  1.00 ms #", text);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "<0.1%            1", text);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ">99.9%    1,000,000", text);
}

TEST(Screen, BarsFillTheirWidthInBothAlphabets) {
    const painter ascii({.colour = false, .utf8 = false});
    EXPECT_EQ(ascii.bar(0, 4), "    ");
    EXPECT_EQ(ascii.bar(0.5, 4), "##  ");
    EXPECT_EQ(ascii.bar(1e-9, 4), "#   ");
    EXPECT_EQ(ascii.bar(7, 4), "####");
    const painter blocks({.colour = false, .utf8 = true});
    EXPECT_EQ(blocks.bar(0.5, 3), "█▌ ");
    EXPECT_EQ(blocks.bar(1, 2), "██");
    EXPECT_EQ(blocks.column(0), "▁");
    EXPECT_EQ(blocks.column(1), "█");
}

TEST(Screen, NumbersForPeople) {
    EXPECT_EQ(grouped(1234567), "1,234,567");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(time_or_dash(std::nullopt), "-");
}

}  // namespace wireload::latency_picture_test
