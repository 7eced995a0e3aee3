#include "plan/options.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "command_line/completion.hpp"
#include "base/duration.hpp"
#include "command_line/help.hpp"
#include "command_line/open_loop_options.hpp"
#include "command_line/option_table.hpp"
#include "plan/reply_checks.hpp"
#include "plan/request_file.hpp"
#include "command_line/suggest.hpp"
#include "plan/text_template.hpp"
#include "wire/base/limits.hpp"
#include "wire/proto/compression.hpp"
#include "wire/proto/http_types.hpp"

namespace wireload {
namespace {

using std::chrono::nanoseconds;

// Thrown and caught inside this file only: the text after "wireload: ".
struct usage_error {
    std::string text;
};

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
    throw usage_error{fmt::format(format, std::forward<Args>(args)...)};
}

std::uint64_t number(std::string_view flag, std::string_view text, std::uint64_t low,
                     std::uint64_t high) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value < low || value > high) {
        refuse("{} {}: give a whole number from {} to {}", flag, text, low, high);
    }
    return value;
}

nanoseconds duration(std::string_view flag, const std::string& text, nanoseconds low) {
    const auto parsed = parse_duration(text);
    if (!parsed) {
        const bool bare =
            !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
        refuse("{} {}: give a time with its unit, such as {}", flag, text,
               bare ? text + "s or " + text + "ms" : "10s or 500ms");
    }
    if (*parsed < low)
        refuse("{} {}: give at least {}", flag, text,
               format_duration(static_cast<double>(low.count())));
    return *parsed;
}

std::string file_content(std::string_view flag, const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream content;
    if (!in || !(content << in.rdbuf()).good()) {
        // An empty file makes operator<< fail as well; that one is fine.
        if (in.is_open() && content.str().empty() && in.peek() == std::ifstream::traits_type::eof())
            return {};
        refuse("{} {}: cannot read this file; check its name and permissions", flag, path);
    }
    return content.str();
}

std::string text_or_file(const CLI::App& app, std::string_view flag, const std::string& text,
                         const std::string& file) {
    const std::string file_flag = fmt::format("{}-file", flag);
    if (app.count(std::string(flag)) != 0 && app.count(file_flag) != 0) {
        refuse("{} and {} say the same thing twice; give one of them", flag, file_flag);
    }
    return app.count(file_flag) != 0 ? file_content(file_flag, file) : text;
}

std::pair<std::string, std::string> header(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) refuse("--header '{}': write it as 'Name: value'", text);
    std::string name = text.substr(0, colon);
    std::string value =
        text.substr(std::min(text.find_first_not_of(" \t", colon + 1), text.size()));
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.pop_back();
    if (const std::string problem = header_problem(name, value); !problem.empty())
        refuse("--header '{}': {}", text, problem);
    return {std::move(name), std::move(value)};
}

// Every option is text, a list of texts or a flag to CLI11; what there is stands in
// option_table.cpp.
void declare(CLI::App& app, raw_options& raw) {
    app.set_help_flag();
    app.allow_extras();
    app.add_option("URL", raw.urls);
    for (const option_section& section : option_sections()) {
        for (const option_row& row : section.rows) {
            const std::string names(row.names);
            if (const auto* text = std::get_if<std::string raw_options::*>(&row.into)) {
                app.add_option(names, raw.**text)
                    ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
            } else if (const auto* list =
                           std::get_if<std::vector<std::string> raw_options::*>(&row.into)) {
                app.add_option(names, raw.**list)->allow_extra_args(false);
            } else {
                app.add_flag(names, raw.*std::get<bool raw_options::*>(row.into));
            }
        }
    }
}

// Refuses what is not among the choices of the flag's row.
void one_of(std::string_view flag, const std::string& value) {
    const std::vector<std::string> choices = find_option(flag)->choice_list();
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
    std::string all;
    for (std::size_t i = 0; i < choices.size(); ++i)
        all += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
    const std::string near = nearest(value, choices);
    if (near.empty()) refuse("{} {}: give {}", flag, value, all);
    refuse("{} {}: give {}; did you mean {}?", flag, value, all, near);
}

std::vector<std::string> flag_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    }
    return names;
}

