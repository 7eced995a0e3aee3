#include "measure/run_result.hpp"

#include <gtest/gtest.h>

namespace wireload::run_result_test {

// A tenth of a second of requests that took a millisecond each, `busy` of the time in flight;
// `samples` of the number in flight gave `sampled`.
run_result with(double busy, std::uint64_t samples, double sampled) {
    run_result r;
    r.elapsed = 100'000'000;
    r.series = std::make_unique<series_collector>(1, false);
    histogram h;
    const auto count = static_cast<std::uint64_t>(100 * busy);
    h.record(1'000'000, count);
    r.series->submit(0, h, count, 0);
    r.counts.in_flight_samples = samples;
    r.in_flight_mean = sampled;
    return r;
}

TEST(Little, FewSamplesThatMissTheMeanAreNoReasonToDistrustTheFigures) {
    EXPECT_TRUE(with(0.6, 3, 1).little_holds(1));
    EXPECT_TRUE(with(0.6, 3, 1.0 / 3).little_holds(1));
    EXPECT_TRUE(with(2.4, 200, 2.3).little_holds(3));
}

TEST(Little, ManySamplesThatMissItAre) {
    EXPECT_FALSE(with(0.6, 10'000, 1).little_holds(1));
    EXPECT_FALSE(with(2.4, 2'000, 2.1).little_holds(3));
    // Where all connections are always busy, there is no chance in it.
    EXPECT_FALSE(with(3, 20, 2.5).little_holds(3));
}

TEST(Little, FivePercentAreAllowed) {
    EXPECT_TRUE(with(3, 1'000'000, 2.9).little_holds(3));
    EXPECT_FALSE(with(3, 1'000'000, 2.8).little_holds(3));
}

}  // namespace wireload::run_result_test
