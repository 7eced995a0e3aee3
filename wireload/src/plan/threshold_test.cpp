#include "plan/threshold.hpp"

#include <gtest/gtest.h>

#include "engine/run.hpp"

namespace wireload {
namespace {

threshold good(std::string_view text) {
    auto parsed = parse_threshold(text);
    if (const auto* problem = std::get_if<std::string>(&parsed)) throw std::runtime_error(*problem);
    return std::get<threshold>(std::move(parsed));
}

std::string problem(std::string_view text) {
    const auto parsed = parse_threshold(text);
    const auto* wrong = std::get_if<std::string>(&parsed);
    return wrong == nullptr ? "accepted" : *wrong;
}

TEST(Threshold, ReadsEveryMetricAndOperator) {
    const threshold p = good("p99.9 >= 20ms");
    EXPECT_EQ(p.metric, threshold_metric::percentile);
    EXPECT_DOUBLE_EQ(p.percent, 99.9);
    EXPECT_TRUE(p.greater);
    EXPECT_TRUE(p.or_equal);
    EXPECT_DOUBLE_EQ(p.limit, 20e6);
    EXPECT_EQ(p.unit(), "ns");
    EXPECT_EQ(p.text, "p99.9 >= 20ms");

    EXPECT_EQ(good("errors>0.1%").metric, threshold_metric::errors_percent);
    EXPECT_DOUBLE_EQ(good("errors>0.1%").limit, 0.1);
    EXPECT_EQ(good("errors>10").metric, threshold_metric::errors);
    EXPECT_EQ(good("rate<10000").metric, threshold_metric::rate);
    EXPECT_FALSE(good("rate<10000").greater);
    EXPECT_EQ(good("ok<=5").unit(), "1");
    EXPECT_EQ(good("generator>80%").unit(), "%");
    EXPECT_DOUBLE_EQ(good("max>1m30s").limit, 90e9);
    EXPECT_EQ(good(" mean > 1ms ").metric, threshold_metric::mean);
    EXPECT_EQ(good("min<1us").metric, threshold_metric::min);
}

TEST(Threshold, ProblemsSayWhereAndWhatToDo) {
    for (const auto& [text, said] : std::initializer_list<std::pair<const char*, const char*>>{
             {"", "at 1: an operator is missing"},
             {"p99", "at 4: an operator is missing"},
             {">1", "at 1: a metric is missing"},
             {"p9x>1ms", "at 1: 'p9x' is not a metric"},
             {" avg>1ms", "at 2: 'avg' is not a metric"},
             {"avg>1ms", "did you mean mean?"},
             {"median>1ms", "did you mean p50?"},
             {"eror>1", "did you mean errors?"},
             {"p100>1ms", "between 0 and 100"},
             {"p0>1ms", "between 0 and 100"},
             {"pnan>1ms", "is not a metric"},
             {"p99>20", "at 5: '20': p99 is a time; give it with its unit, such as 20ms or 20us"},
             {"p99> soon", "at 6: 'soon'"},
             {"p99>", "at 5: a value is missing"},
             {"p99==1ms", "at 4: '==' is not one of"},
             {"p99=>1ms", "'=>' is not one of"},
             {"p99!=1ms", "is not one of"},
             {"rate<5%", "rate is compared with a number"},
             {"generator>1", "a share, such as 80%"},
             {"errors>x", "a count or a share"},
             {"errors>-1", "a count or a share"},
             {"ok<inf", "a number"},
             {"lag>1ms", "did you mean lag_p99?"},
             {"lag_ok>1", "'lag_ok' is not a metric"},
             {"service_rate>1", "is not a metric"},
         }) {
        EXPECT_PRED_FORMAT2(testing::IsSubstring, said, problem(text)) << text;
    }
}

// A thousand replies in two seconds, of 1 to 1000 us; 10 errors beside them.
run_result measured() {
    run_result r;
    r.series = std::make_unique<series_collector>(1, false);
    histogram h;
    for (std::uint64_t us = 1; us <= 1000; ++us) h.record(us * 1000);
    r.series->submit(0, h, 1000, 10);
    r.counts.ok = 1000;
    r.counts.errors[error_kind::bad_body] = 10;
    r.elapsed = 2'000'000'000;
    r.generator.cpu_share = 0.5;
    return r;
}

TEST(Threshold, IsJudgedByWhatWasMeasured) {
    const run_result r = measured();
    for (const auto& [text, holds] : std::initializer_list<std::pair<const char*, bool>>{
             {"p50>499us", true},      {"p50>502us", false},     {"p99<1ms", true},
             {"max>=1ms", true},       {"max>1ms", false},       {"min<=1us", true},
             {"min<1us", false},       {"mean>500us", true},     {"mean>501us", false},
             {"errors>9", true},       {"errors>10", false},     {"errors>=10", true},
             {"errors>0.99%", true},   {"errors>1%", false},     {"rate<501", true},
             {"rate<500", false},      {"ok<1000", false},       {"ok<1001", true},
             {"generator>=50%", true}, {"generator>50%", false},
         }) {
        const judgement j = judge(good(text), r);
        ASSERT_TRUE(j.holds.has_value()) << text;
        EXPECT_EQ(*j.holds, holds) << text;
        EXPECT_EQ(fails(j), holds) << text;
    }
}

TEST(Threshold, OfAnOpenLoopLagAndServiceTimeAsWell) {
    run_result r = measured();
    EXPECT_EQ(judge(good("lag_p99<1h"), r).why_undecided, "only an open loop (--rate) has it");
    r.open_loop.emplace();
    for (int i = 0; i < 1000; ++i) r.open_loop->lag.record(5'000);
    for (int i = 0; i < 1000; ++i) r.open_loop->service.record(70'000);
    EXPECT_TRUE(*judge(good("lag_p99<6us"), r).holds);
    EXPECT_FALSE(*judge(good("lag_p99>6us"), r).holds);
    EXPECT_TRUE(*judge(good("service_max>69us"), r).holds);
    EXPECT_TRUE(*judge(good("service_mean<71us"), r).holds);
    EXPECT_FALSE(judge(good("lag_p99.9>1us"), r).holds.has_value());
}

TEST(Threshold, WithTooFewSamplesItIsNotDecidedAndFails) {
    const run_result r = measured();
    EXPECT_TRUE(judge(good("p99>1h"), r).holds.has_value());
    const judgement j = judge(good("p99.9>1h"), r);
    EXPECT_FALSE(j.holds.has_value());
    EXPECT_FALSE(j.value.has_value());
    EXPECT_EQ(j.why_undecided, "1000 samples, it takes 10000");
    EXPECT_TRUE(fails(j));

    run_result nothing;
    nothing.series = std::make_unique<series_collector>(1, false);
    for (const char* text : {"max>1h", "mean>1h", "errors>1%", "rate<0", "generator>1%"})
        EXPECT_TRUE(fails(judge(good(text), nothing))) << text;
    EXPECT_FALSE(fails(judge(good("errors>0"), nothing)));
}

}  // namespace
}  // namespace wireload