void refuse_extras(const CLI::App& app) {
    const std::vector<std::string> extras = app.remaining();
    if (extras.empty()) return;
    const auto flag = std::find_if(extras.begin(), extras.end(),
                                   [](const auto& e) { return e.size() > 1 && e[0] == '-'; });
    if (flag == extras.end())
        refuse("'{}' is one URL too many; give one (or quote what belongs together)",
               extras.front());
    const std::string name = flag->substr(0, flag->find('='));
    if (const auto advice = advice_for_foreign_flag(name); !advice.empty())
        refuse("there is no {}; {}", name, advice);
    const std::string near =
        name.starts_with("--") ? nearest(name, flag_names(app)) : std::string();
    if (!near.empty()) refuse("there is no {}; did you mean {}?", name, near);
    refuse("there is no {}; see wireload --help", name);
}

void read_load(const CLI::App& app, const raw_options& raw, options& out) {
    const auto given = [&](const char* name) { return app.count(name) != 0; };
    if (given("--connections")) {
        out.connections =
            static_cast<std::uint32_t>(number("--connections", raw.connections, 1, 1'000'000));
    }
    if (given("--requests")) out.requests = number("--requests", raw.requests, 1, UINT64_MAX / 4);
    if (given("--each")) out.each = number("--each", raw.each, 1, UINT64_MAX / 4 / 1'000'000);
    if (given("--duration"))
        out.duration = duration("--duration", raw.duration, std::chrono::milliseconds(1));
    if (given("--warmup")) out.warmup = duration("--warmup", raw.warmup, nanoseconds(0));
    if (given("--timeout"))
        out.timeout = duration("--timeout", raw.timeout, std::chrono::milliseconds(1));
    if (given("--pipeline"))
        out.in_flight = static_cast<std::uint32_t>(number("--pipeline", raw.pipeline, 1, 65'536));
    out.keep_alive = !raw.no_keepalive;
    if (out.requests && out.each)
        refuse("--requests is a total and --each a count for one connection; give one of them");
    if (!out.keep_alive && out.in_flight > 1) {
        refuse(
            "--pipeline needs connections that stay open; leave out --no-keepalive or --pipeline");
    }

    if (const std::string wrong = read_open_loop(raw, given, out); !wrong.empty())
        refuse("{}", wrong);
    for (const char* name : {"--ramp-add", "--ramp-messages", "--ramp-pacing"}) {
        if (given(name) && !given("--ramp-rounds"))
            refuse("{} belongs to a ramp; say how many rounds with --ramp-rounds", name);
    }
    if (!given("--ramp-rounds")) {
        const bool ends = out.open_loop && out.open_loop->arrivals.length() != never;
        if (!out.requests && !out.each && !out.duration && !ends)
            out.duration = std::chrono::seconds(10);
        return;
    }
    for (const char* name : {"--connections", "--requests", "--each", "--duration", "--warmup",
                             "--pipeline", "--no-keepalive"}) {
        if (given(name)) {
            refuse(
                "{} has no meaning in a ramp; its load is --ramp-rounds, --ramp-add, "
                "--ramp-messages and --ramp-pacing",
                name);
        }
    }
    ramp_options ramp;
    ramp.rounds = static_cast<std::uint32_t>(number("--ramp-rounds", raw.ramp_rounds, 1, 100'000));
    if (given("--ramp-add"))
        ramp.add = static_cast<std::uint32_t>(number("--ramp-add", raw.ramp_add, 1, 1'000'000));
    if (given("--ramp-messages")) {
        ramp.messages =
            static_cast<std::uint32_t>(number("--ramp-messages", raw.ramp_messages, 1, 65'536));
    }
    if (given("--ramp-pacing")) {
        one_of("--ramp-pacing", raw.ramp_pacing);
        ramp.pacing = raw.ramp_pacing == "burst" ? ramp_pacing::burst : ramp_pacing::serial;
    }
    if (std::uint64_t{ramp.rounds} * ramp.add > 1'000'000) {
        refuse("--ramp-rounds {} with --ramp-add {} ends at {} connections; the most is 1000000",
               ramp.rounds, ramp.add, std::uint64_t{ramp.rounds} * ramp.add);
    }
    out.connections = ramp.rounds * ramp.add;
    out.in_flight = ramp.pacing == ramp_pacing::burst ? ramp.messages : 1;
    if (!given("--timeout")) out.timeout = std::chrono::seconds(30);
    out.ramp = ramp;
}

// After the rest of the load: what does not go together with it.
void read_connection_use(const CLI::App& app, const raw_options& raw, options& out) {
    const auto given = [&](const char* name) { return app.count(name) != 0; };
    if (given("--per-connection")) {
        if (out.keep_alive) refuse("--per-connection belongs to --no-keepalive; give both");
        if (out.open_loop)
            refuse(
                "--per-connection has no meaning in an open loop, where a request without "
                "keep-alive opens its own connection");
        out.per_connection = static_cast<std::uint32_t>(
            number("--per-connection", raw.per_connection, 1, UINT32_MAX));
    }
    out.idle = raw.idle;
    if (!out.idle) return;
    for (const char* name :
         {"--requests", "--each", "--warmup", "--pipeline", "--no-keepalive", "--ramp-rounds",
          "--rate", "--arrivals", "--rate-steps", "--rate-ramp", "--requests-file", "--message",
          "--message-file", "--message-size", "--check"}) {
        if (given(name))
            refuse(
                "{} has no meaning with --idle, which sends nothing; how long is said by "
                "--duration",
                name);
    }
}

void read_exchange(const CLI::App& app, const raw_options& raw, options& out) {
    const auto given = [&](const char* name) { return app.count(name) != 0; };
    for (const std::string& h : raw.headers) out.headers.push_back(header(h));
    if (given("--expect-status")) {
        const auto set = status_set::parse(raw.expect_status);
        if (!set)
            refuse("--expect-status {}: give statuses such as 200 or 200,204 or 2xx",
                   raw.expect_status);
        out.expect.status = *set;
    }
    const char* http_only[] = {"--method",           "--body",          "--body-file",
                               "--requests-file",    "--expect-status", "--expect-body",
                               "--expect-body-file", "--expect-header"};
    const char* ws_only[] = {"--message", "--message-file", "--message-size", "--subprotocol",
                             "--binary",  "--deflate",      "--check"};
    if (out.websocket) {
        for (const char* name : http_only) {
            if (given(name))
                refuse("{} is for http URLs; for ws there are --message and --check", name);
        }
    } else {
        for (const char* name : ws_only) {
            if (given(name))
                refuse("{} is for ws URLs; for http there are --body and --expect-body", name);
        }
    }
    out.body = text_or_file(app, "--body", raw.body, raw.body_file);
    if (given("--body") || given("--body-file")) out.method = "POST";
    if (given("--method")) out.method = raw.method;
    if (const std::string problem = method_problem(out.method); !problem.empty())
        refuse("--method '{}': {}", out.method, problem);
    if (given("--expect-body") || given("--expect-body-file")) {
        out.expect.body = text_or_file(app, "--expect-body", raw.expect_body, raw.expect_body_file);
    }
    if (given("--check")) {
        one_of("--check", raw.check);
        out.check = raw.check == "echo"    ? reply_check::echo
                    : raw.check == "count" ? reply_check::count
                                           : reply_check::none;
    }
    out.binary = raw.binary;
    out.deflate = raw.deflate;
    if (out.deflate && !wire::compression_available())
        refuse(
            "--deflate: this wireload was built without zlib in wire; build it with "
            "WIRE_WITH_ZLIB=ON");
    out.message = out.check == reply_check::count ? "{\"c\":{c}}" : "hello from wireload";
    if (given("--message") || given("--message-file")) {
        out.message = text_or_file(app, "--message", raw.message, raw.message_file);
        const auto parsed = text_template::parse(out.message, true);
        if (const auto* problem = std::get_if<std::string>(&parsed))
            refuse("--message: {}", *problem);
        if (out.check == reply_check::count && !std::get<text_template>(parsed).has_counter()) {
            refuse("--message: --check count needs the counter in it, as in '{{\"c\":{{c}}}}'");
        }
    }
    if (given("--message-size")) {
        if (given("--message") || given("--message-file"))
            refuse("--message and --message-size say the same thing twice; give one of them");
        if (out.check == reply_check::count)
            refuse(
                "--message-size: --check count needs a message with the counter in it; see "
                "--message");
        const std::uint64_t size =
            number("--message-size", raw.message_size, 0, wire::limits().max_message_bytes);
        out.message.resize(size);
        for (std::size_t i = 0; i < size; ++i) out.message[i] = static_cast<char>('a' + i % 26);
    }
    for (const auto& [name, value] : out.headers) {
        if (out.websocket && wire::http::equals_ignoring_case(name, "Sec-WebSocket-Protocol")) {
            refuse(
                "--header '{}': say it with --subprotocol, so that the server's choice is checked",
                name);
        }
        if (out.deflate && wire::http::equals_ignoring_case(name, "Sec-WebSocket-Extensions")) {
            refuse("--header '{}': --deflate sends this field; leave one of them out", name);
        }
    }
    std::istringstream protocols(raw.subprotocol);
    for (std::string one; std::getline(protocols, one, ',');) {
        one.erase(0, one.find_first_not_of(' '));
        if (!wire::http::is_token(one))
            refuse("--subprotocol '{}': give names such as chat or chat,superchat",
                   raw.subprotocol);
        out.subprotocols += (out.subprotocols.empty() ? "" : ", ") + one;
    }
    if (given("--subprotocol") && out.subprotocols.empty())
        refuse("--subprotocol: give names such as chat or chat,superchat");
}

void read_tls(const CLI::App& app, const raw_options& raw, bool wanted, options& out) {
    const auto given = [&](const char* name) { return app.count(name) != 0; };
    if (!wanted) {
        for (const char* name : {"--cacert", "--insecure", "--cert", "--key", "--sni",
                                 "--tls-session", "--tls-max-version", "--alpn"}) {
            if (given(name)) refuse("{} is for TLS; begin the URL with https:// or wss://", name);
        }
        return;
    }
    tls_options tls;
    if (raw.insecure && given("--cacert"))
        refuse(
            "--insecure accepts every certificate, --cacert says whom to trust; give one of them");
    if (given("--cert") != given("--key"))
        refuse("--cert and --key belong together; give the other one too");
    tls.ca_file = raw.cacert;
    tls.insecure = raw.insecure;
    tls.certificate_file = raw.cert;
    tls.key_file = raw.key;
    tls.server_name = raw.sni;
    if (given("--tls-session")) one_of("--tls-session", raw.tls_session);
    tls.reuse_sessions = raw.tls_session == "reuse";
    if (given("--tls-max-version")) one_of("--tls-max-version", raw.tls_max_version);
    tls.only_1_2 = raw.tls_max_version == "1.2";
    if (given("--alpn")) {
        tls.protocols.clear();
        std::istringstream names(raw.alpn);
        for (std::string one; std::getline(names, one, ',');) {
            if (one.empty() || one.size() > 255)
                refuse("--alpn '{}': give names of 1 to 255 bytes, separated by commas", raw.alpn);
            if (one == "h2") refuse("--alpn h2: wireload speaks HTTP/1.1; offer http/1.1");
            tls.protocols.push_back(one);
        }
    }
    out.tls = std::move(tls);
}

void read_place(const CLI::App& app, const raw_options& raw, unsigned allowed_cpus, options& out) {
    const auto given = [&](const char* name) { return app.count(name) != 0; };
    if (given("--cpu")) {
        const auto cpus = parse_cpu_list(raw.cpu);
        if (!cpus) refuse("--cpu {}: give CPU numbers such as 1 or 0-3,6", raw.cpu);
        out.cpus = *cpus;
    }
    const auto usable =
        out.cpus.empty() ? std::max(1U, allowed_cpus) : static_cast<unsigned>(out.cpus.size());
    out.threads = given("--threads")
                      ? static_cast<std::uint32_t>(number("--threads", raw.threads, 1, 1024))
                      : usable;
    out.threads = std::min(out.threads, out.ramp ? out.ramp->add : out.connections);
    if (given("--engine")) {
        one_of("--engine", raw.engine);
        out.engine = raw.engine == "epoll"      ? engine_choice::epoll
                     : raw.engine == "io_uring" ? engine_choice::io_uring
                                                : engine_choice::automatic;
    }
    std::istringstream sources(raw.source);
    for (std::string one; std::getline(sources, one, ',');) out.sources.push_back(one);
    if (given("--source") && out.sources.empty())
        refuse("--source: give addresses of this host, separated by commas");
    if (given("--seed")) out.seed = number("--seed", raw.seed, 0, UINT64_MAX);
    if (given("--watch")) {
        if (raw.watch.empty()) refuse("--watch: give a process id or a cgroup v2 folder");
        out.watch = raw.watch;
    }
    if (given("--interval"))
        out.interval = duration("--interval", raw.interval, std::chrono::milliseconds(1));
    out.keep_histogram = !raw.no_histogram;
    out.json_path = raw.json;
    out.csv_path = raw.csv;
    out.hdr_log_path = raw.hdr_log;
    out.quiet = raw.quiet;
    if (given("--print")) {
        one_of("--print", raw.print);
        out.print_request = true;
    }
    if (given("--live")) {
        one_of("--live", raw.live);
        out.live = raw.live == "always"  ? live_choice::always
                   : raw.live == "never" ? live_choice::never
                                         : live_choice::automatic;
    }
    if (given("--color")) {
        one_of("--color", raw.color);
        out.color = raw.color == "always"  ? color_choice::always
                    : raw.color == "never" ? color_choice::never
                                           : color_choice::automatic;
    }
    if ((out.json_path == "-") + (out.csv_path == "-") + (out.hdr_log_path == "-") > 1) {
        refuse(
            "--json, --csv and --hdr-log: only one of them can go to standard output (-); give the "
            "others a file");
    }
    for (const std::string& text : raw.fail_if) {
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
    }
}

bool is_websocket(const std::string& url) {
    if (url.find("://") == std::string::npos)
        refuse("{}: begin the URL with http:// or ws://, as in http://{}", url, url);
    const std::string scheme = url.substr(0, url.find("://"));
    if (scheme != "http" && scheme != "https" && scheme != "ws" && scheme != "wss")
        refuse("{}: '{}' is not http, https, ws or wss", url, scheme);
    return scheme.starts_with("ws");
}

void read_content_checks(const CLI::App& app, const raw_options& raw, options& out) {
    if (app.count("--expect-length") != 0)
        out.expect.length = number("--expect-length", raw.expect_length, 0, std::uint64_t{1} << 40);
    out.expect.sha256 = raw.expect_sha256;
    out.expect.match = raw.expect_match;
    out.expect.json = raw.expect_json;
    out.expect.headers = raw.expect_header;
    // A message that is described need not be an echo.
    if (out.websocket && out.expect.of_content() && app.count("--check") == 0)
        out.check = reply_check::none;
    if (const auto made = reply_checks::compile(out.expect);
        const auto* problem = std::get_if<std::string>(&made))
        refuse("{}", *problem);
}

void read_rotation(const std::string& file, options& out) {
    if (out.websocket) refuse("--requests-file is for http URLs; for ws there is --message");
    request_options defaults;
    defaults.method = out.method;
    defaults.headers = out.headers;
    defaults.body = out.body;
    defaults.expect = out.expect;
    auto requests = read_request_file(file, defaults);
    if (const auto* problem = std::get_if<std::string>(&requests))
        refuse("--requests-file {}", *problem);
    out.rotation = std::get<std::vector<request_options>>(std::move(requests));
    for (const request_options& r : out.rotation) {
        if (!r.url.empty() && is_websocket(r.url))
            refuse("--requests-file {}.url: {} is not an http URL", r.where, r.url);
        if (r.url.empty() && out.urls.empty()) {
            refuse(
                "--requests-file {}: it has a path and no URL; give the server's URL on the "
                "command line, as in http://127.0.0.1:8080/",
                r.where);
        }
    }
}

options read(const CLI::App& app, const raw_options& raw, unsigned allowed_cpus) {
    refuse_extras(app);
    options out;
    if (raw.urls.empty() && raw.requests_file.empty()) {
        refuse("which server? give a URL such as http://127.0.0.1:8080/ (see wireload --help)");
    }
    out.urls = raw.urls;
    for (const std::string& url : out.urls) {
        const bool websocket = is_websocket(url);
        if (&url != &out.urls.front() && websocket != out.websocket)
            refuse("{}: not of the same kind as {}; give URLs for http or for ws", url,
                   out.urls.front());
        out.websocket = websocket;
    }
    read_load(app, raw, out);
    read_connection_use(app, raw, out);
    read_exchange(app, raw, out);
    read_content_checks(app, raw, out);
    if (app.count("--requests-file") != 0) read_rotation(raw.requests_file, out);
    const auto is_secure = [](const std::string& url) {
        return url.starts_with("https:") || url.starts_with("wss:");
    };
    const bool tls = std::any_of(out.urls.begin(), out.urls.end(), is_secure) ||
                     std::any_of(out.rotation.begin(), out.rotation.end(),
                                 [&](const request_options& r) { return is_secure(r.url); });
    read_tls(app, raw, tls, out);
    out.url = out.urls.empty() ? out.rotation.front().url : out.urls.front();
    read_place(app, raw, allowed_cpus, out);
    complete_open_loop(out);
    return out;
}

}  // namespace

std::optional<status_set> status_set::parse(std::string_view text) {
    status_set out;
    out.text_ = text;
    while (true) {
        const std::string_view item = text.substr(0, text.find(','));
        if (item.size() != 3 || item[0] < '1' || item[0] > '5') return std::nullopt;
        const std::size_t base = static_cast<std::size_t>(item[0] - '1') * 100;
        if (item.substr(1) == "xx") {
            std::fill_n(out.allowed_.begin() + static_cast<std::ptrdiff_t>(base), 100, true);
        } else if (item[1] >= '0' && item[1] <= '9' && item[2] >= '0' && item[2] <= '9') {
            out.allowed_[base + static_cast<std::size_t>((item[1] - '0') * 10 + (item[2] - '0'))] =
                true;
        } else {
            return std::nullopt;
        }
        if (item.size() == text.size()) return out;
        text.remove_prefix(4);
    }
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
    std::vector<int> cpus;
    while (true) {
        const std::string_view item = text.substr(0, text.find(','));
        int first = 0;
        const char* const end = item.data() + item.size();
        auto [next, failure] = std::from_chars(item.data(), end, first);
        if (failure != std::errc() || first < 0 || first > 4095) return std::nullopt;
        int last = first;
        if (next != end) {
            if (*next != '-') return std::nullopt;
            const auto [after, bad] = std::from_chars(next + 1, end, last);
            if (bad != std::errc() || after != end || last < first || last > 4095)
                return std::nullopt;
        }
        for (int cpu = first; cpu <= last; ++cpu) {
            if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) cpus.push_back(cpu);
        }
        if (item.size() == text.size()) return cpus;
        text.remove_prefix(item.size() + 1);
    }
}

std::variant<options, early_exit> parse_command_line(const std::vector<std::string>& argv,
                                                     unsigned allowed_cpus) {
    raw_options raw;
    CLI::App app;
    declare(app, raw);
    try {
        // CLI11 takes them last first.
        std::vector<std::string> arguments(argv.rbegin(), argv.rend() - 1);
        app.parse(arguments);
        if (raw.help) return early_exit{exit_ok, help_text()};
        if (raw.short_help) return early_exit{exit_ok, short_help_text()};
        if (raw.manual) return early_exit{exit_ok, manual_page()};
        if (app.count("--completion") != 0) {
            one_of("--completion", raw.completion);
            return early_exit{exit_ok, completion_script(raw.completion)};
        }
        if (raw.version) return early_exit{exit_ok, fmt::format("wireload {}\n", version_text())};
        options out = read(app, raw, allowed_cpus);
        out.command = argv;
        return out;
    } catch (const usage_error& wrong) {
        return early_exit{exit_usage, fmt::format("wireload: {}\n", wrong.text)};
    } catch (const CLI::ParseError& wrong) {
        return early_exit{exit_usage,
                          fmt::format("wireload: {}; see wireload --help\n", wrong.what())};
    }
}

}  // namespace wireload
