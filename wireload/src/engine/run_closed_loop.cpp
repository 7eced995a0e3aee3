// A closed loop: each connection sends its next request when the reply to the one before has come.
//
//   ends by   connect phase   warm-up                          window
//   -------   -------------   ------------------------------   -----------------------------------
//   time      apart           the same order, before the       from one edge to the other; what is
//                             window                           in flight at its end does not count
//   count     apart           an order of its own, so that     until the last reply
//                             nothing is in flight after it
#include <algorithm>
#include <atomic>
#include <optional>

#include "engine/run_kinds.hpp"
#include "measure/generator_meter.hpp"

namespace wireload {
namespace {

// How long before a moment that was asked for (--start) the meters are read: it takes a part of a
// millisecond for each process of the watched server.
constexpr nanos metered_ahead = 10'000'000;

// False when the run is over with it.
bool warm_up_apart(run_steps& steps) {
    load_order warm_up;
    warm_up.window_start = never;
    warm_up.send_until = clock_now() + steps.asked().warmup.count();
    steps.order(warm_up);
    steps.show("warming up", clock_now(), warm_up.send_until);
    steps.wait_for_orders(false);
    if (!steps.cut()) return true;
    steps.out().counts.add(steps.gather());
    steps.out().stopped_by = *steps.cut();
    return false;
}

// Of this part of the load.
std::uint64_t requests_of(const options& o) {
    return o.requests ? o.part.share_of(*o.requests) : o.each.value_or(0) * o.connections;
}

load_order make_order(const options& o, nanos window_start, std::atomic<std::int64_t>& budget) {
    load_order order;
    order.window_start = window_start;
    if (o.duration) order.window_end = order.window_start + o.duration->count();
    order.kind = o.requests ? load_order::quota::shared
                 : o.each   ? load_order::quota::each
                            : load_order::quota::endless;
    order.each = o.each.value_or(0);
    order.shared = &budget;
    order.interval = o.interval.count();
    return order;
}

// Each thread samples at moments of its own; the sum of their means is the mean of the sum. With a
// count a thread may end before the others, and has nothing in flight from then on; or after the
// window, while a connection of it pauses, and has nothing in flight there.
std::optional<double> mean_in_flight(const run_steps& steps, nanos start, nanos elapsed) {
    double mean = 0;
    for (const auto& w : steps.workers()) {
        const tally& counts = w->result();
        if (counts.in_flight_samples == 0 || elapsed <= 0) return std::nullopt;
        const nanos sampled = std::clamp<nanos>(counts.ended - start, 0, elapsed);
        mean += static_cast<double>(counts.in_flight_sum) /
                static_cast<double>(counts.in_flight_samples) * static_cast<double>(sampled) /
                static_cast<double>(elapsed);
    }
    return mean;
}

// Who was lost before the window is an error too: the messages in it went to fewer.
void note_broadcast(run_steps& steps, tally& counts) {
    run_result& out = steps.out();
    broadcast_result& result = out.broadcast.emplace();
    for (const auto& w : steps.workers()) {
        result.subscribers += w->sessions().open;
        result.last.merge(w->broadcasts().last());
    }
    steps.note_lost_before(counts, result.subscribers + counts.broadcast.left);
}

void note_result(run_steps& steps, const load_order& order, nanos end) {
    run_result& out = steps.out();
    tally counts = steps.gather();
    if (steps.asked().broadcast) note_broadcast(steps, counts);
    out.stopped_by = steps.cut()               ? *steps.cut()
                     : order.window_end <= end ? stop_reason::duration
                                               : stop_reason::requests;
    // A count is over with its last reply, not when we hear of it.
    if (out.stopped_by == stop_reason::requests)
        out.elapsed = std::max<nanos>(0, counts.last_done - order.window_start);
    out.interval = order.interval;
    out.counts.add(counts);
    steps.note_opened(counts);
    out.in_flight_mean = mean_in_flight(steps, order.window_start, out.elapsed);
    out.unanswered = counts.at_end;
}

}  // namespace

void run_closed_loop(run_steps& steps) {
    const options& o = steps.asked();
    run_result& out = steps.out();
    if (!steps.open_all() || !steps.learn_start()) return;
    const bool counted = o.requests || o.each;
    const bool warms_up_apart = counted && o.warmup.count() > 0;
    if (warms_up_apart && (!steps.wait_for_start(0) || !warm_up_apart(steps))) return;
    process_watch* const watch = steps.watch();
    std::atomic<std::int64_t> budget{static_cast<std::int64_t>(requests_of(o))};
    generator_meter meter(steps.quota());
    const auto begin_meters = [&] {
        if (watch != nullptr) watch->begin();
        meter.begin();
    };
    const nanos lead = counted ? 0 : o.warmup.count();
    const bool finds_in_warm_up = lead > run_steps::find_ahead;
    const auto wait_for_start = [&](nanos ahead) {
        return warms_up_apart || steps.wait_for_start(ahead);
    };
    if (!wait_for_start(run_steps::find_ahead)) return;
    if (!finds_in_warm_up) steps.find_server();
    if (lead == 0) {
        // The window begins at once: the meters are read before it, so that they miss nothing of
        // it.
        if (!wait_for_start(metered_ahead)) return;
        begin_meters();
    }
    if (!wait_for_start(0)) return;
    const load_order order = make_order(o, clock_now() + lead, budget);
    steps.order(order);
    if (lead != 0) {
        steps.show("warming up", clock_now(), order.window_start);
        if (finds_in_warm_up) steps.find_server_before(order.window_start);
        steps.wait_until(order.window_start);
        begin_meters();
    }
    out.window_start_unix_ns = unix_now() - (clock_now() - order.window_start);
    steps.show("measuring", order.window_start, order.window_end, requests_of(o));
    steps.wait_for_orders(true);
    const nanos end = std::min(clock_now(), order.window_end);
    if (end < order.window_start) out.window_start_unix_ns = 0;  // it ended in the warm-up
    out.elapsed = std::max<nanos>(0, end - order.window_start);
    out.generator = meter.end(out.elapsed, steps.used_cpus());
    if (watch != nullptr) out.server = watch->end();
    note_result(steps, order, end);
}

}  // namespace wireload
