#include "measure/open_loop_tally.hpp"

#include <fmt/format.h>

#include "base/duration.hpp"

namespace wireload {
namespace {

constexpr std::uint64_t lag_floor_ns = 50'000;
constexpr double lag_share = 0.05;

}  // namespace

std::optional<std::string> why_void(const histogram& lag, const histogram& latency) {
    const auto late = lag.percentile_ns(99);
    if (!late) return std::nullopt;
    const auto share = static_cast<std::uint64_t>(
        lag_share * static_cast<double>(latency.percentile_ns(50).value_or(0)));
    const std::uint64_t limit = std::max(lag_floor_ns, share);
    if (*late <= limit) return std::nullopt;
    return fmt::format(
        "the generator sent late: 1% of the requests left {} or more after they could have, and {} "
        "is the most that "
        "leaves the load what was asked for; give it a CPU of its own (--cpu), more threads (-t) "
        "or a lower rate",
        format_duration(static_cast<double>(*late)), format_duration(static_cast<double>(limit)));
}

}  // namespace wireload
