#include "measure/open_loop_verdict.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/percent.hpp"

namespace wireload {
namespace {

// A rate is kept when at least this share of what was due inside the window was sent inside it.
constexpr double kept = 0.995;

// Lateness is seen to matter where a percentile of all requests and the same one of the undisturbed
// requests differ by more than 5% and more than 50 us, and displacement can explain that: a
// server's own bursts make the generator late too, just when latencies are long.
constexpr double compared_percentiles[] = {50, 90, 99};
constexpr double differing_share = 0.05;
constexpr double differing_floor_ns = 50'000;
constexpr double explaining_percentile = 99.9;
// With fewer undisturbed requests than this share there is nothing to compare with: what
// displacement may have changed then counts as changed.
constexpr double least_undisturbed = 0.5;

// Lateness may matter unseen where the generator waits for a CPU that the server has: it is then
// late just when the server is busy, so that no request is sent that would have seen it. So in any
// case 1% of the requests must not be displaced by more than 5% of p99 and more than 1 ms.
constexpr double bounded_percentile = 99;
constexpr double displaced_share = 0.05;
constexpr double displaced_floor_ns = 1'000'000;

const char* remedy_for(const run_result& r) {
    return r.generator.quota.was_the_limit()
               ? "its CPU quota stopped it: raise that (cpu.max of its cgroup), or give a lower "
                 "rate"
               : "give it a CPU of its own (--cpu), another number of threads (-t) or a lower rate";
}

// For how long a request kept a connection, but for its lag: until its reply, or until it was known
// that none comes. A connection that was lost carries nothing until it is open again, and the
// requests that it had carried stand for that as well.
double mean_held_ns(const run_result& r) {
    const open_loop_result& open = *r.open_loop;
    const double sent = static_cast<double>(open.lag.count());
    if (sent <= 0) return 0;
    const double answered =
        open.service.mean_ns().value_or(0) * static_cast<double>(open.service.count());
    return (answered + std::max(0.0, r.counts.more_in_flight) +
            static_cast<double>(open.counts.absent)) /
           sent;
}

// Little's law: connections that are never free carry one request in each (held + lag). Without
// the lag they would carry one in each time that it is held, which may reach the rate. Where it
// does not, the limit is whatever takes more of that time. And where a quota stopped the generator,
// nobody can show that it was not the limit.
bool generator_was_the_limit(const run_result& r) {
    const open_loop_result& open = *r.open_loop;
    const double lag = open.lag.mean_ns().value_or(0);
    const double held = mean_held_ns(r);
    if (held <= 0 || open.service.empty()) return false;
    if (r.generator.quota.was_the_limit() || lag > held) return true;
    return static_cast<double>(open.counts.sent_in_window) * (1 + lag / held) >=
           kept * static_cast<double>(open.counts.scheduled);
}

// By count, the window ends with the last reply: then the rate is kept if the backlog stayed small,
// which nobody can say without a limit of their own; the latencies tell.
load_limit limit_of(const run_result& r) {
    if (r.stopped_by == stop_reason::requests) return load_limit::none;
    const open_loop_tally& c = r.open_loop->counts;
    // One request may fall on the other side of the window's end.
    const std::uint64_t sent = c.sent_in_window + 1;
    if (static_cast<double>(sent) >= kept * static_cast<double>(c.scheduled))
        return load_limit::none;
    return generator_was_the_limit(r) ? load_limit::generator : load_limit::server;
}

std::optional<std::string> seen_to_matter(const open_loop_result& open, const histogram& all,
                                          const char* remedy) {
    const auto explained =
        static_cast<double>(open.displacement.percentile_ns(explaining_percentile).value_or(0));
    const double undisturbed = static_cast<double>(open.undisturbed.count()) /
                               static_cast<double>(std::max<std::uint64_t>(all.count(), 1));
    for (const double percent : compared_percentiles) {
        const auto of_all = all.supported_percentile_ns(percent);
        if (!of_all) continue;
        const auto printed = static_cast<double>(*of_all);
        const double limit = std::max(differing_floor_ns, differing_share * printed);
        if (explained <= limit) continue;
        if (undisturbed < least_undisturbed) {
            return fmt::format(
                "the generator sent late: {} of the requests met another queue for it; {}",
                format_percent(100 * (1 - undisturbed)), remedy);
        }
        const auto without = open.undisturbed.supported_percentile_ns(percent);
        if (!without || std::abs(printed - static_cast<double>(*without)) <= limit) continue;
        return fmt::format(
            "the generator sent late: p{:.0f} is {}, and {} without the requests that met another "
            "queue for it; {}",
            percent, format_duration(printed), format_duration(static_cast<double>(*without)),
            remedy);
    }
    return std::nullopt;
}

std::optional<std::string> may_matter(const histogram& displacement, const histogram& all,
                                      const char* remedy) {
    const auto displaced = displacement.percentile_ns(bounded_percentile);
    const auto printed = all.percentile_ns(bounded_percentile);
    if (!displaced || !printed) return std::nullopt;
    const double limit =
        std::max(displaced_floor_ns, displaced_share * static_cast<double>(*printed));
    if (static_cast<double>(*displaced) <= limit) return std::nullopt;
    return fmt::format(
        "the generator sent late: 1% of the requests met a queue displaced by {} or more, and {} "
        "is "
        "the most that leaves the load what was asked for; {}",
        format_duration(static_cast<double>(*displaced)), format_duration(limit), remedy);
}

}  // namespace

open_loop_verdict judge_open_loop(const run_result& r) {
    const open_loop_result& open = *r.open_loop;
    const char* const remedy = remedy_for(r);
    open_loop_verdict out{.limit = limit_of(r), .why_void = {}};
    if (out.limit == load_limit::generator) {
        out.why_void =
            fmt::format("the generator could not send more: {} of {} requests left in time{}; {}",
                        open.counts.sent_in_window, open.counts.scheduled,
                        r.generator.quota.was_the_limit()
                            ? ""
                            : ", and the others waited for the generator more than for the server",
                        remedy);
    } else {
        const histogram& all = r.series->total();
        out.why_void = may_matter(open.displacement, all, remedy);
        if (!out.why_void) out.why_void = seen_to_matter(open, all, remedy);
    }
    return out;
}

}  // namespace wireload
