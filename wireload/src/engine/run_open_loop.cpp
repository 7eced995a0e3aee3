// An open loop: requests are due by a schedule, whatever the server does.
//
// The window is a part of the schedule. Whatever was due in it is measured, and waited for after
// its end: a server that stands still then would otherwise hide its worst.
//
//   schedule_start      window_start           schedule_end              window_end
//         |--- warm-up ------|------ the window ------|--- last replies ------|
#include <algorithm>

#include "engine/awake_cores.hpp"
#include "engine/run_kinds.hpp"
#include "measure/generator_meter.hpp"

namespace wireload {
namespace {

// How far ahead the orders are given: all threads are at work when the schedule begins.
nanos ahead_of(const options& o) { return 5'000'000 + o.connections * nanos{200}; }

load_order make_order(const options& o, nanos start) {
    load_order order;
    order.schedule_start = start;
    order.window_start = order.schedule_start + o.warmup.count();
    if (o.duration) {
        order.schedule_end = order.window_start + o.duration->count();
        order.window_end = order.schedule_end +
                           std::max(o.timeout, o.open_loop->deadline.value_or(o.timeout)).count();
    }
    order.most = o.requests.value_or(UINT64_MAX);
    order.interval = o.interval.count();
    return order;
}

void note_result(run_steps& steps, const load_order& order, nanos metered, nanos end) {
    run_result& out = steps.out();
    open_loop_result& open = *out.open_loop;
    const tally counts = steps.gather();
    for (const auto& w : steps.workers()) {
        open.counts.add(w->gate().counts());
        open.lag.merge(w->gate().lag());
        open.service.merge(w->gate().service());
        open.displacement.merge(w->gate().displacement());
        open.undisturbed.merge(w->gate().undisturbed());
    }
    out.generator.take_spinning(static_cast<std::uint64_t>(open.counts.spun), metered,
                                steps.used_cpus());
    out.stopped_by = steps.cut()                                           ? *steps.cut()
                     : steps.asked().duration && end >= order.schedule_end ? stop_reason::duration
                                                                           : stop_reason::requests;
    const nanos last = out.stopped_by == stop_reason::duration ? order.schedule_end
                       : out.stopped_by == stop_reason::requests
                           ? counts.last_done
                           : std::min(end, order.schedule_end);
    out.elapsed = std::max<nanos>(0, last - order.window_start);
    open.drain = std::max<nanos>(0, counts.last_done - last);
    out.interval = order.interval;
    out.counts.add(counts);
    steps.note_opened(counts);
}

}  // namespace

void run_open_loop(run_steps& steps) {
    const options& o = steps.asked();
    run_result& out = steps.out();
    const awake_cores awake;
    if (!steps.open_all() || !steps.learn_start()) return;
    process_watch* const watch = steps.watch();
    const nanos ahead = ahead_of(o);
    const bool finds_in_warm_up = o.warmup.count() > run_steps::find_ahead;
    if (!steps.wait_for_start(ahead + run_steps::find_ahead)) return;
    if (!finds_in_warm_up) steps.find_server();
    if (!steps.wait_for_start(ahead)) return;
    const load_order order = make_order(o, out.start ? out.start->asked : clock_now() + ahead);
    steps.order(order);
    if (o.warmup.count() > 0) steps.show("warming up", order.schedule_start, order.window_start);
    if (finds_in_warm_up) steps.find_server_before(order.window_start);
    steps.wait_for_orders(false, order.window_start);
    if (watch != nullptr) watch->begin();
    generator_meter meter(steps.quota());
    meter.begin();
    const nanos metered_from = clock_now();
    out.window_start_unix_ns = unix_now() - (metered_from - order.window_start);
    steps.show("measuring", order.window_start, order.schedule_end,
               o.requests ? o.part.share_of(*o.requests) : 0);
    steps.wait_for_orders(true, order.schedule_end);
    const nanos end = clock_now();
    const bool opened = end >= order.window_start;  // else it ended in the warm-up
    if (!opened) out.window_start_unix_ns = 0;
    const nanos metered = opened ? end - metered_from : 0;
    out.open_loop.emplace().cores_awake = awake.held();
    out.generator = meter.end(metered, steps.used_cpus());
    if (watch != nullptr) out.server = watch->end();
    if (!steps.cut() && !steps.all_done()) {
        steps.show("waiting for the last", end, order.window_end);
        steps.wait_for_orders(false);
    }
    note_result(steps, order, metered, end);
}

}  // namespace wireload
