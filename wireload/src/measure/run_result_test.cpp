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

TEST(CpuTime, IsForTheRepliesOfTheTimeItWasMeteredIn) {
    run_result r = with(1, 100, 1);
    r.counts.ok = 100;
    EXPECT_EQ(r.answered_while_metered(), 100U);
    r.open_loop.emplace().counts.answered_in_window = 60;  // and 40 while the last were waited for
    EXPECT_EQ(r.answered_while_metered(), 60U);
    r.open_loop->counts.answered_in_window = 130;  // 30 were due in the warm-up
    EXPECT_EQ(r.answered_while_metered(), 130U);
    r.stopped_by = stop_reason::requests;  // metered until the last reply
    EXPECT_EQ(r.answered_while_metered(), 100U);
    r.open_loop.reset();
    r.turns.emplace().answered = 150;
    EXPECT_EQ(r.answered_while_metered(), 150U);
}

}  // namespace wireload::run_result_test
