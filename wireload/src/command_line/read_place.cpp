// Reads where the run takes place and what it writes: TLS, CPUs, threads, addresses, outputs.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>
#include <variant>

#include "command_line/command_line.hpp"
#include "command_line/readers.hpp"
#include "command_line/threshold_parser.hpp"
#include "command_line/usage.hpp"

namespace wireload {
namespace {

void read_thresholds(const given_options& given, options& out) {
    for (const std::string& text : given.raw.fail_if) {
        auto parsed = parse_threshold(text);
        if (const auto* problem = std::get_if<std::string>(&parsed))
            refuse("--fail-if '{}': {}", text, *problem);
        out.thresholds.push_back(std::get<threshold>(std::move(parsed)));
        if (out.thresholds.back().source != threshold_source::latency && !out.open_loop) {
            refuse(
                "--fail-if '{}': only an open loop has lag and service time; give a --rate, or "
                "another metric",
                text);
        }
        const threshold& last = out.thresholds.back();
        if (out.idle && !last.judges_errors() && last.metric != threshold_metric::generator) {
            refuse(
                "--fail-if '{}': with --idle nothing is answered; give a condition on errors or "
                "generator",
                text);
        }
    }
}

// An empty value is most often a shell's variable that is not set: it must not pass for the
// default.
void refuse_empty(const given_options& given, std::string_view flag, const std::string& value,
                  std::string_view wanted) {
    if (given.has(flag) && value.empty()) refuse("{} '': give {}", flag, wanted);
}

// Whether both outputs would be written to one file, the later over the earlier. A device such as
// /dev/null is no file.
bool are_one_file(const std::string& a, const std::string& b) {
    if (a.empty() || b.empty() || a == "-" || b == "-") return false;
    std::error_code failed;
    if (std::filesystem::exists(a, failed))
        return std::filesystem::is_regular_file(a, failed) &&
               std::filesystem::equivalent(a, b, failed);
    return std::filesystem::path(a).lexically_normal() ==
           std::filesystem::path(b).lexically_normal();
}

}  // namespace

void read_tls(const given_options& given, options& out) {
    const auto is_secure = [](const std::string& url) { return kind_of(url).secure; };
    const bool wanted =
        std::any_of(out.urls.begin(), out.urls.end(), is_secure) ||
        std::any_of(out.rotation.begin(), out.rotation.end(),
                    [&](const request_options& r) { return !r.url.empty() && is_secure(r.url); });
    if (!wanted) {
        for (const char* name : {"--cacert", "--insecure", "--cert", "--key", "--sni",
                                 "--tls-session", "--tls-max-version", "--alpn"}) {
            if (given.has(name))
                refuse("{} is for TLS; begin the URL with https:// or wss://", name);
        }
        return;
    }
    tls_options tls;
    if (given.raw.insecure && given.has("--cacert"))
        refuse(
            "--insecure accepts every certificate, --cacert says whom to trust; give one of them");
    if (given.has("--cert") != given.has("--key"))
        refuse("--cert and --key belong together; give the other one too");
    refuse_empty(given, "--cacert", given.raw.cacert, "a PEM file, or leave it out");
    refuse_empty(given, "--cert", given.raw.cert, "a PEM file, or leave it out");
    refuse_empty(given, "--key", given.raw.key, "a PEM file, or leave it out");
    refuse_empty(given, "--sni", given.raw.sni, "a name, or leave it out");
    tls.ca_file = given.raw.cacert;
    tls.insecure = given.raw.insecure;
    tls.certificate_file = given.raw.cert;
    tls.key_file = given.raw.key;
    tls.server_name = given.raw.sni;
    if (given.has("--tls-session")) one_of("--tls-session", given.raw.tls_session);
    tls.reuse_sessions = given.raw.tls_session == "reuse";
    if (given.has("--tls-max-version")) one_of("--tls-max-version", given.raw.tls_max_version);
    tls.only_1_2 = given.raw.tls_max_version == "1.2";
    if (given.has("--alpn")) {
        tls.protocols.clear();
        std::istringstream names(given.raw.alpn);
        for (std::string one; std::getline(names, one, ',');) {
            one.erase(0, one.find_first_not_of(' '));
            if (one.empty() || one.size() > 255)
                refuse("--alpn '{}': give names of 1 to 255 bytes, separated by commas",
                       given.raw.alpn);
            if (one == "h2") refuse("--alpn h2: wireload speaks HTTP/1.1; offer http/1.1");
            tls.protocols.push_back(one);
        }
    }
    out.tls = std::move(tls);
}

// One for each usable CPU. In an open loop the rate is given, so threads that take all CPUs gain
// nothing: one CPU is left to the server, and the threads may spin on the others. A broadcast has
// one thread, which knows when all have a message.
unsigned default_threads(const options& asked, unsigned allowed_cpus) {
    if (asked.broadcast) return 1;
    if (!asked.cpus.empty()) return static_cast<unsigned>(asked.cpus.size());
    const unsigned left_to_the_server = asked.open_loop ? 1 : 0;
    return std::max(1U, allowed_cpus - std::min(allowed_cpus, left_to_the_server));
}

void read_place(const given_options& given, unsigned allowed_cpus, options& out) {
    if (given.has("--cpu")) {
        const auto cpus = parse_cpu_list(given.raw.cpu);
        if (!cpus) refuse("--cpu {}: give CPU numbers such as 1 or 0-3,6", given.raw.cpu);
        out.cpus = *cpus;
    }
    out.threads = given.has("--threads") ? number32("--threads", given.raw.threads, 1, 1024)
                                         : default_threads(out, allowed_cpus);
    if (out.broadcast && out.threads > 1)
        refuse("--threads {}: --broadcast has one thread, which knows when all have a message",
               out.threads);
    out.threads = std::min(out.threads, out.ramp ? out.ramp->add : out.connections);
    if (given.has("--engine")) {
        one_of("--engine", given.raw.engine);
        out.engine = given.raw.engine == "epoll"      ? engine_choice::epoll
                     : given.raw.engine == "io_uring" ? engine_choice::io_uring
                                                      : engine_choice::automatic;
    }
    std::istringstream sources(given.raw.source);
    for (std::string one; std::getline(sources, one, ',');)
        out.sources.push_back(one.erase(0, one.find_first_not_of(' ')));
    if (given.has("--source") && out.sources.empty())
        refuse("--source: give addresses of this host, separated by commas");
    if (given.has("--seed")) out.seed = number("--seed", given.raw.seed, 0, UINT64_MAX);
    if (given.has("--watch")) {
        if (given.raw.watch.empty()) refuse("--watch: give a process id or a cgroup v2 folder");
        out.watch = given.raw.watch;
    }
}

void read_output(const given_options& given, options& out) {
    if (given.has("--interval"))
        out.interval = duration("--interval", given.raw.interval, std::chrono::milliseconds(1));
    out.keep_histogram = !given.raw.no_histogram;
    refuse_empty(given, "--json", given.raw.json, "a file, or - for standard output");
    refuse_empty(given, "--csv", given.raw.csv, "a file, or - for standard output");
    refuse_empty(given, "--hdr-log", given.raw.hdr_log, "a file, or - for standard output");
    out.json_path = given.raw.json;
    out.csv_path = given.raw.csv;
    out.hdr_log_path = given.raw.hdr_log;
    out.quiet = given.raw.quiet;
    if (given.has("--print")) {
        one_of("--print", given.raw.print);
        out.print_request = true;
    }
    if (given.has("--live")) {
        one_of("--live", given.raw.live);
        out.live = given.raw.live == "always"  ? live_choice::always
                   : given.raw.live == "never" ? live_choice::never
                                               : live_choice::automatic;
    }
    if (given.has("--color")) {
        one_of("--color", given.raw.color);
        out.color = given.raw.color == "always"  ? color_choice::always
                    : given.raw.color == "never" ? color_choice::never
                                                 : color_choice::automatic;
    }
    if ((out.json_path == "-") + (out.csv_path == "-") + (out.hdr_log_path == "-") > 1) {
        refuse(
            "--json, --csv and --hdr-log: only one of them can go to standard output (-); give the "
            "others a file");
    }
    if (are_one_file(out.json_path, out.csv_path) ||
        are_one_file(out.json_path, out.hdr_log_path) ||
        are_one_file(out.csv_path, out.hdr_log_path)) {
        refuse("--json, --csv and --hdr-log: each needs a file of its own; give other names");
    }
    read_thresholds(given, out);
}

}  // namespace wireload
