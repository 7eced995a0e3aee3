// A closed loop in turns with other wireloads on this host: see plan/turns.hpp.
//
//   order      from                      until                     counts
//   --------   -----------------------   ----------------------- ---------------------------------
//   the turn   its start                 its measured part's end   what comes in that part
//   the rest   there                     the last reply            nothing, but errors
//
// Between turns nothing is in flight. Turns before the window, for the warm-up, are of the same
// kind and count nothing.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/run_kinds.hpp"
#include "measure/generator_meter.hpp"

namespace wireload {
namespace {

class turn_taker {
public:
    turn_taker(run_steps& steps, const turn_options& turns) : steps_(steps), turns_(turns) {}

    // One turn, the `interval`th of the series. Returns what was measured in it.
    void measure(std::size_t interval);
    // Sends in one turn, and counts nothing.
    void warm_up();
    // Of all threads, since they were started.
    std::uint64_t answered() const;

    // What was measured.
    nanos elapsed() const { return elapsed_; }
    std::uint64_t late() const { return late_; }
    nanos longest_rest() const { return longest_rest_; }
    // Each thread samples at moments of its own; the sum of their means is the mean of the sum.
    std::optional<double> mean_in_flight() const;

private:
    struct samples {
        std::uint64_t count = 0;
        std::uint64_t sum = 0;
    };

    // Waits for the next turn. False when the run is over with that.
    bool begin();
    // Waits for the last reply.
    void rest(nanos sent_until);
    void order(const load_order& order);
    // Adds what the last order counted to the result.
    void note() { steps_.out().counts.add(steps_.gather()); }

    run_steps& steps_;
    const turn_options turns_;
    nanos start_ = 0;  // of the present turn
    nanos elapsed_ = 0;
    std::uint64_t late_ = 0;
    nanos longest_rest_ = 0;
    std::vector<samples> in_flight_;
};

bool turn_taker::begin() {
    start_ = next_turn(turns_, std::max(clock_now(), start_ + turns_.length.count()));
    steps_.pause_until(start_);
    // Everything that ends a run is noticed by the next order, but for the user's signal.
    return !steps_.interrupted();
}

void turn_taker::order(const load_order& order) {
    steps_.order(order);
    steps_.wait_for_orders(true);
}

void turn_taker::rest(nanos sent_until) {
    load_order rest;
    rest.window_start = never;
    rest.send_until = sent_until;
    order(rest);
}

void turn_taker::measure(std::size_t interval) {
    if (!begin()) return steps_.stop_for(stop_reason::signal);
    load_order turn;
    turn.window_start = start_ + turns_.warm();
    turn.window_end = start_ + turns_.sending();
    turn.first_interval = interval;
    order(turn);
    note();
    elapsed_ += std::clamp<nanos>(clock_now() - turn.window_start, 0, turns_.measured());
    const auto& workers = steps_.workers();
    in_flight_.resize(workers.size());
    for (std::size_t i = 0; i < workers.size(); ++i) {
        in_flight_[i].count += workers[i]->result().in_flight_samples;
        in_flight_[i].sum += workers[i]->result().in_flight_sum;
    }
    if (steps_.cut()) return;
    rest(turn.window_end);
    const nanos end = clock_now();
    note();  // what went wrong there
    longest_rest_ = std::max(longest_rest_, end - turn.window_end);
    if (end > start_ + turns_.length.count()) ++late_;
}

void turn_taker::warm_up() {
    if (!begin()) return steps_.stop_for(stop_reason::signal);
    rest(start_ + turns_.sending());
    if (steps_.cut()) note();  // why the run is over with it
}

std::uint64_t turn_taker::answered() const {
    std::uint64_t sum = 0;
    for (const auto& w : steps_.workers()) sum += w->answered();
    return sum;
}

std::optional<double> turn_taker::mean_in_flight() const {
    double mean = 0;
    for (const samples& s : in_flight_) {
        if (s.count == 0) return std::nullopt;
        mean += static_cast<double>(s.sum) / static_cast<double>(s.count);
    }
    return mean;
}

std::size_t turns_for(nanos time, const turn_options& turns) {
    return static_cast<std::size_t>((time + turns.measured() - 1) / turns.measured());
}

}  // namespace

void run_turns(run_steps& steps, const turn_options& turns) {
    const options& o = steps.asked();
    run_result& out = steps.out();
    if (!steps.open_all()) return;
    turn_taker taker(steps, turns);
    const std::size_t warm = turns_for(o.warmup.count(), turns);
    const std::size_t measured = turns_for(o.duration->count(), turns);
    const nanos cycle = turns.length.count() * turns.of;
    const nanos start = clock_now();
    steps.show("warming up", start, start + static_cast<nanos>(warm) * cycle);
    for (std::size_t i = 0; i < warm && !steps.cut(); ++i) taker.warm_up();
    process_watch* const watch = steps.watch();
    if (watch != nullptr) {
        watch->find();
        watch->begin();
    }
    generator_meter meter(steps.quota());
    meter.begin();
    const std::uint64_t answered_before = taker.answered();
    out.window_start_unix_ns = unix_now();
    steps.show("measuring", clock_now(), clock_now() + static_cast<nanos>(measured) * cycle);
    for (std::size_t i = 0; i < measured && !steps.cut(); ++i) taker.measure(i);
    if (watch != nullptr) out.server = watch->end();
    out.elapsed = taker.elapsed();
    if (out.elapsed == 0) out.window_start_unix_ns = 0;  // it ended before the first
    out.stopped_by = steps.cut().value_or(stop_reason::duration);
    out.interval = turns.measured();
    out.in_flight_mean = taker.mean_in_flight();
    steps.note_opened(out.counts);
    turns_result& result = out.turns.emplace();
    result.answered = taker.answered() - answered_before;
    result.late = taker.late();
    result.longest_rest = taker.longest_rest();
    // The CPU time is of everything that was sent, the window of a part of it.
    const double share = out.counts.ok == 0 ? 1
                                            : static_cast<double>(result.answered) /
                                                  static_cast<double>(out.counts.ok);
    out.generator =
        meter.end(static_cast<nanos>(static_cast<double>(out.elapsed) * share), steps.used_cpus());
}

}  // namespace wireload
