// "--fail-if 'p99>20ms'": conditions under which a run has failed.
//
//   condition = metric operator value
//   metric    = pN (0 < N < 100, such as p50 or p99.99) | min | mean | max        of latency; the
//   value is a time
//             | lag_ or service_ before one of these: of an open loop's lag (the generator's own
//             lateness) or service time | errors a count, or a share with % | ok a count | rate
//             right replies a second | generator its share of its CPUs; the value with %
//   operator  = > | >= | < | <=
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace wireload {

struct run_result;

enum class threshold_metric : std::uint8_t {
    percentile,
    min,
    mean,
    max,
    errors,
    errors_percent,
    ok,
    rate,
    generator
};

enum class threshold_source : std::uint8_t { latency, lag, service };

struct threshold {
    std::string text;                                     // as it was given
    threshold_source source = threshold_source::latency;  // of a time
    threshold_metric metric = threshold_metric::max;
    double percent = 0;  // of a percentile
    bool greater = true;
    bool or_equal = false;
    double limit = 0;  // nanoseconds, a count, a share in %, or replies a second

    bool is_time() const { return metric <= threshold_metric::max; }
    bool is_share() const {
        return metric == threshold_metric::errors_percent || metric == threshold_metric::generator;
    }
    // Whether it says how many errors are too many.
    bool judges_errors() const {
        return metric == threshold_metric::errors || metric == threshold_metric::errors_percent;
    }
    // "ns", "%", "1/s" or "1".
    std::string_view unit() const;
};

// The string says what is wrong, where, and what would be right.
std::variant<threshold, std::string> parse_threshold(std::string_view text);

struct judgement {
    // In the unit of the threshold; absent when there is none, or too few samples for it.
    std::optional<double> value;
    std::optional<bool> holds;  // absent: not decided
    std::string why_undecided;  // for a person
};

// A percentile with fewer than 10 samples beyond it is not decided.
judgement judge(const threshold& t, const run_result& r);

// What cannot be decided fails as well: a gate that could not look must not open.
inline bool fails(const judgement& j) { return j.holds.value_or(true); }

}  // namespace wireload
