#include "summary.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "duration.hpp"

namespace wireload {
namespace {

class painter {
public:
    explicit painter(bool on) : on_(on) {}
    std::string bold(std::string_view text) const { return paint("1", text); }
    std::string faint(std::string_view text) const { return paint("2", text); }
    std::string red(std::string_view text) const { return paint("1;31", text); }
    std::string cyan(std::string_view text) const { return paint("36", text); }

private:
    std::string paint(std::string_view code, std::string_view text) const {
        return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
    }
    bool on_;
};

std::string grouped(std::uint64_t n) {
    std::string out = std::to_string(n);
    for (auto at = static_cast<std::ptrdiff_t>(out.size()) - 3; at > 0; at -= 3) out.insert(static_cast<std::size_t>(at), ",");
    return out;
}

std::string bytes(double n) {
    static constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; n >= 1024 && unit + 1 < std::size(units); ++unit) n /= 1024;
    return fmt::format("{:.{}f} {}", n, unit == 0 || n >= 99.95 ? 0 : 1, units[unit]);
}

std::string time_or_dash(const std::optional<std::uint64_t>& ns) { return ns ? format_duration(static_cast<double>(*ns)) : "-"; }

// A row for each of at most `rows` classes of equal width on a logarithmic scale, from the smallest value to the largest.
std::string picture(const histogram& h, const painter& paint) {
    constexpr std::size_t rows = 8;
    constexpr std::size_t width = 40;
    if (h.count() < 2 || *h.min_ns() == *h.max_ns()) return {};
    const double low = std::log(static_cast<double>(std::max<std::uint64_t>(1, *h.min_ns())));
    const double high = std::log(static_cast<double>(std::max<std::uint64_t>(2, *h.max_ns())));
    std::vector<std::uint64_t> counts(rows, 0);
    for (std::size_t i = 0; i < h.used_buckets(); ++i) {
        if (h.count_at(i) == 0) continue;
        const double middle = static_cast<double>(histogram::lowest_of(i) + histogram::highest_of(i)) / 2;
        const double place = (std::log(std::max(1.0, middle)) - low) / (high - low) * static_cast<double>(rows);
        counts[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(rows) - 1))] += h.count_at(i);
    }
    const std::uint64_t most = *std::max_element(counts.begin(), counts.end());
    std::string out;
    for (std::size_t i = 0; i < rows; ++i) {
        const double upper = std::exp(low + (high - low) * static_cast<double>(i + 1) / static_cast<double>(rows));
        const auto bar = static_cast<std::size_t>(std::llround(static_cast<double>(counts[i]) / static_cast<double>(most) * width));
        // One request in a million still shows.
        const std::string drawn(counts[i] != 0 ? std::max<std::size_t>(1, bar) : 0, '#');
        out += fmt::format("  {:>8}  {} {}\n", format_duration(upper), paint.cyan(fmt::format("{:<{}}", drawn, width)), grouped(counts[i]));
    }
    return out;
}

std::string what_was_done(const plan& p) {
    const options& o = p.asked;
    std::string out = fmt::format("{} thread{}, ", o.threads, o.threads == 1 ? "" : "s");
    if (o.ramp) {
        return out + fmt::format("{} rounds of {} more connections, {} messages on each ({})", o.ramp->rounds, o.ramp->add, o.ramp->messages,
                                 o.ramp->pacing == ramp_pacing::burst ? "burst" : "serial");
    }
    out += fmt::format("{} connection{}", grouped(o.connections), o.connections == 1 ? "" : "s");
    if (!o.keep_alive) out += ", a new one for each request";
    if (o.in_flight > 1) out += fmt::format(", {} in flight on each", o.in_flight);
    if (o.warmup.count() > 0) out += fmt::format(", warm-up {}", format_duration(static_cast<double>(o.warmup.count())));
    return out;
}

std::string rounds_table(const run_result& r, const painter& paint) {
    std::string out = paint.bold(fmt::format("  {:>5} {:>8} {:>8} {:>9} {:>10} {:>9} {:>9} {:>9}\n", "round", "clients", "open", "connect",
                                             "answered", "success", "p50", "p99"));
    // A long ramp is thinned out to fit a screen; its last round is always there.
    const std::size_t step = (r.rounds.size() + 9) / 10;
    for (std::size_t i = 0; i < r.rounds.size(); ++i) {
        if ((r.rounds.size() - 1 - i) % step != 0) continue;
        const round_result& round = r.rounds[i];
        const histogram* h = r.series->latencies_of(i);
        const std::string success = fmt::format("{:>9}", fmt::format("{:.2f}%", round.success_ratio * 100));
        out += fmt::format("  {:>5} {:>8} {:>8} {:>9} {:>10} {} {:>9} {:>9}\n", i + 1, round.clients, round.opened,
                           format_duration(static_cast<double>(round.connect_elapsed)), grouped(round.counts.ok),
                           round.success_ratio < 1 ? paint.red(success) : success, time_or_dash(h != nullptr ? h->percentile_ns(50) : std::nullopt),
                           time_or_dash(h != nullptr ? h->supported_percentile_ns(99) : std::nullopt));
    }
    return out;
}

