#include "measure/open_loop_verdict.hpp"

#include <gtest/gtest.h>

namespace wireload::open_loop_verdict_test {

constexpr std::uint64_t us = 1'000;
constexpr std::uint64_t ms = 1'000'000;

// Ten thousand requests in a second, each answered after 200 us.
struct world {
    run_result r;
    histogram latency;

    world() {
        r.series = std::make_unique<series_collector>(1, false);
        r.elapsed = 1'000'000'000;
        r.open_loop.emplace();
        r.open_loop->counts.scheduled = r.open_loop->counts.sent_in_window = 10'000;
    }
    void add(int count, std::uint64_t took, std::uint64_t lag, std::uint64_t displacement) {
        for (int i = 0; i < count; ++i) {
            latency.record(took);
            r.open_loop->service.record(took);
            r.open_loop->lag.record(lag);
            r.open_loop->displacement.record(displacement);
            if (displacement <= undisturbed_below_ns) r.open_loop->undisturbed.record(took);
        }
    }
    open_loop_verdict judged() {
        r.series->submit(0, latency, latency.count(), 0);
        return judge_open_loop(r);
    }
};

bool says(const open_loop_verdict& v, std::string_view text) {
    return v.why_void && v.why_void->find(text) != std::string::npos;
}

TEST(OpenLoopVerdict, LatenessOfRequestsThatWereAloneIsNoMatter) {
    world w;
    w.add(10'000, 200 * us, 400 * us, 0);
    const open_loop_verdict v = w.judged();
    EXPECT_TRUE(v.rate_kept());
    EXPECT_EQ(v.why_void, std::nullopt);
}

TEST(OpenLoopVerdict, DisplacedRequestsWithTheSameLatenciesAreNoMatter) {
    world w;
    w.add(9'000, 200 * us, 0, 0);
    w.add(1'000, 205 * us, 380 * us, 380 * us);
    EXPECT_EQ(w.judged().why_void, std::nullopt);
}

TEST(OpenLoopVerdict, VoidWhereTheDisplacedRequestsMakeAPercentile) {
    world w;
    w.add(9'800, 200 * us, 0, 0);
    w.add(200, 600 * us, 500 * us, 500 * us);
    EXPECT_TRUE(says(w.judged(), "sent late: p99 is 600 us, and 200 us without"))
        << w.judged().why_void.value_or("valid");
}

// A server's pause makes many replies come at once, and the generator late with what follows.
TEST(OpenLoopVerdict, ADifferenceBeyondTheDisplacementIsTheServers) {
    world w;
    w.add(9'800, 200 * us, 0, 0);
    w.add(200, 80 * ms, 300 * us, 300 * us);
    EXPECT_EQ(w.judged().why_void, std::nullopt);
}

TEST(OpenLoopVerdict, VoidWhereMostRequestsWereDisplaced) {
    world w;
    w.add(4'000, 200 * us, 0, 0);
    w.add(6'000, 200 * us, 300 * us, 300 * us);
    EXPECT_TRUE(says(w.judged(), "60% of the requests met another queue"));
}

// Many connections come back from a server without rest: they wait for each other in the generator
// for a millisecond, and have waited for the server for seconds.
TEST(OpenLoopVerdict, ADisplacementThatIsSmallBesideTheLatenciesIsNoMatter) {
    world w;
    w.add(10'000, 2'000 * ms, 3 * ms, 3 * ms);
    EXPECT_EQ(w.judged().why_void, std::nullopt);
}

TEST(OpenLoopVerdict, VoidWhereTheGeneratorStoodStill) {
    world w;
    w.add(9'600, 200 * us, 0, 0);
    w.add(400, 200 * us, 200 * ms, 200 * ms);
    EXPECT_TRUE(says(w.judged(), "displaced by 200 ms or more"));
    world rarely;
    rarely.add(9'950, 200 * us, 0, 0);
    rarely.add(50, 200 * us, 200 * ms, 200 * ms);
    EXPECT_EQ(rarely.judged().why_void, std::nullopt);
}

TEST(OpenLoopVerdict, AServerThatCannotKeepUpIsNoReasonForVoid) {
    world w;
    w.r.open_loop->counts.sent_in_window = 8'000;
    w.add(10'000, 200 * us, 5 * us, 5 * us);
    const open_loop_verdict v = w.judged();
    EXPECT_EQ(v.limit, load_limit::server);
    EXPECT_FALSE(v.rate_kept());
    EXPECT_EQ(v.why_void, std::nullopt);
}

// Without the lag the connections would have carried one and a half times as many.
TEST(OpenLoopVerdict, AGeneratorThatCannotKeepUpIs) {
    world w;
    w.r.open_loop->counts.sent_in_window = 8'000;
    w.add(10'000, 200 * us, 100 * us, 100 * us);
    const open_loop_verdict v = w.judged();
    EXPECT_EQ(v.limit, load_limit::generator);
    EXPECT_TRUE(says(v, "8000 of 10000 requests left in time"));
}

TEST(OpenLoopVerdict, AGeneratorThatAQuotaStoppedIsNotExcused) {
    world w;
    w.r.generator.quota.window = w.r.elapsed;
    w.r.generator.quota.stopped = {.periods = 2, .time = 30'000'000};
    w.add(10'000, 200 * us, 5 * us, 5 * us);
    EXPECT_EQ(w.judged().why_void, std::nullopt);  // the rate was kept
    w.r.open_loop->counts.sent_in_window = 8'000;
    const open_loop_verdict v = w.judged();
    EXPECT_EQ(v.limit, load_limit::generator);
    EXPECT_TRUE(says(v, "8000 of 10000 requests left in time; its CPU quota stopped it"))
        << v.why_void.value_or("valid");
}

// Neither could: the larger part of the time decides.
TEST(OpenLoopVerdict, TheLimitIsWhateverTakesMoreOfTheTime) {
    for (const auto& [lag, limit] : std::initializer_list<std::pair<std::uint64_t, load_limit>>{
             {190 * us, load_limit::server}, {210 * us, load_limit::generator}}) {
        world w;
        w.r.open_loop->counts.scheduled = 100'000;
        w.add(10'000, 200 * us, lag, 0);
        EXPECT_EQ(w.judged().limit, limit) << lag;
    }
}

TEST(OpenLoopVerdict, TheRateIsKeptWithinHalfAPerCentOrOneRequest) {
    for (const auto& [due, sent, kept] : std::initializer_list<std::tuple<int, int, bool>>{
             {10'000, 9'949, true}, {10'000, 9'940, false}, {20, 19, true}, {20, 18, false}}) {
        world w;
        w.add(100, 200 * us, 0, 0);
        w.r.open_loop->counts.scheduled = static_cast<std::uint64_t>(due);
        w.r.open_loop->counts.sent_in_window = static_cast<std::uint64_t>(sent);
        EXPECT_EQ(w.judged().rate_kept(), kept) << due << " " << sent;
    }
    world by_count;
    by_count.r.stopped_by = stop_reason::requests;
    by_count.r.open_loop->counts.sent_in_window = 0;
    by_count.add(100, 200 * us, 0, 0);
    EXPECT_TRUE(by_count.judged().rate_kept());
}

TEST(OpenLoopVerdict, ARunThatEndedEarlyIsJudgedByWhatWasDueUntilThen) {
    for (const stop_reason reason : {stop_reason::signal, stop_reason::error}) {
        world w;
        w.r.stopped_by = reason;
        w.r.open_loop->counts.sent_in_window = 8'000;
        w.add(100, 200 * us, 0, 0);
        EXPECT_EQ(w.judged().limit, load_limit::server) << name_of(reason);
    }
}

// A server that stands still holds its connections, or refuses new ones. What it had answered
// before took less time than the lag, and says nothing of that.
TEST(OpenLoopVerdict, AServerThatFailsIsToBlameHoweverQuickItWasBefore) {
    const auto limit = [](auto happened) {
        world w;
        w.r.open_loop->counts.sent_in_window = 5'000;
        w.add(5'000, 200 * us, 400 * us, 0);
        happened(w.r);
        return w.judged().limit;
    };
    EXPECT_EQ(limit([](run_result&) {}), load_limit::generator);
    EXPECT_EQ(limit([](run_result& r) { r.counts.more_in_flight = 5e9; }), load_limit::server);
    EXPECT_EQ(limit([](run_result& r) { r.open_loop->counts.absent = 5'000'000'000; }),
              load_limit::server);
    // One failure among many replies is no excuse.
    EXPECT_EQ(limit([](run_result& r) { r.open_loop->counts.absent = 10'000'000; }),
              load_limit::generator);
}

TEST(OpenLoopVerdict, WithoutAnyReplyTheServerIsToBlame) {
    world w;
    w.r.open_loop->counts.sent_in_window = 10;
    const open_loop_verdict v = w.judged();
    EXPECT_EQ(v.limit, load_limit::server);
    EXPECT_EQ(v.why_void, std::nullopt);
}

}  // namespace wireload::open_loop_verdict_test
