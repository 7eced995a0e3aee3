#include "output/judgement.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

#include "command_line/threshold_parser.hpp"

namespace wireload::judgement_test {

threshold good(std::string_view text) {
    auto parsed = parse_threshold(text);
    if (const auto* problem = std::get_if<std::string>(&parsed)) throw std::runtime_error(*problem);
    return std::get<threshold>(std::move(parsed));
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

TEST(Threshold, AGeneratorThatAQuotaStoppedHasUsedAllItMay) {
    run_result r = measured();
    r.generator.quota.window = r.elapsed;
    r.generator.quota.stopped = {.periods = 1, .time = 19'000'000};
    EXPECT_FALSE(fails(judge(good("generator>50%"), r)));
    r.generator.quota.stopped = {.periods = 1, .time = 20'000'000};
    EXPECT_TRUE(fails(judge(good("generator>=100%"), r)));
}

TEST(Threshold, TheShareOfErrorsOfIdleConnectionsIsOfThoseHeld) {
    run_result r = measured();
    r.counts.ok = 0;
    r.idle.emplace().held = 990;
    EXPECT_DOUBLE_EQ(*judge(good("errors>1%"), r).value, 1);
    r.counts.errors = {};
    EXPECT_FALSE(*judge(good("errors>1%"), r).holds);
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

// Its times are those of another load; that the rate was kept leaves the counts what they are.
TEST(Threshold, WhatAGeneratorThatSentLateMeasuredOfTheServerIsNotDecided) {
    run_result r = measured();
    open_loop_result& open = r.open_loop.emplace();
    open.counts.answered_in_window = 1000;
    for (int i = 0; i < 1000; ++i) {
        open.lag.record(5'000);
        open.service.record(70'000);
    }
    EXPECT_FALSE(fails(judge(good("p99>1h"), r)));
    for (int i = 0; i < 1000; ++i) open.displacement.record(200'000'000);
    for (const char* text : {"p99>1h", "p99>1us", "mean>1h", "service_p50>1h"}) {
        const judgement j = judge(good(text), r);
        EXPECT_TRUE(j.value.has_value()) << text;
        EXPECT_FALSE(j.holds.has_value()) << text;
        EXPECT_EQ(j.why_undecided, "the window is void") << text;
        EXPECT_TRUE(fails(j)) << text;
    }
    for (const char* text : {"lag_p99>1h", "generator>99%", "errors>10", "ok<1", "rate<1"})
        EXPECT_FALSE(fails(judge(good(text), r))) << text;
}

TEST(Threshold, OfARateThatTheGeneratorMissedOnlyItsOwnFiguresAreDecided) {
    run_result r = measured();
    open_loop_result& open = r.open_loop.emplace();
    open.counts.scheduled = 1000;
    open.counts.sent_in_window = open.counts.answered_in_window = 500;
    for (int i = 0; i < 1000; ++i) {
        open.lag.record(90'000);
        open.service.record(70'000);
    }
    for (const char* text : {"p99>1h", "errors>10", "errors>50%", "ok<1", "rate<1"})
        EXPECT_FALSE(judge(good(text), r).holds.has_value()) << text;
    for (const char* text : {"lag_p99>1h", "generator>99%"})
        EXPECT_FALSE(fails(judge(good(text), r))) << text;
    r.stopped_by = stop_reason::error;
    EXPECT_FALSE(fails(judge(good("errors>10"), r))) << "nothing worked any more";
    EXPECT_FALSE(judge(good("p99>1h"), r).holds.has_value());
    r.stopped_by = stop_reason::duration;
    // A server that was the limit is a finding.
    open.lag.clear();
    for (int i = 0; i < 1000; ++i) open.lag.record(1'000);
    EXPECT_TRUE(*judge(good("rate<501"), r).holds);
}

TEST(Threshold, TheRateIsWhatWasCountedAlsoAtTheLimit) {
    run_result r = measured();
    for (const nanos ms : {9, 17, 18, 34, 700, 1'100, 10'000}) {
        r.elapsed = ms * 1'000'000;
        r.counts.ok = static_cast<std::uint64_t>(ms);
        EXPECT_FALSE(*judge(good("rate<1000"), r).holds) << ms;
        EXPECT_FALSE(*judge(good("rate>1000"), r).holds) << ms;
        EXPECT_TRUE(*judge(good("rate>=1000"), r).holds) << ms;
    }
}

// Replies that come after the window, while the last ones are waited for, are not of its rate.
TEST(Threshold, TheRateOfAnOpenLoopIsOfItsWindowAlsoWhereTheRunIsCut) {
    run_result r = measured();
    r.open_loop.emplace().counts.answered_in_window = 600;
    for (const stop_reason reason :
         {stop_reason::duration, stop_reason::signal, stop_reason::error}) {
        r.stopped_by = reason;
        EXPECT_DOUBLE_EQ(r.rate_per_s(), 300) << name_of(reason);
    }
    r.stopped_by = stop_reason::requests;
    EXPECT_DOUBLE_EQ(r.rate_per_s(), 500);
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

}  // namespace wireload::judgement_test
