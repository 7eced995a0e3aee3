#include "output/document.hpp"

#include <cmath>

#include "base/version.hpp"
#include "measure/omission.hpp"
#include "output/histogram_log.hpp"
#include "output/judgement.hpp"
#include "output/open_loop_report.hpp"
#include "plan/host_limits.hpp"

namespace wireload {
namespace {

using json = nlohmann::ordered_json;

template <typename T> json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

json rounded(const std::optional<double>& value) {
    return value ? json(std::llround(*value)) : json(nullptr);
}

json latency(const histogram& h, bool with_histogram) {
    json percentiles = json::object();
    for (const double p : reported_percentiles)
        percentiles[percentile_name(p)] = or_null(h.supported_percentile_ns(p));
    return {
        {"count", h.count()},
        {"min_ns", or_null(h.min_ns())},
        {"mean_ns", rounded(h.mean_ns())},
        {"stddev_ns", rounded(h.stddev_ns())},
        {"max_ns", or_null(h.max_ns())},
        {"percentiles_ns", std::move(percentiles)},
        {"histogram", with_histogram ? json(encode_v2_compressed(h)) : json(nullptr)},
    };
}

json errors(const error_counts& counts) {
    json out = json::object();
    for (std::size_t i = 0; i < error_names.size(); ++i)
        out[std::string(error_names[i])] = counts.by_kind[i];
    return out;
}

void add_quota(json& to, const quota_use& quota) {
    to["cpu_quota"] = or_null(quota.cpus);
    to["throttled_periods"] = quota.stopped ? json(quota.stopped->periods) : json(nullptr);
    to["throttled_ns"] = quota.stopped ? json(quota.stopped->time) : json(nullptr);
}

json server(const std::optional<server_usage>& usage) {
    if (!usage) return nullptr;
    json out = {
        {"cpu_user_ns", usage->cpu_user_ns},
        {"cpu_system_ns", usage->cpu_system_ns},
        {"rss_bytes", usage->rss_bytes},
        {"rss_peak_bytes", usage->rss_peak_bytes},
        {"pss_bytes", or_null(usage->pss_bytes)},
        {"kernel_bytes", or_null(usage->kernel_bytes)},
        {"host_kernel_growth_bytes", or_null(usage->host_kernel_growth_bytes)},
        {"processes", usage->processes},
    };
    add_quota(out, usage->quota);
    out["limited_by"] = usage->quota.was_the_limit() ? json("cpu_quota") : json(nullptr);
    return out;
}

json plan_of(const plan& p) {
    const options& o = p.asked;
    json out = {
        {"mode", o.ramp        ? "ramp"
                 : o.idle      ? "idle"
                 : o.broadcast ? "broadcast"
                 : o.open_loop ? "open"
                               : "closed"},
        {"connections", o.connections},
        {"threads", o.threads},
        {"engine", name_of(p.engine)},
        {"engine_why", p.engine_why.empty() ? json(nullptr) : json(p.engine_why)},
        {"in_flight", o.in_flight},
        {"keep_alive", o.keep_alive},
        {"per_connection", o.keep_alive ? json(nullptr) : json(o.per_connection)},
        {"warmup_ns", o.warmup.count()},
        {"duration_ns", o.duration ? json(o.duration->count()) : json(nullptr)},
        {"requests", or_null(o.requests)},
        {"each", or_null(o.each)},
        {"timeout_ns", o.timeout.count()},
        {"seed", o.seed},
        {"part", {{"number", o.part.number}, {"of", o.part.of}}},
    };
    if (o.ramp) {
        out["ramp"] = {{"rounds", o.ramp->rounds},
                       {"add", o.ramp->add},
                       {"messages", o.ramp->messages},
                       {"pacing", o.ramp->pacing == ramp_pacing::burst ? "burst" : "serial"}};
    }
    return out;
}

json phases(const plan& p, const run_result& r) {
    const connect_phases& phases = r.connect.phases;
    return {
        {"name_ns", p.name_ns},
        {"tcp", latency(phases.tcp, p.asked.keep_histogram)},
        {"tls", p.tls != nullptr ? latency(phases.tls, p.asked.keep_histogram) : json(nullptr)},
        {"upgrade",
         p.asked.websocket ? latency(phases.upgrade, p.asked.keep_histogram) : json(nullptr)},
        {"first_byte",
         p.asked.keep_alive ? json(nullptr) : latency(phases.first_byte, p.asked.keep_histogram)}};
}

json tls(const plan& p, const run_result& r) {
    if (!p.asked.tls) return nullptr;
    json agreed = json::array();
    for (const auto& k : r.tls.kinds) {
        agreed.push_back({{"version", k.version},
                          {"cipher", k.cipher},
                          {"alpn", k.protocol.empty() ? json(nullptr) : json(k.protocol)},
                          {"count", k.count}});
    }
    return {{"verified", !p.asked.tls->insecure},
            {"session", p.asked.tls->reuse_sessions ? "reuse" : "new"},
            {"handshakes", r.tls.handshakes},
            {"resumed", r.tls.resumed},
            {"agreed", std::move(agreed)}};
}

json deflate(const plan& p, const run_result& r) {
    if (!p.asked.deflate) return nullptr;
    return {{"connections_with", r.deflate.with},
            {"connections_without", r.deflate.without},
            {"payload_in", r.counts.payload_in},
            {"payload_out", r.counts.payload_out},
            {"sent_compressed", r.counts.sent_compressed}};
}

json targets(const plan& p) {
    json out = json::array();
    for (const target& t : p.targets) {
        out.push_back({{"origin", t.url.scheme + "://" + t.url.authority() +
                                      (t.url.websocket() ? t.url.target : "")},
                       {"address", t.server.to_string()},
                       {"connections", t.connections}});
    }
    return out;
}

json rotation(const plan& p, const run_result& r) {
    if (p.requests.size() < 2) return nullptr;
    json out = json::array();
    for (const prepared_request& request : p.requests) {
        const request_counts counts = request.index < r.counts.by_request.size()
                                          ? r.counts.by_request[request.index]
                                          : request_counts{};
        out.push_back({{"request", request.name},
                       {"weight", request.weight},
                       {"right", counts.right},
                       {"wrong", counts.wrong}});
    }
    return out;
}

json series(const run_result& r) {
    json ok = json::array(), wrong = json::array(), p50 = json::array(), max = json::array();
    for (const interval_record& i : r.series->records()) {
        ok.push_back(i.ok);
        wrong.push_back(i.errors);
        p50.push_back(or_null(i.p50_ns));
        max.push_back(or_null(i.max_ns));
    }
    return {{"interval_ns", r.interval},
            {"ok", ok},
            {"errors", wrong},
            {"p50_ns", p50},
            {"max_ns", max}};
}

json rounds(const plan& p, const run_result& r) {
    json out = json::array();
    const histogram none;
    for (std::size_t i = 0; i < r.rounds.size(); ++i) {
        const round_result& round = r.rounds[i];
        const std::optional<histogram> h = r.series->latencies_of(i);
        out.push_back({
            {"round", i + 1},
            {"clients", round.clients},
            {"opened", round.opened},
            {"connect_failed", round.connect_failures},
            {"connect_elapsed_ns", round.connect_elapsed},
            {"sent", round.counts.sent},
            {"answered", round.counts.ok},
            {"errors", errors(round.counts.errors)},
            {"success_ratio", round.success_ratio},
            {"elapsed_ns", round.elapsed},
            {"latency", latency(h ? *h : none, p.asked.keep_histogram)},
            {"server", server(round.server)},
        });
    }
    return out;
}

json thresholds(const plan& p, const run_result& r) {
    json out = json::array();
    for (const threshold& t : p.asked.thresholds) {
        const judgement j = judge(t, r);
        out.push_back({{"text", t.text},
                       {"value", or_null(j.value)},
                       {"limit", t.limit},
                       {"unit", t.unit()},
                       {"holds", or_null(j.holds)}});
    }
    return out;
}

bool plain_numbers(const json& array) {
    for (const json& item : array) {
        if (!item.is_number() && !item.is_null()) return false;
    }
    return true;
}

void write(std::string& out, const json& value, std::size_t depth) {
    if (!value.is_structured() || value.empty() || (value.is_array() && plain_numbers(value))) {
        // Texts come from the network: what is not UTF-8 is replaced rather than thrown about.
        out += value.dump(-1, ' ', false, json::error_handler_t::replace);
        return;
    }
    const std::string indent(2 * depth + 2, ' ');
    out += value.is_object() ? "{" : "[";
    bool first = true;
    for (const auto& [key, item] : value.items()) {
        out += first ? "\n" : ",\n";
        first = false;
        out += indent;
        if (value.is_object()) out += json(key).dump() + ": ";
        write(out, item, depth + 1);
    }
    out += "\n" + indent.substr(2) + (value.is_object() ? "}" : "]");
}

json latency_estimate(const plan& p, const histogram& measured) {
    if (!p.asked.correct_omission) return nullptr;
    const std::int64_t expected = p.asked.correct_omission->count();
    return {
        {"method", "correction for coordinated omission"},
        {"expected_interval_ns", expected},
        {"latency", latency(corrected_for_omission(measured, static_cast<std::uint64_t>(expected)),
                            p.asked.keep_histogram)}};
}

json turns(const plan& p, const run_result& r) {
    if (!r.turns) return nullptr;
    const turn_options& o = *p.asked.turns;
    return {{"number", o.number},
            {"of", o.of},
            {"length_ns", o.length.count()},
            {"measured_ns", o.measured()},
            {"taken", r.series->records().size()},
            {"answered", r.turns->answered},
            {"late", r.turns->late},
            {"longest_rest_ns", r.turns->longest_rest}};
}

json start(const run_result& r) {
    if (!r.start) return nullptr;
    return {{"asked_steady_ns", r.start->asked}, {"late_ns", r.start->begun - r.start->asked}};
}

json unanswered(const run_result& r) {
    if (!r.unanswered) return nullptr;
    const flight& left = *r.unanswered;
    return {{"count", left.count},
            {"oldest_ns", left.count == 0 ? json(nullptr) : json(left.oldest)},
            {"starved", left.starved},
            {"silent_connections", left.silent}};
}

json status_codes(const run_result& r) {
    json statuses = json::object();
    for (std::size_t i = 0; i < r.counts.statuses.size(); ++i) {
        if (r.counts.statuses[i] != 0) statuses[std::to_string(i + 100)] = r.counts.statuses[i];
    }
    return statuses;
}

json first_error(const run_result& r) {
    const auto& e = r.counts.first_error;
    if (!e) return nullptr;
    return {{"kind", name_of(e->kind)},
            {"sent", e->sent},
            {"expected", e->expected},
            {"received", e->received}};
}

json idle(const std::optional<idle_result>& r) {
    if (!r) return nullptr;
    return {{"opened", r->opened},
            {"held", r->held},
            {"pings", r->pings},
            {"messages", r->messages},
            {"server_wake_ups", or_null(r->server_wake_ups)}};
}

json broadcast(const plan& p, const run_result& r) {
    if (!r.broadcast) return nullptr;
    const broadcast_counts& counts = r.counts.broadcast;
    return {{"subscribers", r.broadcast->subscribers},
            {"messages", counts.messages},
            {"complete", counts.complete},
            {"lost", counts.lost},
            {"doubled", counts.doubled},
            {"reordered", counts.reordered},
            {"last", latency(r.broadcast->last, p.asked.keep_histogram)}};
}

json name_of(generator_limit limit) {
    switch (limit) {
    case generator_limit::none: return nullptr;
    case generator_limit::cpu: return "cpu";
    case generator_limit::cpu_quota: break;
    }
    return "cpu_quota";
}

json generator(const generator_usage& g) {
    json out = {{"cpu_user_ns", g.cpu_user_ns},
                {"cpu_system_ns", g.cpu_system_ns},
                {"cpu_share", g.cpu_share},
                {"spin_ns", g.spin_ns},
                {"rss_peak_bytes", g.rss_peak_bytes},
                {"voluntary_switches", g.voluntary_switches},
                {"involuntary_switches", g.involuntary_switches}};
    add_quota(out, g.quota);
    out["limited_by"] = name_of(g.limit());
    return out;
}

}  // namespace

json to_document(const plan& p, const run_result& r) {
    const histogram& all = r.series->total();

    return {
        {"schema", "wireload/1"},
        {"version", version_text()},
        {"command", p.asked.command},
        {"target",
         {{"url", p.asked.url},
          {"scheme", p.url.scheme},
          {"host", p.url.host},
          {"address", p.server.to_string()},
          {"port", p.url.port},
          {"path", p.url.target}}},
        {"targets", targets(p)},
        {"rotation", rotation(p, r)},
        {"plan", plan_of(p)},
        {"connect",
         {{"attempted", r.connect.attempted},
          {"opened", r.connect.opened},
          {"failed", r.connect.failed},
          {"elapsed_ns", r.connect.elapsed},
          {"latency", latency(r.connect.latency, p.asked.keep_histogram)},
          {"phases", phases(p, r)},
          {"server", server(r.connect.server)}}},
        {"tls", tls(p, r)},
        {"deflate", deflate(p, r)},
        {"window",
         {{"start_unix_ns", r.window_start_unix_ns},
          {"elapsed_ns", r.elapsed},
          {"stopped_by", name_of(r.stopped_by)},
          {"unanswered", unanswered(r)}}},
        {"requests",
         {{"sent", r.counts.sent},
          {"ok", r.counts.ok},
          {"errors", r.counts.errors.total()},
          {"rate_per_s", r.rate_per_s()},
          {"bytes_in", r.counts.bytes_in},
          {"bytes_out", r.counts.bytes_out},
          {"connections_opened", r.connections_opened}}},
        {"errors", errors(r.counts.errors)},
        {"first_error", first_error(r)},
        {"status_codes", status_codes(r)},
        {"latency", latency(all, p.asked.keep_histogram)},
        {"latency_estimate", latency_estimate(p, all)},
        {"little",
         {{"in_flight_mean", or_null(r.in_flight_mean)},
          {"samples", r.counts.in_flight_samples},
          {"ratio", or_null(r.little_ratio())}}},
        {"open_loop",
         open_loop_document(
             p, r, [&](const histogram& h) { return latency(h, p.asked.keep_histogram); })},
        {"turns", turns(p, r)},
        {"start", start(r)},
        {"idle", idle(r.idle)},
        {"broadcast", broadcast(p, r)},
        {"generator", generator(r.generator)},
        {"server", server(r.server)},
        {"thresholds", thresholds(p, r)},
        {"series", p.asked.ramp ? json(nullptr) : series(r)},
        {"rounds", p.asked.ramp ? rounds(p, r) : json(nullptr)},
    };
}

std::string to_text(const json& document) {
    std::string out;
    write(out, document, 0);
    return out + "\n";
}

}  // namespace wireload
