#include "measure/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace wireload::histogram_test {

TEST(Histogram, EmptyHasNoFigures) {
    const histogram h;
    EXPECT_EQ(h.count(), 0U);
    EXPECT_FALSE(h.min_ns().has_value());
    EXPECT_FALSE(h.max_ns().has_value());
    EXPECT_FALSE(h.mean_ns().has_value());
    EXPECT_FALSE(h.stddev_ns().has_value());
    EXPECT_FALSE(h.percentile_ns(50).has_value());
    EXPECT_EQ(h.used_buckets(), 0U);
}

TEST(Histogram, ExtremesCountAndMeanAreExact) {
    histogram h;
    for (const std::uint64_t v :
         {std::uint64_t{3}, std::uint64_t{1'000'003}, std::uint64_t{7'200'000'000'123}})
        h.record(v);
    EXPECT_EQ(h.min_ns(), 3U);
    EXPECT_EQ(h.max_ns(), 7'200'000'000'123U);
    EXPECT_EQ(h.count(), 3U);
    EXPECT_DOUBLE_EQ(*h.mean_ns(), (3.0 + 1'000'003.0 + 7'200'000'000'123.0) / 3);
}

TEST(Histogram, ZeroIsRecorded) {
    histogram h;
    h.record(0);
    EXPECT_EQ(h.min_ns(), 0U);
    EXPECT_EQ(h.percentile_ns(50), 0U);
}

// Around every power of two, where the bucket changes: the bucket of a value holds it and is narrow
// enough.
TEST(Histogram, EveryBucketHoldsItsValuesToThreeDigits) {
    for (int bit = 0; bit < 42; ++bit) {
        for (int delta = -2; delta <= 2; ++delta) {
            const auto power = static_cast<std::int64_t>(std::uint64_t{1} << bit) + delta;
            if (power < 0 || static_cast<std::uint64_t>(power) > histogram::highest_ns) continue;
            const auto value = static_cast<std::uint64_t>(power);
            const std::size_t i = histogram::index_of(value);
            EXPECT_LE(histogram::lowest_of(i), value);
            EXPECT_GE(histogram::highest_of(i), value);
            EXPECT_EQ(histogram::index_of(histogram::lowest_of(i)), i);
            EXPECT_EQ(histogram::index_of(histogram::highest_of(i)), i);
            const std::uint64_t width = histogram::highest_of(i) - histogram::lowest_of(i) + 1;
            EXPECT_LE(static_cast<double>(width - 1), static_cast<double>(value) / 1000);
        }
    }
}

TEST(Histogram, BucketsLeaveNoGap) {
    for (std::size_t i = 1; i <= histogram::index_of(histogram::highest_ns); ++i) {
        ASSERT_EQ(histogram::lowest_of(i), histogram::highest_of(i - 1) + 1) << i;
    }
}

TEST(Histogram, PercentilesMatchTheSortedValues) {
    std::mt19937_64 random(42);
    std::lognormal_distribution<double> shape(12, 1.5);
    std::vector<std::uint64_t> values;
    histogram h;
    for (int i = 0; i < 20'000; ++i) {
        values.push_back(static_cast<std::uint64_t>(shape(random)));
        h.record(values.back());
    }
    std::sort(values.begin(), values.end());
    // In thousandths, whose ranks are exact in integers.
    for (const std::size_t thousandths : {0U, 10U, 250U, 500U, 900U, 990U, 999U, 1000U}) {
        const std::size_t rank = std::max<std::size_t>(1, (20'000 * thousandths + 999) / 1000);
        const double p = static_cast<double>(thousandths) / 10;
        const auto exact = static_cast<double>(values[rank - 1]);
        const auto got = static_cast<double>(*h.percentile_ns(p));
        EXPECT_GE(got, exact);
        EXPECT_LE(got, exact * 1.001 + 1) << p;
    }
    EXPECT_EQ(h.percentile_ns(100), values.back());
}

TEST(Histogram, RanksAreNotOneTooHigh) {
    // 99.9 / 100 in binary is more than 0.999.
    for (const unsigned thousands : {1U, 2U, 3U, 7U, 10U, 50U}) {
        histogram h;
        for (unsigned i = 0; i < thousands * 1000; ++i)
            h.record(i < thousands * 999 ? 1'000'000 : 100'000'000);
        EXPECT_LT(*h.percentile_ns(99.9), 2'000'000U) << thousands;
        EXPECT_GT(*h.percentile_ns(99.95), 90'000'000U) << thousands;
    }
}

TEST(Histogram, PercentilesNearTheEndNeedTenSamplesBeyondToo) {
    histogram h;
    h.record(5, 9'999'999);
    EXPECT_FALSE(h.supported_percentile_ns(99.9999));
    h.record(5);
    EXPECT_TRUE(h.supported_percentile_ns(99.9999));
}

TEST(Histogram, StandardDeviationIsClose) {
    histogram h;
    for (int i = 0; i < 1000; ++i) h.record(i % 2 == 0 ? 1'000'000 : 3'000'000);
    EXPECT_NEAR(*h.stddev_ns(), 1'000'000, 2'000);
}

TEST(Histogram, MergeLosesNothing) {
    std::mt19937_64 random(1);
    histogram a, b, both;
    for (int i = 0; i < 5'000; ++i) {
        const std::uint64_t value = random() % 10'000'000'000;
        (i % 3 == 0 ? a : b).record(value);
        both.record(value);
    }
    a.merge(b);
    a.merge(histogram{});
    EXPECT_EQ(a.count(), both.count());
    EXPECT_EQ(a.min_ns(), both.min_ns());
    EXPECT_EQ(a.max_ns(), both.max_ns());
    EXPECT_EQ(a.mean_ns(), both.mean_ns());
    for (std::size_t i = 0; i < both.used_buckets(); ++i)
        ASSERT_EQ(a.count_at(i), both.count_at(i));
}

TEST(Histogram, ClearForgetsEverything) {
    histogram h;
    for (std::uint64_t v = 1; v < 1'000'000'000'000; v *= 3) h.record(v);
    h.clear();
    EXPECT_TRUE(h.empty());
    h.record(5);
    EXPECT_EQ(h.percentile_ns(100), 5U);
    EXPECT_EQ(h.used_buckets(), 6U);
    h.merge(histogram{});
    EXPECT_EQ(h.count(), 1U);
}

TEST(Histogram, PercentilesNeedTenSamplesBeyond) {
    histogram h;
    for (int i = 0; i < 999; ++i) h.record(100);
    EXPECT_FALSE(h.supported_percentile_ns(99).has_value());
    h.record(100);
    EXPECT_EQ(h.supported_percentile_ns(99), 100U);
    EXPECT_FALSE(h.supported_percentile_ns(99.9).has_value());
    EXPECT_FALSE(histogram{}.supported_percentile_ns(50).has_value());
}

TEST(PercentileName, IsShort) {
    EXPECT_EQ(percentile_name(50), "50");
    EXPECT_EQ(percentile_name(99.99), "99.99");
}

}  // namespace wireload::histogram_test
