// A condition under which a run has failed: a metric, an operator and a limit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wireload {

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

}  // namespace wireload
