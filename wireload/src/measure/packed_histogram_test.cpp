#include "measure/packed_histogram.hpp"

#include <gtest/gtest.h>

namespace wireload::packed_histogram_test {

void expect_same(const histogram& a, const histogram& b) {
    EXPECT_EQ(a.count(), b.count());
    EXPECT_EQ(a.min_ns(), b.min_ns());
    EXPECT_EQ(a.max_ns(), b.max_ns());
    EXPECT_EQ(a.mean_ns(), b.mean_ns());
    ASSERT_EQ(a.used_buckets(), b.used_buckets());
    for (std::size_t i = 0; i < a.used_buckets(); ++i) ASSERT_EQ(a.count_at(i), b.count_at(i)) << i;
}

TEST(PackedHistogram, UnpacksToTheSame) {
    histogram h;
    expect_same(packed_histogram(h).unpacked(), h);
    h.record(0);
    expect_same(packed_histogram(h).unpacked(), h);
    h.record(UINT64_MAX);
    expect_same(packed_histogram(h).unpacked(), h);
    for (std::uint64_t ns = 1; ns < histogram::highest_ns; ns = ns * 9 / 8 + 1)
        h.record(ns, ns % 300 + 1);
    h.record(127, 127);
    h.record(128, 128);
    h.record(1'000'000, std::uint64_t{1} << 40);
    expect_same(packed_histogram(h).unpacked(), h);
}

TEST(PackedHistogram, MayGoOnAfterwards) {
    histogram h;
    h.record(5'000);
    h.record(70'000, 3);
    histogram again = packed_histogram(h).unpacked();
    again.record(60);
    h.record(60);
    expect_same(again, h);
    again.clear();
    expect_same(again, histogram());
    again.record(1);
    EXPECT_EQ(again.percentile_ns(100), 1U);
}

}  // namespace wireload::packed_histogram_test
