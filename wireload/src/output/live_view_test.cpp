#include "output/live_view.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "wire/loop/socket.hpp"

namespace wireload::live_view_test {

constexpr nanos second = 1'000'000'000;

struct fixture {
    fixture() : series(1, false), out(open("/dev/null", O_WRONLY | O_CLOEXEC)) {
        p.asked.url = "http://127.0.0.1:1/";
        view.emplace(p, series, out.get(), screen_style{});
    }
    // One interval of 100 ms with `n` replies of 1 ms.
    void interval(std::uint64_t n, std::uint64_t errors = 0) {
        histogram h;
        for (std::uint64_t i = 0; i < n; ++i) h.record(1'000'000);
        series.submit(number++, h, n, errors);
    }
    plan p;
    series_collector series;
    wire::unique_fd out;
    std::optional<live_view> view;
    std::size_t number = 0;
};

TEST(LiveView, ShowsTheLastSecondAndWhatIsLeft) {
    fixture f;
    f.view->begin("measuring", 0, 10 * second);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "measuring 0.1 s, 10 s left",
                        f.view->lines(second / 10, 79));
    for (int i = 0; i < 10; ++i) f.interval(50, 1);
    const std::string text = f.view->lines(second, 79);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "measuring 1.0 s, 9 s left", text);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "requests/s          500  #", text);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "p50 1.00 ms, p90 1.00 ms, p99 -, max 1.00 ms", text);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "right 500, errors 10", text);
    // Five seconds later nothing of that is left but the sums.
    f.interval(7);
    const std::string later = f.view->lines(6 * second, 79);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "requests/s           70", later);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "right 507, errors 10", later);
}

TEST(LiveView, DrawsEachPhaseAsItBegins) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const wire::unique_fd reading(ends[0]);
    fixture f;
    f.out = wire::unique_fd(ends[1]);
    f.view.emplace(f.p, f.series, f.out.get(), screen_style{});
    f.view->begin("connecting", 0, never);
    f.view->begin("measuring", 1, 10 * second);
    std::string text(4096, '\0');
    const ssize_t n = read(reading.get(), text.data(), text.size());
    ASSERT_GT(n, 0);
    text.resize(static_cast<std::size_t>(n));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "connecting 0.0 s", text);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "measuring 0.0 s, 10 s left", text);
}

TEST(LiveView, WebSocketsAnswerMessages) {
    fixture f;
    f.p.asked.websocket = true;
    f.view->begin("measuring", 0, 10 * second);
    for (int i = 0; i < 10; ++i) f.interval(50);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "messages/s          500  #",
                        f.view->lines(second, 79));
}

TEST(LiveView, InTurnsTheRateIsThatOfTheMeasuredParts) {
    fixture f;
    f.p.asked.turns.emplace().length = std::chrono::milliseconds(100);  // 70 ms are measured
    f.view->begin("measuring", 0, 10 * second);
    for (int i = 0; i < 5; ++i) f.interval(70);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "requests/s        1,000", f.view->lines(second, 79));
}

TEST(LiveView, ACountTellsHowFarItIs) {
    fixture f;
    f.view->begin("measuring", 0, never, 100);
    f.interval(25);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "measuring 1.0 s, 3 s left",
                        f.view->lines(second, 79));
}

TEST(LiveView, LinesNeverExceedTheScreen) {
    fixture f;
    f.p.asked.url = "http://127.0.0.1:1/" + std::string(300, 'x');
    f.view->begin("measuring", 0, 10 * second);
    for (int i = 0; i < 20; ++i) f.interval(1234567 / 20, 12345);
    for (const std::size_t columns : {19U, 40U, 99U}) {
        const std::string text = f.view->lines(2 * second, columns);
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            EXPECT_LE(end - at, columns) << text;
            at = end + 1;
        }
    }
}

TEST(LiveView, IsFreeOnlyWithACpuToSpare) {
    options o;
    o.threads = 1;
    EXPECT_FALSE(view_is_free(o, 2));
    EXPECT_TRUE(view_is_free(o, 3));
    o.cpus = {1};
    EXPECT_FALSE(view_is_free(o, 8));
    o.cpus = {1, 2};
    EXPECT_TRUE(view_is_free(o, 8));
    o.threads = 2;
    EXPECT_FALSE(view_is_free(o, 8));
}

}  // namespace wireload::live_view_test
