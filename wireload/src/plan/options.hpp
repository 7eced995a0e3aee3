// The options of a run, checked: plain data that the command line fills and all else reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/expectations.hpp"
#include "plan/open_loop.hpp"
#include "plan/part.hpp"
#include "plan/request_options.hpp"
#include "plan/start.hpp"
#include "plan/threshold.hpp"
#include "plan/turns.hpp"

namespace wireload {

enum class reply_check : std::uint8_t { none, echo, count };
enum class engine_choice : std::uint8_t { automatic, epoll, io_uring };
enum class ramp_pacing : std::uint8_t { serial, burst };
enum class color_choice : std::uint8_t { automatic, always, never };
enum class live_choice : std::uint8_t { automatic, always, never };

// The largest message that is sent, and received where nothing is known of it.
inline constexpr std::uint64_t max_message_bytes = 16 * 1024 * 1024;

struct ramp_options {
    std::uint32_t rounds = 0;
    std::uint32_t add = 100;       // further connections in each round
    std::uint32_t messages = 100;  // on each connection in each round
    ramp_pacing pacing = ramp_pacing::serial;
};

struct tls_options {
    std::string ca_file, certificate_file, key_file, server_name;  // empty: none
    bool insecure = false;
    bool reuse_sessions = false;
    bool only_1_2 = false;
    std::vector<std::string> protocols = {"http/1.1"};
};

struct options {
    std::vector<std::string> urls;  // at least one, or all in `rotation`
    std::string url;                // the first
    bool websocket = false;
    std::optional<tls_options> tls;  // https and wss

    // Load. A run ends at the first of `duration` and the counts; an unset one does not end it.
    std::uint32_t connections = 10;
    std::optional<std::uint64_t> requests;  // in all, shared by the connections of all parts
    std::optional<std::uint64_t> each;      // by each connection
    std::optional<std::chrono::nanoseconds> duration;
    std::chrono::nanoseconds warmup{0};
    std::optional<ramp_options> ramp;
    std::optional<turn_options> turns;
    part_options part;                   // of the load: `requests` and the rate are the whole's
    std::optional<start_options> start;  // else at once
    std::optional<open_loop_options> open_loop;
    // Closed loop: estimate for requests due this often.
    std::optional<std::chrono::nanoseconds> correct_omission;
    std::uint32_t in_flight = 1;  // on one connection
    bool keep_alive = true;
    std::uint32_t per_connection = 1;  // requests, without keep-alive
    bool idle = false;                 // nothing is sent
    bool broadcast = false;            // what one connection sends, all are to get
    std::chrono::nanoseconds timeout = std::chrono::seconds(5);

    // Request and reply (HTTP).
    std::string method = "GET";
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::vector<request_options> rotation;  // of a file; empty: the one request above, at each URL

    expectations expect;  // of WebSocket messages those that look at content

    // Message and reply (WebSocket).
    std::string message;  // "{c}" stands for the connection's counter
    bool binary = false;
    std::string subprotocols;  // separated by commas; empty: none is asked for
    bool deflate = false;      // permessage-deflate is offered
    reply_check check = reply_check::echo;

    // Where it runs.
    std::uint32_t threads = 1;
    engine_choice engine = engine_choice::automatic;
    std::vector<int> cpus;             // empty: not pinned
    std::vector<std::string> sources;  // literal addresses to connect from; empty: chosen
    std::uint64_t seed = 1;
    std::string watch;  // a process id or a cgroup v2 folder; empty: none

    // What it writes.
    std::chrono::nanoseconds interval = std::chrono::milliseconds(100);
    bool keep_histogram = true;
    std::string json_path;     // "-": standard output
    std::string hdr_log_path;  // likewise
    std::string csv_path;      // likewise
    bool quiet = false;
    bool print_request = false;  // instead of a run
    color_choice color = color_choice::automatic;
    live_choice live = live_choice::automatic;

    std::vector<threshold> thresholds;  // --fail-if

    std::vector<std::string> command;  // argv, for the document
};

}  // namespace wireload
