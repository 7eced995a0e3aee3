#include "output/series_csv.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace wireload {
namespace {

std::string microseconds(const std::optional<std::uint64_t>& ns) {
    return ns ? fmt::format("{:.3f}", static_cast<double>(*ns) / 1e3) : std::string();
}

}  // namespace

std::vector<interval_span> spans_of(const plan& p, const run_result& r) {
    std::vector<interval_span> out;
    // Of an open loop the series goes on until the last reply has come.
    const nanos end = r.elapsed + (r.open_loop ? r.open_loop->drain : 0);
    nanos at = 0;
    for (std::size_t i = 0; i < r.series->records().size(); ++i) {
        const nanos length = p.asked.ramp ? (i < r.rounds.size() ? r.rounds[i].elapsed : 0)
                                          : std::clamp<nanos>(end - at, 0, r.interval);
        out.push_back({at, length});
        at += length;
    }
    return out;
}

void write_csv(std::ostream& out, const plan& p, const run_result& r) {
    out << "time_s,length_s,ok,errors,rate_per_s,p50_us,p90_us,p99_us,max_us\n";
    const std::vector<interval_span> spans = spans_of(p, r);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const interval_record& record = r.series->records()[i];
        const double length = static_cast<double>(spans[i].length) / 1e9;
        const std::string rate =
            length > 0 ? fmt::format("{:.3f}", static_cast<double>(record.ok) / length)
                       : std::string();
        out << fmt::format(
            "{:.6f},{:.6f},{},{},{},{},{},{},{}\n", static_cast<double>(spans[i].start) / 1e9,
            length, record.ok, record.errors, rate, microseconds(record.p50_ns),
            microseconds(record.p90_ns), microseconds(record.p99_ns), microseconds(record.max_ns));
    }
}

}  // namespace wireload
