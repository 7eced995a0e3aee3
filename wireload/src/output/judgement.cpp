#include "output/judgement.hpp"

#include <cmath>

#include <fmt/format.h>

#include "measure/open_loop_verdict.hpp"

namespace wireload {
namespace {

// Whether the load was not the one asked for, so that this metric of it decides nothing. A rate
// that the generator missed leaves no figure of the server's; late sending only its times. What the
// generator itself did is known all the same.
bool is_void(const threshold& t, const run_result& r) {
    if (!r.open_loop || t.source == threshold_source::lag ||
        t.metric == threshold_metric::generator)
        return false;
    const open_loop_verdict verdict = judge_open_loop(r);
    if (!verdict.why_void) return false;
    // A run that ended because nothing worked any more missed its rate for that.
    return t.is_time() ||
           (verdict.limit == load_limit::generator && r.stopped_by != stop_reason::error);
}

}  // namespace

judgement judge(const threshold& t, const run_result& r) {
    judgement out;
    if (t.source != threshold_source::latency && !r.open_loop) {
        out.why_undecided = "only an open loop (--rate) has it";
        return out;
    }
    const histogram& h = t.source == threshold_source::lag       ? r.open_loop->lag
                         : t.source == threshold_source::service ? r.open_loop->service
                                                                 : r.series->total();
    const auto in_double = [](const std::optional<std::uint64_t>& ns) {
        return ns ? std::optional(static_cast<double>(*ns)) : std::nullopt;
    };
    switch (t.metric) {
    case threshold_metric::percentile:
        out.value = in_double(h.supported_percentile_ns(t.percent));
        if (!out.value) {
            // n (1 - q) >= 10
            out.why_undecided = fmt::format("{} samples, it takes {:.0f}", h.count(),
                                            std::ceil(10 / (1 - t.percent / 100) - 1e-6));
        }
        break;
    case threshold_metric::min: out.value = in_double(h.min_ns()); break;
    case threshold_metric::mean: out.value = h.mean_ns(); break;
    case threshold_metric::max: out.value = in_double(h.max_ns()); break;
    case threshold_metric::errors: out.value = static_cast<double>(r.counts.errors.total()); break;
    case threshold_metric::errors_percent: out.value = r.error_percent(); break;
    case threshold_metric::ok: out.value = static_cast<double>(r.counts.ok); break;
    case threshold_metric::rate:
        if (r.elapsed > 0) out.value = r.rate_per_s();
        break;
    case threshold_metric::generator:
        if (r.elapsed > 0) out.value = 100 * r.generator.used_share();
        break;
    }
    if (!out.value) {
        if (out.why_undecided.empty()) out.why_undecided = "nothing was measured";
        return out;
    }
    if (is_void(t, r)) {
        out.why_undecided = "the window is void";
        return out;
    }
    out.holds = t.or_equal && *out.value == t.limit ? true
                : t.greater                         ? *out.value > t.limit
                                                    : *out.value < t.limit;
    return out;
}

}  // namespace wireload
