#include "law.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace truth::law_test {

constexpr nanos us = 1'000, ms = 1'000'000, s = 1'000'000'000;

std::vector<std::string> words(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

std::unique_ptr<law> made(const std::string& text) {
    auto parsed = parse_law(words(text));
    EXPECT_TRUE(std::holds_alternative<std::unique_ptr<law>>(parsed))
        << std::get<std::string>(parsed);
    return std::move(std::get<std::unique_ptr<law>>(parsed));
}

std::string refused(const std::string& text) {
    auto parsed = parse_law(words(text));
    return std::holds_alternative<std::string>(parsed) ? std::get<std::string>(parsed) : "accepted";
}

TEST(law, constant_waits_the_same_for_all) {
    const auto l = made("constant 10ms");
    EXPECT_EQ(l->due(0, 0), 10 * ms);
    EXPECT_EQ(l->due(1, 7), 10 * ms + 7);
}

TEST(law, slow_is_every_nth) {
    const auto l = made("slow 100 50ms");
    int slow = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        const nanos wait = l->due(i, 5 * s) - 5 * s;
        EXPECT_EQ(wait, i % 100 == 99 ? 50 * ms : 0) << i;
        slow += wait != 0;
    }
    EXPECT_EQ(slow, 10);
}

TEST(law, bimodal_has_its_exact_share_in_every_hundred) {
    for (const int percent : {0, 1, 30, 99, 100}) {
        const auto l = made("bimodal 1ms 20ms " + std::to_string(percent));
        for (std::uint64_t hundred = 0; hundred < 3; ++hundred) {
            int other = 0;
            for (std::uint64_t i = 0; i < 100; ++i)
                other += l->due(hundred * 100 + i, 0) == 20 * ms;
            EXPECT_EQ(other, percent);
        }
    }
}

TEST(law, drift_is_a_straight_line_and_then_flat) {
    const auto l = made("drift 5ms 25ms 10s");
    EXPECT_EQ(l->due(0, 0), 5 * ms);
    EXPECT_EQ(l->due(1, 5 * s) - 5 * s, 15 * ms);
    EXPECT_EQ(l->due(2, 10 * s) - 10 * s, 25 * ms);
    EXPECT_EQ(l->due(3, 60 * s) - 60 * s, 25 * ms);
}

TEST(law, nothing_leaves_in_a_freeze) {
    const auto l = made("freeze 1s 5s 10us");
    EXPECT_EQ(l->due(0, 0), 10 * us);
    EXPECT_EQ(l->due(1, 4 * s - 10 * us), 4 * s);             // done as the freeze begins
    EXPECT_EQ(l->due(2, 4 * s - 5 * us), 5 * s + 10 * us);    // would not be
    EXPECT_EQ(l->due(3, 4 * s + 500 * ms), 5 * s + 20 * us);  // behind it
    EXPECT_EQ(l->due(4, 5 * s + 15 * us), 5 * s + 30 * us);   // still behind those
    EXPECT_EQ(l->due(5, 6 * s), 6 * s + 10 * us);
    EXPECT_EQ(l->due(6, 9 * s + 999 * ms), 10 * s + 10 * us);
}

TEST(law, one_after_the_other) {
    const auto l = made("freeze 1s 5s 10us");
    for (nanos i = 0; i < 100; ++i)
        EXPECT_EQ(l->due(static_cast<std::uint64_t>(i), 0), (i + 1) * 10 * us);
}

TEST(law, says_what_is_wrong_with_the_words) {
    EXPECT_NE(refused("").find("expected one of: constant D;"), std::string::npos);
    EXPECT_NE(refused("linear 1s").find("expected one of"), std::string::npos);
    EXPECT_EQ(refused("constant 10"), "D: expected a duration such as 10ms, got '10'");
    EXPECT_EQ(refused("constant"), "D: expected a duration such as 10ms, got ''");
    EXPECT_NE(refused("constant 1ms 2ms").find("constant: expected 2 words, got 3"),
              std::string::npos);
    EXPECT_EQ(refused("slow 0 1ms"), "N: expected a number from 1 to 1000000000, got '0'");
    EXPECT_EQ(refused("bimodal 1ms 2ms 101"),
              "PERCENT: expected a number from 0 to 100, got '101'");
    EXPECT_EQ(refused("drift 1ms 2ms 0s"), "T: expected more than 0");
    EXPECT_EQ(refused("freeze 5s 5s 0s"),
              "LENGTH: expected more than 0, and with SERVICE less than PERIOD");
}

TEST(faults, every_nth_and_the_first_of_several) {
    const faults f{.drop = 10, .status = 4, .body = 6, .length = 3};
    int counts[5] = {};
    for (std::uint64_t i = 0; i < 60; ++i) ++counts[static_cast<std::size_t>(answer_of(f, i))];
    EXPECT_EQ(counts[static_cast<std::size_t>(answer::drop)], 6);  // 10 20 30 40 50 60
    EXPECT_EQ(counts[static_cast<std::size_t>(answer::status)],
              12);  // 15 multiples of 4, but for 20, 40 and 60
    EXPECT_EQ(counts[static_cast<std::size_t>(answer::body)], 4);     // 6 18 42 54
    EXPECT_EQ(counts[static_cast<std::size_t>(answer::length)], 10);  // odd multiples of 3
    EXPECT_EQ(answer_of({}, 0), answer::right);
}

}  // namespace truth::law_test
