#include "output/summary.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/percent.hpp"
#include "measure/omission.hpp"
#include "output/error_advice.hpp"
#include "output/judgement.hpp"
#include "output/latency_picture.hpp"
#include "output/open_loop_report.hpp"
#include "plan/host_limits.hpp"

namespace wireload {
namespace {

std::string plural(std::uint64_t n, std::string_view word) {
    return fmt::format("{} {}{}", grouped(n), word, n == 1 ? "" : "s");
}

// Broken at spaces so that it fits 80 columns where further lines begin at column `indent`, and the
// first at column `begin`.
std::string in_lines(std::string_view text, std::size_t indent, std::size_t begin) {
    std::string out;
    for (std::size_t width = 80 - begin; text.size() > width; width = 80 - indent) {
        std::size_t end = text.rfind(' ', width);
        if (end == std::string_view::npos || end == 0) end = width;
        out += fmt::format("{}\n{}", text.substr(0, end), std::string(indent, ' '));
        text.remove_prefix(std::min(end + (text[end] == ' ' ? 1 : 0), text.size()));
    }
    return out + std::string(text);
}
// After a heading of `indent` columns.
std::string in_lines(std::string_view text, std::size_t indent) {
    return in_lines(text, indent, indent);
}

// Columns of "Warning" and its like.
constexpr std::size_t heading = 11;

double seconds_of(const run_result& r) { return static_cast<double>(r.elapsed) / 1e9; }

std::string cut(const std::string& text, std::size_t most) {
    return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

std::string rounds_table(const run_result& r, const painter& paint) {
    std::string out =
        paint.bold(fmt::format("  {:>5} {:>8} {:>8} {:>9} {:>10} {:>9} {:>9} {:>9}\n", "round",
                               "clients", "open", "connect", "answered", "success", "p50", "p99"));
    // A long ramp is thinned out to fit a screen; its last round is always there.
    const std::size_t step = (r.rounds.size() + 9) / 10;
    for (std::size_t i = 0; i < r.rounds.size(); ++i) {
        if ((r.rounds.size() - 1 - i) % step != 0) continue;
        const round_result& round = r.rounds[i];
        const std::optional<histogram> h = r.series->latencies_of(i);
        const std::string success =
            fmt::format("{:>9}", format_percent_in_column(round.success_ratio * 100, 2));
        out += fmt::format(
            "  {:>5} {:>8} {:>8} {:>9} {:>10} {} {:>9} {:>9}\n", i + 1, round.clients, round.opened,
            format_duration(static_cast<double>(round.connect_elapsed)), grouped(round.counts.ok),
            round.success_ratio < 1 ? paint.red(success) : success,
            time_or_dash(h ? h->percentile_ns(50) : std::nullopt),
            time_or_dash(h ? h->supported_percentile_ns(99) : std::nullopt));
    }
    return out;
}

std::string latency_table(const histogram& h, const painter& paint) {
    std::string names = fmt::format("{:>10}", "mean"),
                values = fmt::format("{:>10}", format_duration(*h.mean_ns()));
    for (const double percent : reported_percentiles) {
        names += fmt::format("{:>9}", "p" + percentile_name(percent));
        values += fmt::format("{:>9}", time_or_dash(h.supported_percentile_ns(percent)));
    }
    names += fmt::format("{:>9}", "max");
    values += fmt::format("{:>9}", time_or_dash(h.max_ns()));
    return fmt::format("{}{}\n       {}\n", paint.bold("Latency"), paint.faint(names), values);
}

std::string deflate_line(const run_result& r) {
    return fmt::format("Deflate    {} of {} connections; payload in {}, out {}",
                       grouped(r.deflate.with), grouped(r.deflate.with + r.deflate.without),
                       bytes_text(static_cast<double>(r.counts.payload_in)),
                       bytes_text(static_cast<double>(r.counts.payload_out)));
}

std::string statuses(const run_result& r, const painter& paint) {
    std::string out;
    std::size_t column = heading;
    for (std::size_t i = 0; i < r.counts.statuses.size(); ++i) {
        if (r.counts.statuses[i] == 0) continue;
        const std::string one = fmt::format("{} x {}", i + 100, grouped(r.counts.statuses[i]));
        if (!out.empty()) {
            out += ',';
            // With a comma behind it.
            const bool fits = column + 2 + one.size() < 80;
            out += fits ? std::string(" ") : "\n" + std::string(heading, ' ');
            column = fits ? column + 2 : heading;
        }
        out += i >= 300 ? paint.yellow(one) : one;
        column += one.size();
    }
    return out;
}

std::string error_lines(const run_result& r, const painter& paint) {
    const std::uint64_t total = r.counts.errors.total();
    if (total == 0) return {};
    std::string kinds;
    for (std::size_t i = 0; i < error_names.size(); ++i) {
        if (r.counts.errors.by_kind[i] != 0)
            kinds += fmt::format(", {} {}", error_names[i], grouped(r.counts.errors.by_kind[i]));
    }
    const std::string share =
        fmt::format("{} ({})", grouped(total), format_percent(*r.error_percent()));
    // Of the sign one column, or "FAIL".
    const std::size_t begin = heading + (paint.bad().size() == 4 ? 4 : 1) + 1 + share.size();
    std::string out = fmt::format("{}     {} {}{}\n", paint.red("Errors"), paint.bad(),
                                  paint.red(share), in_lines(kinds, heading, begin));
    if (const auto& e = r.counts.first_error) {
        out += fmt::format("  the first, {}:\n    {}\n", name_of(e->kind), advice_on(e->kind));
        for (const auto& [name, text] :
             {std::pair("sent", &e->sent), std::pair("expected", &e->expected),
              std::pair("received", &e->received)}) {
            out += fmt::format("    {:<8}  {}\n", name, cut(*text, 64));
        }
    }
    return out;
}

std::string value_text(const threshold& t, const judgement& j) {
    if (!j.holds) return fmt::format("not decided: {}", j.why_undecided);
    if (t.is_time()) return format_duration(*j.value, t.limit);
    if (t.is_share()) return format_percent(*j.value, t.limit);
    return t.unit() == "1/s" ? per_second(*j.value, t.limit)
                             : grouped(static_cast<std::uint64_t>(*j.value));
}

std::string threshold_lines(const plan& p, const run_result& r, const painter& paint) {
    std::string out;
    for (const threshold& t : p.asked.thresholds) {
        const judgement j = judge(t, r);
        const std::string sign = fmt::format("{:<4}", fails(j) ? paint.bad() : paint.good());
        out += fmt::format("{} {} {:<24} {}\n", out.empty() ? paint.bold("Fail if ") : "        ",
                           fails(j) ? paint.red(sign) : paint.green(sign), t.text,
                           fails(j) ? paint.red(value_text(t, j)) : value_text(t, j));
    }
    return out;
}

std::string generator_verdict(const generator_usage& g, const painter& paint) {
    switch (g.limit()) {
    case generator_limit::cpu_quota: return paint.yellow("stopped by its CPU quota");
    case generator_limit::cpu: return paint.yellow("generator-bound");
    case generator_limit::none: break;
    }
    return g.cpu_share > busy_generator ? paint.yellow("near its limit") : "it was not the limit";
}

std::string generator_line(const plan& p, const run_result& r, const painter& paint) {
    const unsigned cpus = p.cpus;
    std::string out = fmt::format("Generator  {} of its {}, {} at most: {}\n",
                                  format_percent_in_column(r.generator.cpu_share * 100, 0),
                                  cpus == 1 ? "core" : fmt::format("{} cores", cpus),
                                  bytes_text(static_cast<double>(r.generator.rss_peak_bytes)),
                                  generator_verdict(r.generator, paint));
    if (const auto ratio = r.little_ratio()) {
        const bool fits = r.little_holds(std::uint64_t{p.asked.connections} * p.asked.in_flight);
        out += fmt::format("Little     rate x latency / in flight = {:.3f}{}\n", *ratio,
                           fits ? "" : paint.yellow(", not 1: do not trust the figures"));
    }
    return out;
}

std::string server_line(const run_result& r) {
    const double cpu = static_cast<double>(r.server->cpu_user_ns + r.server->cpu_system_ns);
    const std::uint64_t answered = r.answered_while_metered();
    const double worked =
        r.turns && r.counts.ok != 0
            ? seconds_of(r) * static_cast<double>(answered) / static_cast<double>(r.counts.ok)
            : seconds_of(r);
    return fmt::format("Server     {} CPU a {}, {} of a core, {} in {} process{}\n",
                       answered == 0 ? "-" : format_duration(cpu / static_cast<double>(answered)),
                       r.broadcast ? "delivery" : "request",
                       format_percent_in_column(worked > 0 ? cpu / worked / 1e7 : 0, 0),
                       bytes_text(static_cast<double>(r.server->rss_bytes)), r.server->processes,
                       r.server->processes == 1 ? "" : "es");
}

// Requests without an answer for half of the window. Where answers are quick otherwise, the server
// leaves some of its connections aside.
std::string starving(const plan& p, const run_result& r) {
    const flight& left = *r.unanswered;
    const std::string oldest = format_duration(static_cast<double>(left.oldest));
    // Of several requests or servers, one may be slow, or far, and the median another's.
    const bool alike = p.targets.size() == 1 && p.requests.size() < 2;
    const auto usual = alike ? r.series->total().percentile_ns(50) : std::nullopt;
    const std::string what = p.asked.in_flight == 1
                                 ? fmt::format("{} of {} connections", grouped(left.starved),
                                               grouped(p.asked.connections))
                                 : plural(left.starved, "request");
    if (usual && 4 * *usual < static_cast<std::uint64_t>(left.oldest)) {
        const std::string silent =
            left.silent == 0 ? std::string()
                             : fmt::format(", {} of them for all of it", grouped(left.silent));
        return fmt::format(
            "{} waited for more than half of the window ({} at most){}: the server starves them",
            what, oldest, p.asked.in_flight == 1 ? silent : std::string());
    }
    return fmt::format(
        "{} had no answer for half of the window ({} at most): {}too short a window (-d)", what,
        oldest, alike ? "" : "a server or a request that is slow beside the others, or ");
}

// "stopped the generator in 49 periods, for 2.4 s"
std::string stopped_text(const quota_use& quota, std::string_view who) {
    const std::string quota_text = quota.stopped->cpus
                                       ? fmt::format("a CPU quota of {:.4g}", *quota.stopped->cpus)
                                       : std::string("a CPU quota");
    return fmt::format("{} stopped {} in {}, for {} summed over CPUs", quota_text, who,
                       plural(quota.stopped->periods, "period"),
                       format_duration(static_cast<double>(quota.stopped->time)));
}

// What CPU quotas did to the generator and to the server that is watched.
void add_quota_warnings(const run_result& r, std::vector<std::string>& out) {
    const auto stopped = [](const quota_use& quota) {
        return quota.stopped && quota.stopped->periods != 0;
    };
    if (stopped(r.generator.quota)) {
        out.push_back(stopped_text(r.generator.quota, "the generator") +
                      (r.generator.quota.was_the_limit()
                           ? ": the server may do more, and answer sooner; raise the quota "
                             "(cpu.max of its cgroup), or give a lower load"
                           : ": the longest latencies may contain that"));
    }
    if (r.server && stopped(r.server->quota)) {
        out.push_back(stopped_text(r.server->quota, "the server") +
                      (r.server->quota.was_the_limit()
                           ? ": what was measured is the server within this quota"
                           : ": the longest latencies may contain that"));
    }
}

// What a reader should know before believing the figures: cause, effect, remedy.
std::vector<std::string> warnings(const plan& p, const run_result& r) {
    std::vector<std::string> out;
    if (r.stopped_by == stop_reason::signal)
        out.emplace_back("interrupted: these are the figures up to then");
    if (r.stopped_by == stop_reason::error)
        out.emplace_back("stopped early: nothing worked any more");
    const auto unasked = std::count_if(p.targets.begin(), p.targets.end(),
                                       [](const target& t) { return t.connections == 0; });
    if (unasked != 0 && p.asked.part.of == 1) {
        const std::string_view more = p.asked.ramp ? "--ramp-rounds, --ramp-add" : "-c";
        out.push_back(
            fmt::format("{} of {} servers got no connection, and so no request: give more ({})",
                        unasked, p.targets.size(), more));
    }
    if (r.unanswered && r.unanswered->starved != 0) out.push_back(starving(p, r));
    for (std::string& one : open_loop_warnings(p, r)) out.push_back(std::move(one));
    if (r.turns && r.turns->late != 0) {
        out.push_back(fmt::format(
            "in {} of {} turns replies came when it was another's turn, up to {} after the last "
            "request: give longer turns (--turn)",
            grouped(r.turns->late), grouped(r.series->records().size()),
            format_duration(static_cast<double>(r.turns->longest_rest))));
    }
    add_quota_warnings(r, out);
    if (r.generator.limit() == generator_limit::cpu) {
        out.emplace_back(
            "the generator was at its limit, and the server may do more: give it more CPUs or "
            "threads (-t, --cpu)");
    } else if (r.generator.limit() == generator_limit::none &&
               r.generator.cpu_share > busy_generator) {
        out.emplace_back(
            "the generator was near its limit: give it more CPUs or threads (-t, --cpu)");
    }
    if (r.deflate.without != 0) {
        out.push_back(fmt::format(
            "permessage-deflate declined on {} of {}: messages went uncompressed there; the server "
            "has it off, or wants another offer",
            grouped(r.deflate.without), plural(r.deflate.with + r.deflate.without, "connection")));
    }
    if (r.counts.payload_out != 0 && r.counts.sent_compressed == 0) {
        out.emplace_back(
            "no message became shorter when compressed, so all went as they are: give a longer one "
            "(--message)");
    }
    if (p.asked.keep_alive && !p.asked.ramp && r.connections_opened > p.asked.connections &&
        r.counts.ok > 0) {
        const error_counts& e = r.counts.errors;
        out.push_back(fmt::format(
            "{} opened again: {}", plural(r.connections_opened - p.asked.connections, "connection"),
            e.total() == e[error_kind::closed_early]
                ? "the server closes connections that could be kept"
                : "after errors, or where the server closed one that could be kept"));
    }
    return out;
}

// How connecting went: its phases, what TLS and --deflate agreed on.
std::string connect_lines(const plan& p, const run_result& r) {
    std::string connect =
        fmt::format("{} of {} open in {}", grouped(r.connect.opened), grouped(r.connect.attempted),
                    format_duration(static_cast<double>(r.connect.elapsed)));
    std::string phases;
    if (!r.connect.latency.empty()) {
        connect +=
            fmt::format(" (p50 {}, max {})", time_or_dash(r.connect.latency.percentile_ns(50)),
                        time_or_dash(r.connect.latency.max_ns()));
    }
    if (!p.asked.keep_alive && !r.connect.phases.tcp.empty()) {
        const std::uint64_t in_window =
            r.connect.opened - std::min(r.connect.opened, r.counts.opened_in_drain);
        if (r.elapsed > 0)
            connect +=
                fmt::format(", {}", per_second(static_cast<double>(in_window) / seconds_of(r)));
        phases = fmt::format("p50: tcp {}", time_or_dash(r.connect.phases.tcp.percentile_ns(50)));
        const auto phase = [&](std::string_view name, const histogram& h) {
            if (!h.empty())
                phases += fmt::format(", {} {}", name, time_or_dash(h.percentile_ns(50)));
        };
        phase("tls", r.connect.phases.tls);
        phase("upgrade", r.connect.phases.upgrade);
        phase("first byte", r.connect.phases.first_byte);
        phases +=
            fmt::format("; name looked up in {}", format_duration(static_cast<double>(p.name_ns)));
    }
    connect = fmt::format("Connect    {}", in_lines(connect, heading));
    if (!phases.empty()) connect += fmt::format("\nPhases     {}", in_lines(phases, heading));
    for (const auto& k : r.tls.kinds) {
        connect += fmt::format("\nTLS        {}, {}: {}", k.version, k.cipher,
                               plural(k.count, "handshake"));
        if (&k == &r.tls.kinds.front() && r.tls.resumed != 0)
            connect += fmt::format(" ({} of all resumed)", grouped(r.tls.resumed));
    }
    if (p.asked.deflate) connect += "\n" + deflate_line(r);
    return connect;
}

std::string result_line(const run_result& r, const painter& paint) {
    if (!r.idle) {
        return fmt::format("{} {} right in {}: {}\n",
                           paint.bold(r.broadcast ? "Deliveries" : "Requests  "),
                           grouped(r.counts.ok), format_duration(static_cast<double>(r.elapsed)),
                           paint.bold(per_second(r.rate_per_s())));
    }
    const std::string connections = plural(r.idle->opened, "connection");
    const std::string pings = plural(r.idle->pings, "ping");
    std::string out = fmt::format("{}       {} of {} for {}; {} answered\n", paint.bold("Held"),
                                  grouped(r.idle->held), connections,
                                  format_duration(static_cast<double>(r.elapsed)), pings);
    if (r.idle->messages != 0)
        out += fmt::format("Messages   {} came unasked\n", grouped(r.idle->messages));
    return out;
}

std::string broadcast_lines(const run_result& r) {
    if (!r.broadcast) return {};
    const broadcast_counts& counts = r.counts.broadcast;
    const std::string sent =
        fmt::format("{} sent, {} of them to all of {}; the last has it after p50 {}, p99 {}",
                    plural(counts.messages, "message"), grouped(counts.complete),
                    plural(r.broadcast->subscribers, "subscriber"),
                    time_or_dash(r.broadcast->last.percentile_ns(50)),
                    time_or_dash(r.broadcast->last.supported_percentile_ns(99)));
    std::string out = fmt::format("Broadcast  {}\n", in_lines(sent, heading));
    if (counts.lost + counts.doubled + counts.reordered != 0)
        out += fmt::format("           {} {} lost, {} doubled, {} out of order\n",
                           grouped(counts.lost), counts.lost == 1 ? "delivery" : "deliveries",
                           grouped(counts.doubled), grouped(counts.reordered));
    return out;
}

std::string traffic_line(const run_result& r) {
    if (r.elapsed <= 0) return {};
    // Like the requests: of an open loop all are counted, and those of the window are its rate.
    const auto flow = [&](std::uint64_t n, std::uint64_t drained) {
        return fmt::format("{} ({}/s)", bytes_text(static_cast<double>(n)),
                           bytes_text(static_cast<double>(n - drained) / seconds_of(r)));
    };
    return fmt::format("Traffic    in {}, out {}\n", flow(r.counts.bytes_in, r.counts.drained_in),
                       flow(r.counts.bytes_out, r.counts.drained_out));
}

std::string estimate_lines(const plan& p, const histogram& all, const painter& paint) {
    if (!p.asked.correct_omission || all.empty()) return {};
    const auto interval = p.asked.correct_omission->count();
    return paint.faint(in_lines(fmt::format("An ESTIMATE, not measured: latency if each connection "
                                            "had had a request due every {}",
                                            format_duration(static_cast<double>(interval))),
                                0)) +
           "\n" +
           latency_table(corrected_for_omission(all, static_cast<std::uint64_t>(interval)), paint) +
           "\n";
}

// Replies may have come outside of the window: in the warm-up, or late in each turn.
std::string nothing_measured_line(const run_result& r) {
    return fmt::format("Nothing measured: {} ({}).\n",
                       r.idle                        ? "not one connection was open"
                       : r.window_start_unix_ns == 0 ? "the run ended before its window"
                                                     : "not one complete reply came in the window",
                       name_of(r.stopped_by));
}

// The address of the first server, and how many there are besides.
std::string server_text(const plan& p) {
    const std::string first = p.server.to_string();
    return p.targets.size() == 1
               ? first
               : fmt::format("{} and {} more", first, grouped(p.targets.size() - 1));
}

}  // namespace

std::string what_was_asked(const plan& p) {
    const options& o = p.asked;
    std::string out;
    if (o.ramp) {
        const std::string rounds = plural(o.ramp->rounds, "round");
        const std::string more = plural(o.ramp->add, "more connection");
        const std::string messages = plural(o.ramp->messages, "message");
        out = fmt::format("ramp, {} of {}, {} on each ({})", rounds, more, messages,
                          o.ramp->pacing == ramp_pacing::burst ? "burst" : "serial");
    } else {
        out = fmt::format("{}, {}",
                          o.idle        ? "held idle"
                          : o.broadcast ? "broadcast"
                          : o.open_loop ? open_loop_plan_text(o)
                                        : "closed loop",
                          plural(o.connections, "connection"));
        if (o.turns)
            out += fmt::format(", turn {} of {}, {} each", o.turns->number, o.turns->of,
                               format_duration(static_cast<double>(o.turns->length.count())));
        if (o.part.of > 1) out += fmt::format(", part {} of {}", o.part.number, o.part.of);
        if (!o.keep_alive)
            out += o.per_connection == 1
                       ? ", a new one for each request"
                       : fmt::format(", a new one for every {} requests", o.per_connection);
        if (o.in_flight > 1) out += fmt::format(", {} in flight on each", o.in_flight);
        if (o.warmup.count() > 0)
            out +=
                fmt::format(", warm-up {}", format_duration(static_cast<double>(o.warmup.count())));
    }
    out += fmt::format(", {}", plural(o.threads, "thread"));
    if (p.engine == wire::loop_engine::io_uring || !p.engine_why.empty())
        out += fmt::format(", {}", name_of(p.engine));
    if (!p.engine_why.empty()) out += fmt::format(" ({})", p.engine_why);
    return out;
}

std::string summary(const plan& p, const run_result& r, screen_style style) {
    const painter paint(style);
    const histogram& all = r.series->total();
    const std::string url = cut(p.asked.url, 56), server = server_text(p);
    // An IPv6 address may take a line of its own.
    const std::string_view between = url.size() + 2 + server.size() <= 80 ? "  " : "\n";
    std::string out = fmt::format("{}{}{}\n{}\n\n", paint.bold(url), between, paint.faint(server),
                                  in_lines(what_was_asked(p), 0));

    const std::string connect = connect_lines(p, r);
    if (r.nothing_measured()) {
        out += connect + "\n" + paint.red(nothing_measured_line(r));
        return out + error_lines(r, paint);
    }
    out += result_line(r, paint);
    out += broadcast_lines(r);
    if (const std::string codes = statuses(r, paint); !codes.empty())
        out += fmt::format("Statuses   {}\n", codes);
    out += traffic_line(r);
    out += connect + "\n\n";
    if (!all.empty()) out += latency_table(all, paint) + latency_picture(all, paint) + "\n";
    out += estimate_lines(p, all, paint);
    out += open_loop_lines(p, r);
    if (!r.rounds.empty()) out += rounds_table(r, paint) + "\n";
    if (r.server) out += server_line(r);
    out += generator_line(p, r, paint);
    for (const std::string& warning : warnings(p, r))
        out += fmt::format("{}    {}\n", paint.yellow("Warning"), in_lines(warning, heading));
    out += error_lines(r, paint);
    return out + threshold_lines(p, r, paint);
}

}  // namespace wireload
