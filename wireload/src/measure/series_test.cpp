#include "measure/series.hpp"

#include <gtest/gtest.h>

namespace wireload::series_test {

histogram of(std::initializer_list<std::uint64_t> values) {
    histogram h;
    for (const std::uint64_t v : values) h.record(v);
    return h;
}

TEST(Series, JoinsTheThreadsOfEachInterval) {
    series_collector series(2, false);
    series.submit(0, of({10, 20}), 2, 0);
    series.submit(1, of({}), 0, 3);
    EXPECT_TRUE(series.records().empty());
    series.submit(0, of({30}), 1, 1);
    ASSERT_EQ(series.records().size(), 1U);
    EXPECT_EQ(series.records()[0].ok, 3U);
    EXPECT_EQ(series.records()[0].errors, 1U);
    EXPECT_EQ(series.records()[0].p50_ns, 20U);
    EXPECT_EQ(series.records()[0].max_ns, 30U);
    series.finish();  // the second thread never reached interval 1
    ASSERT_EQ(series.records().size(), 2U);
    EXPECT_EQ(series.records()[1].errors, 3U);
    EXPECT_FALSE(series.records()[1].p50_ns.has_value());
    EXPECT_EQ(series.total().count(), 3U);
    EXPECT_FALSE(series.latencies_of(0));
}

TEST(Series, WaitsForNoThreadThatHasLeft) {
    series_collector series(2, false);
    series.submit(0, of({10}), 1, 0);
    series.submit(1, of({20}), 1, 0);
    series.submit(0, of({30}), 1, 0);
    ASSERT_EQ(series.records().size(), 1U);
    series.leave(1);
    ASSERT_EQ(series.records().size(), 2U);
    series.submit(2, of({40}), 1, 0);
    ASSERT_EQ(series.records().size(), 3U);
    EXPECT_EQ(series.records()[2].p50_ns, 40U);
    EXPECT_EQ(series.total().count(), 4U);
}

TEST(Series, ReusesHistogramsWithoutMixingIntervals) {
    series_collector series(1, false);
    series.submit(0, of({10, 20, 30}), 3, 0);
    series.submit(1, of({1000}), 1, 0);
    series.finish();
    EXPECT_EQ(series.records()[1].p50_ns, 1000U);
    EXPECT_EQ(series.records()[1].max_ns, 1000U);
    EXPECT_EQ(series.total().count(), 4U);
}

TEST(Series, KeepsHistogramsWhenAsked) {
    series_collector series(1, true);
    series.submit(0, of({10}), 1, 0);
    series.submit(1, of({20, 21}), 2, 0);
    series.finish();
    ASSERT_TRUE(series.latencies_of(1));
    EXPECT_EQ(series.latencies_of(0)->count(), 1U);
    EXPECT_EQ(series.latencies_of(1)->count(), 2U);
    EXPECT_FALSE(series.latencies_of(2));
}

TEST(Series, SomebodyWhoLooksGetsEachCompletedIntervalOnce) {
    series_collector series(2, false);
    series.watch();
    histogram h;
    h.record(100);
    series.submit(0, h, 1, 2);
    EXPECT_EQ(series.take_new().intervals, 0U);  // the other thread is still in it
    series.submit(0, h, 1, 0);
    series.submit(1, h, 1, 0);
    const live_slice first = series.take_new();
    EXPECT_EQ(first.intervals, 1U);
    EXPECT_EQ(first.ok, 2U);
    EXPECT_EQ(first.errors, 2U);
    EXPECT_EQ(first.latencies.count(), 2U);
    EXPECT_EQ(series.take_new().intervals, 0U);
    series.finish();
    EXPECT_EQ(series.take_new().ok, 1U);
    EXPECT_EQ(series.total().count(), 3U);
}

}  // namespace wireload::series_test
