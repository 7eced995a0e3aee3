#include "command_line/option_table.hpp"

#include <algorithm>

namespace wireload {
namespace {

using raw = raw_options;

// Add a row here and a member in raw_options.hpp; then read it in one of read_*.cpp. {c}, quotes
// and % need no escaping.

constexpr option_row load_rows[] = {
    {"-c,--connections",
     "N",
     "connections kept open (default 10)",
     &raw::connections,
     {},
     completes::nothing,
     true},
    {"-d,--duration",
     "TIME",
     "length of the window: 10s, 500ms, 1m30s (default 10s, when no count is given)",
     &raw::duration,
     {},
     completes::nothing,
     true},
    {"-n,--requests",
     "N",
     "end after N requests in all, shared by the connections",
     &raw::requests,
     {},
     completes::nothing,
     true},
    {"--each", "N",
     "end after N requests on each connection, which is closed when it has its last reply",
     &raw::each},
    {"--warmup",
     "TIME",
     "send load for this long before the window, without counting it (default 0s)",
     &raw::warmup,
     {},
     completes::nothing,
     true},
    {"--pipeline", "K", "requests in flight on each connection (default 1)", &raw::pipeline},
    {"--no-keepalive", "", "a new connection for each request; its latency includes connecting",
     &raw::no_keepalive},
    {"--per-connection", "K",
     "with --no-keepalive: requests on each connection before it is closed and the next one opened "
     "(default 1)",
     &raw::per_connection},
    {"--idle", "",
     "open the connections and hold them for the duration; nothing is sent, pings are answered",
     &raw::idle},
    {"--broadcast", "",
     "ws: one connection sends a message, every connection is to get it once and in order, and the "
     "next is sent when all have it. --requests and --pipeline count messages; a delivery counts "
     "as a request, and its latency is the time from the sending",
     &raw::broadcast},
    {"--timeout", "TIME",
     "count a request without a reply after this time as an error (default 5s; 30s in a ramp)",
     &raw::timeout},
    {"--correct-omission", "TIME",
     "closed loop: also estimate the latencies for a request due this often on each connection "
     "(HdrHistogram's correction for coordinated omission). The estimate is shown apart; --rate "
     "measures instead",
     &raw::correct_omission},
};

constexpr option_row open_rows[] = {
    {"--rate",
     "R",
     "requests a second over all connections, such as 2500 or 0.5",
     &raw::rate,
     {},
     completes::nothing,
     true},
    {"--arrivals", "KIND",
     "constant: evenly spaced (default); poisson: at random, as from many independent users; or a "
     "FILE with one offset in seconds a line, which is replayed",
     &raw::arrivals, "constant,poisson", completes::files},
    {"--rate-steps", "LIST", "rates one after another, such as 1000:5s,2000:5s", &raw::rate_steps},
    {"--rate-ramp", "F:T:TIME", "a rate that goes evenly from F to T, such as 100:5000:30s",
     &raw::rate_ramp},
    {"--max-in-flight", "N",
     "requests in flight in all, at most (default: as many as the connections take)",
     &raw::max_in_flight},
    {"--deadline", "TIME",
     "count a request as an error when it is not answered this long after it was due, and do not "
     "send it any more. The latency of a later answer is still recorded",
     &raw::deadline},
    {"--spin", "WHEN",
     "poll for events without sleeping in the last 60us before a request is due: auto (default: on "
     "CPUs given with --cpu; on others while no other task wants them, if one is left to the "
     "server; not where a CPU quota leaves less than one CPU more than there are threads), always "
     "or "
     "never. At high rates this keeps a CPU busy; the time does not count as "
     "load of the generator",
     &raw::spin, "auto,always,never"},
};

constexpr option_row http_rows[] = {
    {"-m,--method", "M", "method (default GET; POST with a body)", &raw::method,
     "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS", completes::nothing, true},
    {"-H,--header",
     "'K: V'",
     "add a header; may be repeated. Host may be replaced",
     &raw::headers,
     {},
     completes::nothing,
     true},
    {"-b,--body", "TEXT", "request body", &raw::body, {}, completes::nothing, true},
    {"--body-file", "FILE", "request body from a file", &raw::body_file, {}, completes::files},
    {"--requests-file",
     "FILE",
     "send the requests of this JSON list in rotation: url or path, method, headers, body or "
     "body_file, weight, expect; what one does not say comes from here",
     &raw::requests_file,
     {},
     completes::files},
    {"--expect-status", "S",
     "statuses that count as right, such as 200 or 200,204 or 2xx (default 2xx)",
     &raw::expect_status},
    {"--expect-body", "TEXT",
     "the exact body to expect (default: any); {counter}, {random} and {uuid} in it have the "
     "values of the request",
     &raw::expect_body},
    {"--expect-body-file",
     "FILE",
     "the same, from a file",
     &raw::expect_body_file,
     {},
     completes::files},
    {"--expect-header", "'K: V'",
     "expect this field; 'K' alone: with any value; 'K: V*': with a value that begins with V. May "
     "be repeated",
     &raw::expect_header},
};

constexpr option_row content_rows[] = {
    {"--expect-length", "N", "bytes of the body or message", &raw::expect_length},
    {"--expect-sha256", "HEX", "its SHA-256", &raw::expect_sha256},
    {"--expect-match", "REGEX",
     "a regular expression (RE2) that matches somewhere in it, in the first MiB of a body; may be "
     "repeated",
     &raw::expect_match},
    {"--expect-json", "PATH=VALUE",
     "it is JSON, of a MiB at most, with this value there, as in 'items[0].name=bob' or "
     "'/items/0/name=bob'; without =VALUE: with any. May be repeated",
     &raw::expect_json},
};

constexpr option_row ws_rows[] = {
    {"--message", "TEXT",
     "text message to send; {c} stands for a counter of the connection (default: a short text; "
     "{\"c\":{c}} with --check count, {\"b\":{c}} with --broadcast)",
     &raw::message},
    {"--message-file", "FILE", "the same, from a file", &raw::message_file, {}, completes::files},
    {"--message-size", "N", "send N bytes of letters instead", &raw::message_size},
    {"--subprotocol", "LIST",
     "subprotocols to request, separated by commas; the server must choose one", &raw::subprotocol},
    {"--binary", "", "send binary messages instead of text", &raw::binary},
    {"--deflate", "",
     "offer permessage-deflate (RFC 7692), and compress messages that become shorter. A server may "
     "decline; this is counted. There is no context takeover in either direction: each thread has "
     "one compressor and one decompressor for all its connections, and a connection needs memory "
     "for it only while a reply is incomplete",
     &raw::deflate},
    {"--check", "KIND",
     "echo: the reply equals the message (default); count: the reply is JSON with the same number "
     "\"c\" and a number \"ts\"; none: any message is right",
     &raw::check, "echo,count,none"},
};

constexpr option_row tls_rows[] = {
    {"--cacert",
     "FILE",
     "trust the certificate authorities in this PEM file instead of the system's",
     &raw::cacert,
     {},
     completes::files},
    {"--insecure", "", "accept every certificate, even a forged one", &raw::insecure},
    {"--cert",
     "FILE",
     "certificate to show to a server that asks for one (PEM, with the chain); needs --key",
     &raw::cert,
     {},
     completes::files},
    {"--key", "FILE", "its key (PEM, without a password)", &raw::key, {}, completes::files},
    {"--sni", "NAME",
     "the server name to send, and to expect in the certificate (default: the URL's host)",
     &raw::sni},
    {"--tls-session", "HOW",
     "new: a full handshake for every connection (default); reuse: resume earlier sessions, as "
     "browsers do",
     &raw::tls_session, "new,reuse"},
    {"--tls-max-version", "V", "offer no newer version of TLS: 1.2 or 1.3 (default 1.3)",
     &raw::tls_max_version, "1.2,1.3"},
    {"--alpn", "LIST", "protocols to offer, separated by commas (default http/1.1)", &raw::alpn},
};

constexpr option_row ramp_rows[] = {
    {"--ramp-rounds", "R", "run R rounds", &raw::ramp_rounds},
    {"--ramp-add", "A", "connections added in each round (default 100)", &raw::ramp_add},
    {"--ramp-messages", "Q", "messages by each connection in each round (default 100)",
     &raw::ramp_messages},
    {"--ramp-pacing", "P",
     "serial: the next message after the reply (default); burst: all Q at once", &raw::ramp_pacing,
     "serial,burst"},
};

constexpr option_row turn_rows[] = {
    {"--turns", "K/N", "this is number K of N", &raw::turns},
    {"--turn", "TIME",
     "length of a turn, the same for all (default 25ms). It begins with a tenth that is not "
     "measured; in its last fifth nothing is sent, and the last replies come",
     &raw::turn},
};

constexpr option_row part_rows[] = {
    {"--part", "K/N",
     "this is number K of N: it sends each Nth of the requests that are due, or an Nth of "
     "--requests. --connections and --max-in-flight are its own",
     &raw::part},
    {"--start", "WHEN",
     "begin, with the warm-up, at this reading of the steady clock in nanoseconds; -: when the "
     "connections are open, say so on standard output in a line of JSON, and read the moment from "
     "a line of standard input",
     &raw::start},
};

constexpr option_row place_rows[] = {
    {"-t,--threads",
     "N",
     "threads (default: one for each usable CPU, in an open loop without --cpu one fewer; never "
     "more than connections)",
     &raw::threads,
     {},
     completes::nothing,
     true},
    {"--cpu", "LIST", "pin to these CPUs, such as 1 or 0-3,6; one thread for each", &raw::cpu},
    {"--engine", "NAME",
     "auto: io_uring for a closed loop with 32 connections a thread or more, where it costs less, "
     "and, with as many threads as it needs, where connections exceed the limit of open files; "
     "else epoll (default); epoll; io_uring",
     &raw::engine, "auto,epoll,io_uring"},
    {"--source", "LIST", "connect from these local addresses, separated by commas", &raw::source},
    {"--seed", "N", "seed of all random choices (default 1)", &raw::seed},
    {"--watch",
     "WHAT",
     "also report the CPU and memory of a server: its process id (with all its descendants, also "
     "those that end meanwhile) or its cgroup v2 folder",
     &raw::watch,
     {},
     completes::files},
};

constexpr option_row gate_rows[] = {
    {"--fail-if",
     "'p99>20ms'",
     "exit with 3 when the condition holds, or cannot be decided; may be repeated. The metric is "
     "pN (such as p50 or p99.9), min, mean or max with a time (in an open loop also lag_p99, "
     "service_p99 and so on), errors with a count or a share (errors>0.1%), ok, rate (right "
     "replies a second), or generator (its share of its CPUs, in %; 100 where a CPU quota stopped "
     "it); the operator > >= < or <=. A percentile needs 10 samples beyond it",
     &raw::fail_if,
     {},
     completes::nothing,
     true},
};

constexpr option_row output_rows[] = {
    {"--json",
     "FILE",
     "write the result as JSON; - for standard output",
     &raw::json,
     {},
     completes::files,
     true},
    {"--csv",
     "FILE",
     "write the series as CSV, one line for each interval (or round of a ramp)",
     &raw::csv,
     {},
     completes::files},
    {"--hdr-log",
     "FILE",
     "write an HdrHistogram log, one line for each interval",
     &raw::hdr_log,
     {},
     completes::files},
    {"--interval", "TIME", "length of an interval of the series (default 100ms)", &raw::interval},
    {"--no-histogram", "", "leave the encoded histogram out of the JSON", &raw::no_histogram},
    {"--color", "WHEN", "auto: colours on a terminal (default); always; never", &raw::color,
     "auto,always,never"},
    {"--live", "WHEN",
     "show progress on a terminal's standard error. auto (default): when a CPU is free that "
     "nothing "
     "measured uses; always: even on shared CPUs; never",
     &raw::live, "auto,always,never"},
    {"-q,--quiet", "", "print no summary, only which --fail-if is not decided, on standard error",
     &raw::quiet},
};

constexpr option_row help_rows[] = {
    {"-h", "", "show the most used options on one screen", &raw::short_help},
    {"--help", "", "show all options", &raw::help},
    {"--print", "WHAT",
     "request: print the request instead of sending it; for a WebSocket, the handshake and the "
     "frame of the first message",
     &raw::print, "request"},
    {"--manual", "", "print the manual page, for man -l -", &raw::manual},
    {"--completion", "SHELL", "print a completion script: bash, zsh or fish", &raw::completion,
     "bash,zsh,fish"},
    {"--version", "", "print the version", &raw::version},
};

constexpr option_section sections[] = {
    {"LOAD", "", load_rows},
    {"OPEN LOOP",
     "With one of the first four options, requests are due by a schedule, whatever the server "
     "does. "
     "A request that is due goes out on a free connection, or waits for one. Its latency runs from "
     "the time at which it was due, less the time by which the generator itself was late. All "
     "requests that were due in the window are measured; wireload waits for them after its end for "
     "the time of --timeout (or --deadline, if longer).",
     open_rows},
    {"REQUEST AND REPLY, http", "", http_rows},
    {"MESSAGE AND REPLY, ws", "", ws_rows},
    {"CONTENT OF REPLIES, both", "", content_rows},
    {"VALUES",
     "In path, headers and body of http requests, and in messages: {counter} counts on each "
     "connection; {random} is a number up to 2147483647, {random:1-6} one from 1 to 6; {uuid} a "
     "random UUID. All other braces stand for themselves; {{counter} is the text {counter}.",
     {}},
    {"TLS, https and wss", "", tls_rows},
    {"RAMP",
     "In round r, A further connections are opened and then every open one sends Q messages.",
     ramp_rows},
    {"TURNS",
     "Several wireloads on one host, each with a server of its own, send one after another in "
     "short "
     "turns, so that what disturbs the host disturbs all alike. They need no connection to each "
     "other: the turns follow from the steady clock. --duration and --warmup are the sums of the "
     "measured parts.",
     turn_rows},
    {"PARTS",
     "Several wireloads, on one host or on many, load one server together. Each is given the same "
     "options, but for the part that it is.",
     part_rows},
    {"WHERE IT RUNS", "", place_rows},
    {"PASS OR FAIL", "", gate_rows},
    {"OUTPUT", "", output_rows},
    {"HELP", "", help_rows},
};

}  // namespace

std::string_view option_row::long_name() const {
    const std::size_t at = names.find("--");
    return at == std::string_view::npos ? std::string_view() : names.substr(at);
}

std::string_view option_row::short_name() const {
    return names.starts_with("--") ? std::string_view() : names.substr(0, names.find(','));
}

std::vector<std::string> option_row::choice_list() const {
    std::vector<std::string> out;
    for (std::string_view rest = choices; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        out.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
}

std::span<const option_section> option_sections() { return sections; }

const option_row* find_option(std::string_view long_name) {
    for (const option_section& section : sections) {
        for (const option_row& row : section.rows) {
            if (row.long_name() == long_name) return &row;
        }
    }
    return nullptr;
}

}  // namespace wireload
