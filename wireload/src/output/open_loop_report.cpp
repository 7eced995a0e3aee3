#include "output/open_loop_report.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "measure/open_loop_verdict.hpp"
#include "output/screen.hpp"

namespace wireload {
namespace {

using json = nlohmann::ordered_json;

std::string rate_text(std::uint64_t milli) {
    return fmt::format("{:.10g}/s", static_cast<double>(milli) / 1e3);
}

struct rates {
    double asked = 0;  // a second
    double sent = 0;
    double answered = 0;
};

// With so many, of all parts, the schedule is over; absent where time ends it.
std::optional<std::uint64_t> most_due(const options& asked) {
    const arrival_plan& arrivals = asked.open_loop->arrivals;
    if (arrivals.kind != arrival_kind::recorded) return asked.requests;
    if (!asked.requests && asked.duration) return std::nullopt;
    return std::min<std::uint64_t>(asked.requests.value_or(UINT64_MAX), arrivals.recorded.size());
}

// A schedule that is over with a count was so before the last reply, where the window ends: its own
// length counts, not that of the window.
double due_per_s(const options& asked, const run_result& r, double seconds) {
    const std::uint64_t due = r.open_loop->counts.scheduled;
    const std::optional<std::uint64_t> most = most_due(asked);
    if (most && *most != 0 && due >= asked.part.share_of(*most)) {
        const arrival_plan& arrivals = asked.open_loop->arrivals;
        // Of rates that change none goes with a count.
        if (arrivals.kind != arrival_kind::recorded)
            return static_cast<double>(arrivals.pieces.front().from_milli) / 1e3 / asked.part.of;
        if (const nanos last = arrivals.recorded[*most - 1]; last > 0)
            return static_cast<double>(due) * 1e9 / static_cast<double>(last);
    }
    return static_cast<double>(due) / seconds;
}

rates rates_of(const options& asked, const run_result& r) {
    const double seconds = static_cast<double>(r.elapsed) / 1e9;
    if (seconds <= 0) return {};
    return {due_per_s(asked, r, seconds),
            static_cast<double>(r.open_loop->counts.sent_in_window) / seconds, r.rate_per_s()};
}

json name_of(load_limit limit) {
    switch (limit) {
    case load_limit::none: return nullptr;
    case load_limit::server: return "server";
    case load_limit::generator: break;
    }
    return "generator";
}

std::string percentiles(const histogram& h) {
    std::string out;
    for (const double percent : {50.0, 99.0, 99.9}) {
        const auto value = h.supported_percentile_ns(percent);
        if (value)
            out += fmt::format("{}p{} {}", out.empty() ? "" : ", ", percentile_name(percent),
                               format_duration(static_cast<double>(*value)));
    }
    if (const auto most = h.max_ns())
        out += fmt::format("{}max {}", out.empty() ? "" : ", ",
                           format_duration(static_cast<double>(*most)));
    return out.empty() ? "-" : out;
}

json pieces(const arrival_plan& plan) {
    json out = json::array();
    for (const rate_piece& p : plan.pieces) {
        out.push_back({{"from_per_s", static_cast<double>(p.from_milli) / 1e3},
                       {"to_per_s", static_cast<double>(p.to_milli) / 1e3},
                       {"length_ns", p.length == never ? json(nullptr) : json(p.length)}});
    }
    return out;
}

}  // namespace

json open_loop_document(const plan& p, const run_result& r,
                        const std::function<json(const histogram&)>& latency) {
    if (!r.open_loop) return nullptr;
    const open_loop_options& o = *p.asked.open_loop;
    const open_loop_result& open = *r.open_loop;
    const rates rate = rates_of(p.asked, r);
    const open_loop_verdict verdict = judge_open_loop(r);
    return {
        {"arrivals", o.name},
        {"rate", rate.asked},
        {"rates", pieces(o.arrivals)},
        {"max_in_flight", o.max_in_flight ? json(*o.max_in_flight) : json(nullptr)},
        {"deadline_ns", o.deadline ? json(o.deadline->count()) : json(nullptr)},
        {"scheduled", open.counts.scheduled},
        {"sent", r.counts.sent},
        {"not_sent", open.counts.not_sent},
        {"late", open.counts.late},
        {"sent_per_s", rate.sent},
        {"answered_per_s", rate.answered},
        {"rate_kept", verdict.rate_kept()},
        {"limited_by", name_of(verdict.limit)},
        {"backlog_max", open.counts.backlog_max},
        {"drain_ns", open.drain},
        {"reply_times", "kernel"},
        {"lag", latency(open.lag)},
        {"service", latency(open.service)},
        {"displacement", latency(open.displacement)},
        {"undisturbed", latency(open.undisturbed)},
        {"cores_awake", open.cores_awake},
        {"void", verdict.why_void ? json(*verdict.why_void) : json(nullptr)},
    };
}

std::string open_loop_plan_text(const options& asked) {
    const open_loop_options& o = *asked.open_loop;
    if (o.arrivals.kind == arrival_kind::recorded)
        return fmt::format("open loop, arrivals of {}", o.name);
    const std::vector<rate_piece>& pieces = o.arrivals.pieces;
    const rate_piece &first = pieces.front(), &last = pieces.back();
    std::string rate = rate_text(first.from_milli);
    if (pieces.size() > 1)
        rate = fmt::format("{} to {} in {} steps", rate, rate_text(last.to_milli), pieces.size());
    else if (first.from_milli != first.to_milli)
        rate = fmt::format("{} to {}", rate, rate_text(last.to_milli));
    return fmt::format("open loop, {}{}", rate,
                       o.arrivals.kind == arrival_kind::poisson ? " (poisson)" : "");
}

std::string open_loop_lines(const plan& p, const run_result& r) {
    if (!r.open_loop) return {};
    const open_loop_result& open = *r.open_loop;
    const rates rate = rates_of(p.asked, r);
    const bool by_clock = r.stopped_by != stop_reason::requests;
    std::string out = fmt::format("Schedule   {} due, {}; ", grouped(open.counts.scheduled),
                                  per_second(rate.asked));
    out += by_clock ? fmt::format("sent {}; ", per_second(rate.sent)) : std::string();
    out += fmt::format("{} waited at most\n", grouped(open.counts.backlog_max));
    out += fmt::format("Service    {} from sending\n", percentiles(open.service));
    return out + fmt::format("Lag        {} by the generator\n", percentiles(open.lag));
}

std::vector<std::string> open_loop_warnings(const plan& p, const run_result& r) {
    if (!r.open_loop) return {};
    std::vector<std::string> out;
    const open_loop_tally& c = r.open_loop->counts;
    const open_loop_verdict verdict = judge_open_loop(r);
    if (verdict.why_void) out.push_back(fmt::format("VOID: {}", *verdict.why_void));
    if (!verdict.rate_kept()) {
        const auto most = p.asked.open_loop->max_in_flight;
        const rates rate = rates_of(p.asked, r);
        const std::string who =
            verdict.limit == load_limit::generator ? "the generator could not do more"
            : most ? fmt::format("the server could not keep up with {} in flight", grouped(*most))
                   : fmt::format("the server could not keep up with {} connections",
                                 grouped(p.asked.connections));
        out.push_back(fmt::format("asked {}, sent {}: {}", per_second(rate.asked),
                                  per_second(rate.sent), who));
    }
    if (c.not_sent != c.missed)
        out.push_back(
            fmt::format("{} never sent: no connection was free before the deadline or the end",
                        grouped(c.not_sent - c.missed)));
    if (c.missed != 0)
        out.push_back(fmt::format("{} never sent: wireload itself let their deadline pass",
                                  grouped(c.missed)));
    if (c.late != 0) {
        out.push_back(fmt::format(
            "{} answered after the deadline of {}: errors, and among the latencies",
            grouped(c.late),
            format_duration(static_cast<double>(p.asked.open_loop->deadline->count()))));
    }
    return out;
}

}  // namespace wireload
