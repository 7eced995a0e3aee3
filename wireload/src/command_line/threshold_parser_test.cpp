#include "command_line/threshold_parser.hpp"

#include <gtest/gtest.h>

namespace wireload::threshold_parser_test {

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
             {"p99>nans", "at 5: 'nans'"},
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

}  // namespace wireload::threshold_parser_test