std::string error_lines(const run_result& r, const painter& paint) {
    if (r.counts.errors.total() == 0) return {};
    std::string kinds;
    for (std::size_t i = 0; i < error_names.size(); ++i) {
        if (r.counts.errors.by_kind[i] == 0) continue;
        kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", error_names[i], grouped(r.counts.errors.by_kind[i]));
    }
    std::string out = fmt::format("\n{}\n", paint.red(fmt::format("Errors      {} ({})", grouped(r.counts.errors.total()), kinds)));
    const auto cut = [](const std::string& text) { return text.size() <= 160 ? text : text.substr(0, 157) + "..."; };
    if (const auto& e = r.counts.first_error) {
        out += fmt::format("  the first, {}:\n    sent      {}\n    expected  {}\n    received  {}\n", name_of(e->kind), cut(e->sent), cut(e->expected),
                           cut(e->received));
    }
    return out;
}

}  // namespace

bool wants_colour(int fd) {
    const char* const off = std::getenv("NO_COLOR");
    return isatty(fd) == 1 && (off == nullptr || *off == '\0');
}

std::string summary(const plan& p, const run_result& r, bool colour) {
    const painter paint(colour);
    const double seconds = static_cast<double>(r.elapsed) / 1e9;
    const histogram& all = r.series->total();
    std::string out = fmt::format("{}  {}\n", paint.bold(p.asked.url), paint.faint(p.server.to_string()));
    out += fmt::format("{}\n", what_was_done(p));

    out += fmt::format("\nConnect     {} of {} open in {}", grouped(r.connect.opened), grouped(r.connect.attempted),
                       format_duration(static_cast<double>(r.connect.elapsed)));
    if (!r.connect.latency.empty()) {
        out += fmt::format(" (p50 {}, max {})", time_or_dash(r.connect.latency.percentile_ns(50)), time_or_dash(r.connect.latency.max_ns()));
    }
    out += "\n";
    if (r.nothing_measured()) {
        out += paint.red(fmt::format("Nothing measured: not one complete reply came ({}).\n", name_of(r.stopped_by)));
        return out + error_lines(r, paint);
    }
    const double rate = seconds > 0 ? static_cast<double>(r.counts.ok) / seconds : 0;
    out += fmt::format("Requests    {} right in {}, {}\n", grouped(r.counts.ok), format_duration(static_cast<double>(r.elapsed)),
                       paint.bold(fmt::format("{}/s", grouped(static_cast<std::uint64_t>(std::llround(rate))))));
    if (r.stopped_by == stop_reason::signal) out += paint.red("            interrupted: these are the figures up to then\n");
    if (r.stopped_by == stop_reason::error) out += paint.red("            stopped early: nothing worked any more\n");
    if (seconds > 0) {
        out += fmt::format("Traffic     in {} ({}/s), out {} ({}/s)\n", bytes(static_cast<double>(r.counts.bytes_in)),
                           bytes(static_cast<double>(r.counts.bytes_in) / seconds), bytes(static_cast<double>(r.counts.bytes_out)),
                           bytes(static_cast<double>(r.counts.bytes_out) / seconds));
    }
    if (!all.empty()) {
        out += fmt::format("Latency     mean {}, min {}, max {}\n           ", format_duration(*all.mean_ns()), time_or_dash(all.min_ns()),
                           time_or_dash(all.max_ns()));
        for (const double percent : reported_percentiles) {
            out += fmt::format(" p{} {}{}", percentile_name(percent), time_or_dash(all.supported_percentile_ns(percent)),
                               percent == std::end(reported_percentiles)[-1] ? "\n" : ",");
        }
        out += "\n" + picture(all, paint);
    }
    if (!r.rounds.empty()) out += "\n" + rounds_table(r, paint);

    out += "\n";
    if (r.server) {
        const double cpu = static_cast<double>(r.server->cpu_user_ns + r.server->cpu_system_ns);
        out += fmt::format("Server      {} CPU a request, {:.0f}% of a CPU, {} resident in {} process{}\n",
                           r.counts.ok == 0 ? "-" : format_duration(cpu / static_cast<double>(r.counts.ok)),
                           seconds > 0 ? cpu / seconds / 1e7 : 0, bytes(static_cast<double>(r.server->rss_bytes)), r.server->processes,
                           r.server->processes == 1 ? "" : "es");
    }
    out += fmt::format("Generator   {:.0f}% of its CPUs, {} resident", r.generator.cpu_share * 100, bytes(static_cast<double>(r.generator.rss_peak_bytes)));
    if (r.in_flight_mean && *r.in_flight_mean > 0 && !all.empty()) {
        out += fmt::format("; Little's ratio {:.3f}", rate * *all.mean_ns() / 1e9 / *r.in_flight_mean);
    }
    out += "\n";
    if (r.generator.cpu_share > 0.8) {
        out += paint.faint("            near its limit: the server may be able to do more; give it more CPUs or threads (-t, --cpu)\n");
    }
    return out + error_lines(r, paint);
}

}  // namespace wireload
