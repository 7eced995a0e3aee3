// The command line before anything in it is understood: what was given, as text.
#pragma once

#include <string>
#include <vector>

namespace wireload {

// Conversion is ours, so that every message names the flag, the value and the remedy.
struct raw_options {
    std::vector<std::string> urls;
    std::string connections, requests, each, duration, warmup, threads, method, body, body_file,
        pipeline, timeout;
    std::string requests_file, expect_status, expect_body, expect_body_file, expect_length,
        expect_sha256;
    std::vector<std::string> expect_header, expect_match, expect_json;
    std::string per_connection, message_size, subprotocol;
    std::string message, message_file, check;
    std::string turns, turn, part, start;
    std::string ramp_rounds, ramp_add, ramp_messages, ramp_pacing;
    std::string interval, json, hdr_log, watch, cpu, source, seed, engine;
    std::string csv, color, live, print, completion;
    std::string cacert, cert, key, sni, tls_session, tls_max_version, alpn;
    std::string rate, arrivals, rate_steps, rate_ramp, max_in_flight, deadline, spin,
        correct_omission;
    std::vector<std::string> headers, fail_if;
    bool idle = false, broadcast = false;
    bool no_keepalive = false, no_histogram = false, quiet = false, binary = false, deflate = false,
         insecure = false;
    bool short_help = false, help = false, version = false, manual = false;
};

}  // namespace wireload
