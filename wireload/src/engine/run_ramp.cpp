// A ramp: in each round further connections are opened, and then every open one sends its messages.
// It ends early with a round in which nothing was answered rightly.
#include <algorithm>
#include <utility>

#include "engine/run_kinds.hpp"
#include "measure/generator_meter.hpp"

namespace wireload {
namespace {

void add_usage(server_usage& sum, const server_usage& round) {
    sum.cpu_user_ns += round.cpu_user_ns;
    sum.cpu_system_ns += round.cpu_system_ns;
    sum.rss_bytes = round.rss_bytes;
    sum.rss_peak_bytes = std::max(sum.rss_peak_bytes, round.rss_peak_bytes);
    sum.pss_bytes = round.pss_bytes;
    sum.kernel_bytes = round.kernel_bytes;
    sum.host_kernel_growth_bytes = round.host_kernel_growth_bytes;
    sum.processes = round.processes;
    sum.quota.add(round.quota);
}

// The messages of round `number`; its connections are open.
// Returns what the generator used for them.
generator_usage send_round(run_steps& steps, const ramp_options& ramp, std::uint32_t number,
                           round_result& round) {
    process_watch* const watch = steps.watch();
    if (watch != nullptr) {
        watch->find();
        watch->begin();
    }
    generator_meter meter(steps.quota());
    meter.begin();
    load_order order;
    order.window_start = clock_now();
    order.kind = load_order::quota::each;
    order.each = ramp.messages;
    order.reconnect = false;
    order.first_interval = number - 1;
    steps.order(order);
    steps.wait_for_orders(true);
    const generator_usage used = meter.end(0, steps.used_cpus());
    if (watch != nullptr) round.server = watch->end();
    round.counts = steps.gather();
    round.elapsed = std::max<nanos>(
        0, (steps.cut() ? clock_now() : round.counts.last_done) - order.window_start);
    round.success_ratio =
        static_cast<double>(round.counts.ok) / (static_cast<double>(round.clients) * ramp.messages);
    return used;
}

}  // namespace

void run_ramp(run_steps& steps, const ramp_options& ramp) {
    run_result& out = steps.out();
    out.window_start_unix_ns = unix_now();
    out.stopped_by = stop_reason::requests;
    const nanos start = clock_now();
    steps.show("ramp", start);
    for (std::uint32_t number = 1; number <= ramp.rounds && !steps.cut(); ++number) {
        round_result round;
        round.clients = number * ramp.add;
        const run_steps::opening opened = steps.open(round.clients, round.clients);
        round.opened = opened.open_now;
        round.connect_elapsed = opened.elapsed;
        round.connect_failures = opened.failures;
        if (steps.cut()) break;
        const generator_usage used = send_round(steps, ramp, number, round);
        if (round.server) {
            if (!out.server) out.server.emplace();
            add_usage(*out.server, *round.server);
        }
        out.counts.add(round.counts);
        out.elapsed += round.elapsed;
        // Like the server's: of the exchanges, without the time to connect.
        out.generator.add(used, out.elapsed, steps.used_cpus());
        const bool works = round.counts.ok > 0;
        out.rounds.push_back(std::move(round));
        if (!works && !steps.cut()) steps.stop_for(stop_reason::error);
    }
    if (steps.cut()) out.stopped_by = *steps.cut();
    out.connections_opened = out.connect.opened;
}

}  // namespace wireload
