#include "measure/run_result.hpp"

#include <algorithm>
#include <cmath>

namespace wireload {

std::string_view name_of(stop_reason reason) {
    switch (reason) {
    case stop_reason::duration: return "duration";
    case stop_reason::requests: return "requests";
    case stop_reason::signal: return "signal";
    case stop_reason::error: break;
    }
    return "error";
}

double run_result::rate_per_s() const {
    if (elapsed <= 0) return 0;
    // A run that is cut while it waits for the last replies has had its window as well.
    const bool by_clock = open_loop && stopped_by != stop_reason::requests;
    const std::uint64_t right =
        by_clock ? std::min(open_loop->counts.answered_in_window, counts.ok) : counts.ok;
    // A time in seconds would be rounded by itself, and 34 replies in 34 ms be fewer than 1000 a
    // second, or more.
    return static_cast<double>(static_cast<long double>(right) * 1e9L / elapsed);
}

std::uint64_t run_result::answered_while_metered() const {
    // In turns the server works in more than what is measured.
    if (turns) return turns->answered;
    // What was due in the window may be answered after it, and what was due before it inside.
    if (open_loop && stopped_by != stop_reason::requests)
        return open_loop->counts.answered_in_window;
    return counts.ok;
}

std::optional<double> run_result::little_ratio() const {
    const histogram& all = series->total();
    if (!in_flight_mean || *in_flight_mean <= 0 || elapsed <= 0 || all.empty()) return std::nullopt;
    const double spent = *all.mean_ns() * static_cast<double>(all.count()) + counts.more_in_flight;
    return spent / static_cast<double>(elapsed) / *in_flight_mean;
}

bool run_result::little_holds(std::uint64_t most) const {
    constexpr double tolerance = 0.05;
    constexpr double deviations = 4;
    // By the latencies, and by the samples. These are of random moments (load_window.cpp), so the
    // variance of their mean is that of the number in flight over their count; and the variance of
    // a number between 0 and `most` with mean m is m (most - m) at most (Bhatia and Davis 2000).
    const double sampled = *in_flight_mean;
    const double exact = *little_ratio() * sampled;
    const double variance = exact * std::max(0.0, static_cast<double>(most) - exact);
    const double error = std::sqrt(variance / static_cast<double>(counts.in_flight_samples));
    return std::abs(exact - sampled) <= std::max(tolerance * sampled, deviations * error);
}

std::optional<double> run_result::error_percent() const {
    const std::uint64_t errors = counts.errors.total();
    const std::uint64_t all = errors + (idle ? idle->held : counts.ok);
    if (all == 0) return std::nullopt;
    return 100 * static_cast<double>(errors) / static_cast<double>(all);
}

bool run_result::nothing_measured() const {
    if (idle) return idle->opened == 0;
    const bool late = open_loop && open_loop->counts.late != 0;  // right, and after the deadline
    const error_counts& e = counts.errors;
    return !late && counts.ok == 0 && e[error_kind::bad_status] == 0 &&
           e[error_kind::bad_body] == 0;
}

}  // namespace wireload
