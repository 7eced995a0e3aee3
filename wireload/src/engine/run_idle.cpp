// Connections that are held for the duration and not used: what they cost, and how many last.
#include <sys/types.h>

#include <algorithm>
#include <vector>

#include "engine/run_kinds.hpp"
#include "measure/generator_meter.hpp"

namespace wireload {
namespace {

bool has_all(const std::vector<pid_t>& processes, const std::vector<pid_t>& of) {
    return std::all_of(of.begin(), of.end(), [&](pid_t pid) {
        return std::find(processes.begin(), processes.end(), pid) != processes.end();
    });
}

}  // namespace

void run_idle(run_steps& steps) {
    const options& o = steps.asked();
    run_result& out = steps.out();
    if (!steps.open_all()) return;
    process_watch* const watch = steps.watch();
    std::vector<pid_t> found_before;
    std::uint64_t wake_ups_before = 0;
    if (watch != nullptr) {
        watch->find();
        found_before = watch->found();
        wake_ups_before = watch->wake_ups();
        watch->begin();
    }
    generator_meter meter(steps.quota());
    meter.begin();
    load_order order;
    order.idle = true;
    order.window_start = clock_now();
    order.window_end = order.window_start + o.duration->count();
    order.interval = o.interval.count();
    steps.order(order);
    out.window_start_unix_ns = unix_now() - (clock_now() - order.window_start);
    steps.show("holding", order.window_start, order.window_end);
    steps.wait_for_orders(true);
    const nanos end = std::min(clock_now(), order.window_end);
    out.elapsed = std::max<nanos>(0, end - order.window_start);
    out.generator = meter.end(out.elapsed, steps.used_cpus());
    if (watch != nullptr) out.server = watch->end();
    out.stopped_by = steps.cut().value_or(stop_reason::duration);
    out.interval = order.interval;
    tally counts = steps.gather();
    out.connections_opened = out.connect.opened;
    idle_result& idle = out.idle.emplace();
    idle.opened = out.connect.opened;
    if (watch != nullptr) {
        const std::uint64_t now = watch->wake_ups();
        // Processes that ended took theirs with them, and so did threads where they are fewer.
        if (has_all(watch->found(), found_before) && now >= wake_ups_before)
            idle.server_wake_ups = now - wake_ups_before;
    }
    for (const auto& w : steps.workers()) {
        idle.held += w->sessions().open;
        idle.pings += w->sessions().pings;
        idle.messages += w->sessions().unasked;
    }
    // Those that were lost while others were still being opened.
    steps.note_lost_before(counts, idle.held + counts.errors.total());
    out.counts.add(counts);
}

}  // namespace wireload
