#include "plan/arrivals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

namespace wireload::arrivals_test {

constexpr nanos second = 1'000'000'000;

arrival_plan at_rate(std::uint64_t milli, nanos length = never) {
    return {arrival_kind::constant, {{milli, milli, length}}, {}, 1};
}

std::vector<nanos> all(arrivals a) {
    std::vector<nanos> out;
    for (; a.next() != never; a.pop()) out.push_back(a.next());
    return out;
}

std::string problem(const auto& parsed) {
    const auto* text = std::get_if<std::string>(&parsed);
    return text != nullptr ? *text : std::string();
}

TEST(Arrivals, ConstantIsEvenlySpaced) {
    EXPECT_EQ(
        all(arrivals(at_rate(2'000), 0, 1, 3 * second)),
        (std::vector<nanos>{0, second / 2, second, 3 * second / 2, 2 * second, 5 * second / 2}));
    // Less than one a second, and rates that do not divide a second.
    EXPECT_EQ(all(arrivals(at_rate(500), 0, 1, 5 * second)),
              (std::vector<nanos>{0, 2 * second, 4 * second}));
    EXPECT_EQ(all(arrivals(at_rate(3'000), 0, 1, second)),
              (std::vector<nanos>{0, 333'333'333, 666'666'666}));
}

TEST(Arrivals, AnHourAtFiftyThousandDoesNotDrift) {
    const arrival_plan even = at_rate(50'000'000);
    const arrival_plan odd = at_rate(49'999'007);
    arrivals a(even, 0, 1, 3600 * second);
    arrivals b(odd, 0, 1, 600 * second);  // each moment is rounded, never a sum of rounded steps
    std::uint64_t n = 0;
    for (; a.next() != never; a.pop(), ++n) {
        if (a.next() != static_cast<nanos>(n) * 20'000) FAIL() << n;
    }
    EXPECT_EQ(n, 180'000'000U);
    std::uint64_t m = 0;
    nanos last = 0;
    for (; b.next() != never; b.pop(), ++m) last = b.next();
    EXPECT_EQ(m, static_cast<std::uint64_t>(std::ceil(49'999.007L * 600)));
    const long double exact = (m - 1) * 1e12L / 49'999'007;
    EXPECT_LE(std::abs(static_cast<long double>(last) - exact), 1.0L);
}

TEST(Arrivals, ThreadsShareOneSchedule) {
    for (const arrival_kind kind :
         {arrival_kind::constant, arrival_kind::poisson, arrival_kind::recorded}) {
        arrival_plan plan{kind, {{1'234'567, 1'234'567, 2 * second}, {0, 900'000, second}}, {}, 7};
        for (nanos at = 0; at < 1000; at += 3) plan.recorded.push_back(at);
        const std::vector<nanos> whole = all(arrivals(plan, 0, 1));
        for (const unsigned threads : {2U, 3U, 7U}) {
            std::vector<nanos> together;
            for (unsigned i = 0; i < threads; ++i) {
                const std::vector<nanos> part = all(arrivals(plan, i, threads));
                EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
                together.insert(together.end(), part.begin(), part.end());
            }
            std::sort(together.begin(), together.end());
            EXPECT_EQ(together, whole);
        }
    }
}

TEST(Arrivals, ACountIsOfAllThreads) {
    for (const arrival_kind kind : {arrival_kind::constant, arrival_kind::poisson}) {
        const arrival_plan plan{kind, {{5'000'000, 5'000'000, never}}, {}, 3};
        std::size_t n = 0;
        for (unsigned i = 0; i < 3; ++i) n += all(arrivals(plan, i, 3, never, 1'000)).size();
        EXPECT_EQ(n, 1'000U);
    }
}

TEST(Arrivals, StepsHaveTheirCountAndPauses) {
    const arrival_plan plan{
        arrival_kind::constant,
        {{1'000'000, 1'000'000, 5 * second}, {0, 0, second}, {2'000'000, 2'000'000, 5 * second}},
        {},
        1};
    EXPECT_EQ(plan.length(), 11 * second);
    const std::vector<nanos> due = all(arrivals(plan, 0, 1));
    ASSERT_EQ(due.size(), 15'000U);
    EXPECT_EQ(std::count_if(due.begin(), due.end(), [](nanos t) { return t < 5 * second; }), 5'000);
    EXPECT_EQ(std::count_if(due.begin(), due.end(),
                            [](nanos t) { return t >= 5 * second && t < 6 * second; }),
              0);
    EXPECT_EQ(due[5'000], 6 * second);
    EXPECT_EQ(due[5'001], 6 * second + 500'000);
}

TEST(Arrivals, ARampIntegratesToItsCount) {
    for (const auto& [from, to] : {std::pair{100'000, 5'000'000}, std::pair{5'000'000, 100'000},
                                   std::pair{0, 1'000'000}, std::pair{1'000'000, 0}}) {
        const arrival_plan plan{
            arrival_kind::constant,
            {{static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), 30 * second}},
            {},
            1};
        const std::vector<nanos> due = all(arrivals(plan, 0, 1));
        EXPECT_EQ(due.size(), static_cast<std::size_t>((from + to) / 2 * 30 / 1'000));
        ASSERT_TRUE(std::is_sorted(due.begin(), due.end()));
        // Up to time x the integral of the rate: a x + (b - a) x^2 / 2 L, in requests.
        for (const std::size_t k : {std::size_t{1}, due.size() / 3, due.size() - 1}) {
            const long double x = due[k] / 1e9L;
            const long double expected = from / 1e3L * x + (to - from) / 1e3L * x * x / 60;
            EXPECT_NEAR(static_cast<double>(expected), static_cast<double>(k), 1e-5)
                << from << " to " << to;
        }
    }
}

// Gaps of a Poisson process are exponential: their mean and variance, and the share beyond several
// points, lie within four standard errors. The seed is fixed, so this either holds or does not.
TEST(Arrivals, PoissonGapsAreExponential) {
    const arrival_plan plan{arrival_kind::poisson, {{1'000'000, 1'000'000, 200 * second}}, {}, 42};
    const std::vector<nanos> due = all(arrivals(plan, 0, 1));
    const double n = static_cast<double>(due.size());
    EXPECT_NEAR(n, 200'000, 4 * std::sqrt(200'000.0));
    constexpr double mean = 1e6;
    double sum = 0, squares = 0;
    std::vector<double> gaps;
    for (std::size_t i = 1; i < due.size(); ++i)
        gaps.push_back(static_cast<double>(due[i] - due[i - 1]));
    for (const double g : gaps) sum += g, squares += g * g;
    EXPECT_NEAR(sum / n, mean, 4 * mean / std::sqrt(n));
    EXPECT_NEAR(squares / n, 2 * mean * mean, 4 * std::sqrt(20.0) * mean * mean / std::sqrt(n));
    for (const double x : {0.1, 0.5, 1.0, 2.0, 5.0}) {
        const double beyond =
            static_cast<double>(
                std::count_if(gaps.begin(), gaps.end(), [&](double g) { return g > x * mean; })) /
            n;
        const double expected = std::exp(-x);
        EXPECT_NEAR(beyond, expected, 4 * std::sqrt(expected * (1 - expected) / n)) << x;
    }
    // Independent: the correlation of neighbours is nothing but noise.
    double product = 0;
    for (std::size_t i = 1; i < gaps.size(); ++i)
        product += (gaps[i] - mean) * (gaps[i - 1] - mean);
    EXPECT_NEAR(product / n / (mean * mean), 0, 4 / std::sqrt(n));
}

TEST(Arrivals, PoissonFollowsAChangingRate) {
    const arrival_plan plan{arrival_kind::poisson,
                            {{0, 2'000'000, 100 * second}, {500'000, 500'000, 100 * second}},
                            {},
                            5};
    const std::vector<nanos> due = all(arrivals(plan, 0, 1));
    const auto between = [&](nanos a, nanos b) {
        return static_cast<double>(
            std::count_if(due.begin(), due.end(), [&](nanos t) { return t >= a && t < b; }));
    };
    EXPECT_NEAR(between(0, 50 * second), 25'000, 4 * std::sqrt(25'000.0));
    EXPECT_NEAR(between(50 * second, 100 * second), 75'000, 4 * std::sqrt(75'000.0));
    EXPECT_NEAR(between(100 * second, 200 * second), 50'000, 4 * std::sqrt(50'000.0));
}

TEST(Arrivals, TheSeedDecides) {
    arrival_plan plan{arrival_kind::poisson, {{1'000'000, 1'000'000, second}}, {}, 1};
    const std::vector<nanos> one = all(arrivals(plan, 0, 1));
    EXPECT_EQ(all(arrivals(plan, 0, 1)), one);
    plan.seed = 2;
    EXPECT_NE(all(arrivals(plan, 0, 1)), one);
}

TEST(Arrivals, CopiesGoOnByThemselves) {
    const arrival_plan plan{arrival_kind::poisson, {{1'000'000, 1'000'000, second}}, {}, 1};
    arrivals a(plan, 0, 1);
    a.pop();
    arrivals b = a;
    EXPECT_EQ(all(a), all(b));
}

TEST(Arrivals, ReadsRates) {
    EXPECT_EQ(std::get<std::uint64_t>(parse_rate("2500")), 2'500'000U);
    EXPECT_EQ(std::get<std::uint64_t>(parse_rate("0.5")), 500U);
    EXPECT_EQ(std::get<std::uint64_t>(parse_rate(".125")), 125U);
    EXPECT_EQ(std::get<std::uint64_t>(parse_rate("7.")), 7'000U);
    EXPECT_EQ(std::get<std::uint64_t>(parse_rate("1000000000")), most_rate_milli);
    EXPECT_EQ(std::get<std::uint64_t>(parse_rate("1.5000")), 1'500U);
    for (const char* bad : {"", ".", "-1", "+1", "1e3", "1000000001", "0.0005", "1,5", "1..2",
                            "ten", "99999999999999999999999999", " 1", "1/s"}) {
        EXPECT_NE(problem(parse_rate(bad)), "") << bad;
    }
}

TEST(Arrivals, ReadsStepsAndRamps) {
    EXPECT_EQ(std::get<std::vector<rate_piece>>(parse_rate_steps("1000:5s,0:500ms,2000.5:1m")),
              (std::vector<rate_piece>{{1'000'000, 1'000'000, 5 * second},
                                       {0, 0, second / 2},
                                       {2'000'500, 2'000'500, 60 * second}}));
    EXPECT_EQ(std::get<std::vector<rate_piece>>(parse_rate_ramp("100:5000:30s")),
              (std::vector<rate_piece>{{100'000, 5'000'000, 30 * second}}));
    for (const char* bad :
         {"", ",", ":", "1000", "1000:", ":5s", "1000:5", "1000:5s,", ",1000:5s", "1000:5s;2000:5s",
          "1000:-5s", "1000:0s", "0:5s", "1000:5s:2", "1000:9y", "1000:40000000h,1:40000000h"}) {
        EXPECT_NE(problem(parse_rate_steps(bad)), "") << bad;
    }
    for (const char* bad : {"", ":", "::", "1:2", "1:2:", "1:2:3", "1:2:3s:4", "0:0:5s", "a:2:5s",
                            "1:b:5s", "1:2:5x"}) {
        EXPECT_NE(problem(parse_rate_ramp(bad)), "") << bad;
    }
    EXPECT_NE(problem(parse_rate_steps("1:1s,2:1s,x:1s")).find("step 3"), std::string::npos);
    std::string many = "1:1s";
    for (std::size_t i = 1; i < most_steps; ++i) many += ",1:1s";
    EXPECT_EQ(problem(parse_rate_steps(many)), "");
    EXPECT_NE(problem(parse_rate_steps(many + ",1:1s")), "");
}

// Whatever the text, the answer is a schedule that can be walked or a sentence.
TEST(Arrivals, AnyTextIsReadOrRefused) {
    std::mt19937 random(1);
    constexpr std::string_view letters = "0123456789.:,smhn -+e\n#";
    int good = 0;
    for (int round = 0; round < 200'000; ++round) {
        std::string text = round % 4 == 0   ? "100:2s,0.5:1m"
                           : round % 4 == 1 ? "0:70:3s"
                           : round % 4 == 2 ? "1.5\n2\n# 3\n4"
                                            : "";
        for (std::size_t n = random() % (text.empty() ? 14 : 4); n > 0; --n) {
            const std::size_t at = random() % (text.size() + 1);
            if (random() % 2 == 0 || at == text.size())
                text.insert(at, 1, letters[random() % letters.size()]);
            else text[at] = letters[random() % letters.size()];
        }
        for (const auto& parsed : {parse_rate_steps(text), parse_rate_ramp(text)}) {
            const auto* pieces = std::get_if<std::vector<rate_piece>>(&parsed);
            if (pieces == nullptr) {
                ASSERT_NE(problem(parsed), "");
                continue;
            }
            ++good;
            const arrival_plan plan{arrival_kind::constant, *pieces, {}, 1};
            arrivals a(plan, 0, 1);
            nanos last = 0;
            for (int i = 0; i < 20 && a.next() != never; ++i, a.pop()) {
                ASSERT_GE(a.next(), last) << text;
                ASSERT_LT(a.next(), plan.length()) << text;
                last = a.next();
            }
        }
        std::istringstream in(text);
        const auto recorded = read_arrivals(in);
        if (const auto* offsets = std::get_if<std::vector<nanos>>(&recorded)) {
            ASSERT_TRUE(!offsets->empty() && std::is_sorted(offsets->begin(), offsets->end()))
                << text;
        } else {
            ASSERT_NE(problem(recorded), "");
        }
    }
    EXPECT_GT(good, 10'000);
}

TEST(Arrivals, ReadsRecordedOffsets) {
    std::istringstream in("# made by hand\n0\n0.5\r\n\n  1.000000001 \n1.000000001\n12.1234567899");
    EXPECT_EQ(std::get<std::vector<nanos>>(read_arrivals(in)),
              (std::vector<nanos>{0, second / 2, second + 1, second + 1, 12'123'456'789}));
    const std::pair<const char*, const char*> bad[] = {
        {"1\nx\n", "line 2"}, {"2\n\n1\n", "line 3"},       {"-1\n", "line 1"},
        {"", "no offset"},    {"# nothing\n", "no offset"}, {"nan", "line 1"},
        {"1e3", "line 1"},    {"99999999999", "line 1"},    {"1 2\n", "line 1"},
    };
    for (const auto& [text, expected] : bad) {
        std::istringstream wrong(text);
        EXPECT_NE(problem(read_arrivals(wrong)).find(expected), std::string::npos) << text;
    }
    std::istringstream endless(std::string(100'000, '0'));
    EXPECT_NE(problem(read_arrivals(endless)).find("line 1: longer"), std::string::npos);
    const arrival_plan plan{arrival_kind::recorded, {}, {0, 5, 9}, 1};
    EXPECT_EQ(plan.length(), 10);
    EXPECT_EQ(all(arrivals(plan, 0, 1, 9)), (std::vector<nanos>{0, 5}));
}

}  // namespace wireload::arrivals_test
