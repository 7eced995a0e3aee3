// A whole run: open, warm up, measure, stop; or a ramp in rounds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "measure/connect_phases.hpp"
#include "measure/histogram.hpp"
#include "plan/open_loop.hpp"
#include "plan/plan.hpp"
#include "measure/process_watch.hpp"
#include "output/screen.hpp"
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
};

struct generator_usage {
    std::uint64_t cpu_user_ns = 0;
    std::uint64_t cpu_system_ns = 0;
    // Of the time of its threads' CPUs, without spinning; 1 means that the generator could do no
    // more.
    double cpu_share = 0;
    // Of the CPU time: looking for events without sleeping, and finding none.
    std::uint64_t spin_ns = 0;
    std::uint64_t rss_peak_bytes = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;

    void take_spinning(std::uint64_t spun_ns, nanos elapsed, unsigned cpus);
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
    std::uint64_t held = 0;      // still open at the end
    std::uint64_t pings = 0;     // answered
    std::uint64_t messages = 0;  // that came unasked
};

struct run_result {
    connect_result connect;
    std::int64_t window_start_unix_ns = 0;
    nanos elapsed = 0;  // of the window; of a ramp the sum over its rounds
    stop_reason stopped_by = stop_reason::duration;
    tally counts;  // errors of the connect phase are among them
    std::uint64_t connections_opened = 0;
    tls_tally tls;
    deflate_tally deflate;
    std::optional<idle_result> idle;
    std::optional<double> in_flight_mean;
    std::optional<flight> unanswered;  // closed loop: in flight when the window ended
    generator_usage generator;
    std::optional<server_usage> server;
    nanos interval = 0;
    std::unique_ptr<series_collector> series;  // by interval, or by round of a ramp
    std::vector<round_result> rounds;          // of a ramp
    std::optional<open_loop_result> open_loop;

    // Right replies a second. Of an open loop those that came inside the window.
    double rate_per_s() const;
    // Little's law: the time that requests spent in flight inside the window / its length / their
    // mean number. Absent where the number was not sampled.
    std::optional<double> little_ratio() const;
    // Not one complete reply came, right or wrong.
    bool nothing_measured() const;
};

// Where to draw a live view.
struct live_screen {
    int fd;
    screen_style style;
};

// `watch` may be null. The string says why the run could not begin.
std::variant<run_result, std::string> run(const plan& p, process_watch* watch,
                                          std::optional<live_screen> live = {});

}  // namespace wireload
