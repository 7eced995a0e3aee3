#include "measure/omission.hpp"

#include <gtest/gtest.h>

namespace wireload::omission_test {

constexpr std::uint64_t ms = 1'000'000;

// One by one, as HdrHistogram does it.
histogram plainly(const histogram& measured, std::uint64_t expected) {
    histogram out;
    for (std::size_t i = 0; i < measured.used_buckets(); ++i) {
        for (std::uint64_t n = measured.count_at(i); n > 0; --n) {
            const std::uint64_t value = std::min(histogram::highest_of(i), *measured.max_ns());
            out.record(value);
            for (std::uint64_t missing = value; missing >= 2 * expected; missing -= expected)
                out.record(missing - expected);
        }
    }
    return out;
}

TEST(Omission, QuickAnswersMissNothing) {
    histogram h;
    for (int i = 0; i < 100; ++i) h.record(ms);
    const histogram corrected = corrected_for_omission(h, 10 * ms);
    EXPECT_EQ(corrected.count(), 100U);
    EXPECT_EQ(corrected.max_ns(), ms);
}

// The example of Tene's talk: 100 s at 100 requests a second answered in 1 ms, then a freeze of 100
// s.
TEST(Omission, AFreezeIsSpreadOverThoseWhoWouldHaveWaited) {
    histogram h;
    for (int i = 0; i < 10'000; ++i) h.record(ms);
    h.record(100'000 * ms);
    const histogram corrected = corrected_for_omission(h, 10 * ms);
    EXPECT_EQ(corrected.count(), 20'000U);
    EXPECT_EQ(*h.percentile_ns(99), histogram::highest_of(histogram::index_of(ms)) < *h.max_ns()
                                        ? histogram::highest_of(histogram::index_of(ms))
                                        : ms);
    EXPECT_NEAR(static_cast<double>(*corrected.percentile_ns(75)), 50e9, 0.002 * 50e9);
    EXPECT_NEAR(static_cast<double>(*corrected.percentile_ns(99)), 98e9, 0.002 * 98e9);
    EXPECT_EQ(corrected.max_ns(), 100'000 * ms);
    EXPECT_EQ(corrected.min_ns(), ms);
}

TEST(Omission, BucketsAtOnceAreAsGoodAsOneByOne) {
    histogram h;
    for (std::uint64_t i = 0, value = 777; i < 300; ++i, value = value * 37 % 9'000'011)
        h.record(value);
    for (const std::uint64_t expected : {std::uint64_t{1'000}, std::uint64_t{2'049},
                                         std::uint64_t{100'000}, std::uint64_t{4'500'000}}) {
        const histogram fast = corrected_for_omission(h, expected);
        const histogram slow = plainly(h, expected);
        ASSERT_EQ(fast.count(), slow.count()) << expected;
        EXPECT_NEAR(*fast.mean_ns(), *slow.mean_ns(), *slow.mean_ns() / 1000);
        for (const double percent : {1.0, 10.0, 50.0, 90.0, 99.0, 99.9}) {
            EXPECT_NEAR(static_cast<double>(*fast.percentile_ns(percent)),
                        static_cast<double>(*slow.percentile_ns(percent)),
                        static_cast<double>(*slow.percentile_ns(percent)) / 1000)
                << percent << " at " << expected;
        }
    }
}

TEST(Omission, HoursOfWaitingAtOneNanosecondComeToAnEnd) {
    histogram h;
    h.record(histogram::highest_ns * 2);
    EXPECT_GT(corrected_for_omission(h, 1).count(), 3'000'000'000'000U);
    EXPECT_TRUE(corrected_for_omission(histogram(), 5).empty());
}

}  // namespace wireload::omission_test
