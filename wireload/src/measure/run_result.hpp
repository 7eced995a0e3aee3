// All that a run measured, for the documents and pictures made of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "measure/connect_phases.hpp"
#include "measure/generator_meter.hpp"
#include "measure/histogram.hpp"
#include "measure/open_loop_tally.hpp"
#include "measure/process_watch.hpp"
#include "measure/series.hpp"
#include "measure/tally.hpp"

namespace wireload {

enum class stop_reason : std::uint8_t { duration, requests, signal, error };
std::string_view name_of(stop_reason reason);

struct connect_result {
    std::uint64_t attempted = 0;
    std::uint64_t opened = 0;
    std::uint64_t failed = 0;
    nanos elapsed = 0;  // from the start until the last one was open
    histogram latency;
    connect_phases phases;
    std::optional<server_usage> server;  // what it used until the last one was open
};

struct round_result {
    std::uint32_t clients = 0;
    std::uint64_t opened = 0;
    nanos connect_elapsed = 0;
    tally counts;
    std::uint64_t connect_failures = 0;
    double success_ratio = 0;  // of the replies that the round called for
    nanos elapsed = 0;
    std::optional<server_usage> server;
};

// Connections that were held and not used.
struct idle_result {
    std::uint64_t opened = 0;
    std::uint64_t held = 0;                        // still open at the end
    std::uint64_t pings = 0;                       // answered
    std::uint64_t messages = 0;                    // that came unasked
    std::optional<std::uint64_t> server_wake_ups;  // of the watched server's threads
};

// Messages that went to every connection; their counts are in the tally.
struct broadcast_result {
    std::uint64_t subscribers = 0;  // still open at the end
    histogram last;                 // from sending until the last subscriber had it
};

// A window in turns with other generators.
struct turns_result {
    // Right replies to all that was sent, also before and after the measured part of each turn: the
    // CPU time of server and generator is for these.
    std::uint64_t answered = 0;
    std::uint64_t late = 0;  // turns after which a reply came when it was another's turn
    nanos longest_rest = 0;  // from the last request sent in a turn to the last reply
};

// Of a load that was to begin at a moment of the steady clock, and did.
struct start_result {
    nanos asked = 0;
    nanos begun = 0;  // not before
};

struct run_result {
    connect_result connect;
    std::int64_t window_start_unix_ns = 0;
    nanos elapsed = 0;  // of the window; of a ramp the sum over its rounds, of turns over theirs
    stop_reason stopped_by = stop_reason::duration;
    tally counts;  // errors of the connect phase are among them
    std::uint64_t connections_opened = 0;
    tls_tally tls;
    deflate_tally deflate;
    std::optional<idle_result> idle;
    std::optional<broadcast_result> broadcast;
    std::optional<double> in_flight_mean;
    std::optional<flight> unanswered;  // closed loop: in flight when the window ended
    generator_usage generator;
    std::optional<server_usage> server;
    nanos interval = 0;
    std::unique_ptr<series_collector> series;  // by interval, or by round of a ramp
    std::vector<round_result> rounds;          // of a ramp
    std::optional<open_loop_result> open_loop;
    std::optional<turns_result> turns;
    std::optional<start_result> start;

    // Right replies a second. Of an open loop those that came inside the window.
    double rate_per_s() const;
    // Right replies, counted or not, in the time of which the CPU time of server and generator is.
    std::uint64_t answered_while_metered() const;
    // Little's law: the time that requests spent in flight inside the window / its length / their
    // mean number. Absent where the number was not sampled.
    std::optional<double> little_ratio() const;
    // Whether that ratio is 1 as nearly as the samples can tell; `most`: requests in flight at a
    // time. Precondition: there is a ratio.
    bool little_holds(std::uint64_t most) const;
    // The share of errors in them and the right replies (of idle connections: those held), in %.
    // Absent when there were neither.
    std::optional<double> error_percent() const;
    // Not one complete reply came, right or wrong.
    bool nothing_measured() const;
};

}  // namespace wireload
