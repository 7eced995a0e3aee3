#include "engine/run_steps.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/duration.hpp"

namespace wireload {
namespace {

// Sockets that all threads together have connecting at a time before a load begins: enough to be
// quick, few enough for the listen queues of ordinary servers. A ramp opens all of a round at once,
// as the published one does.
constexpr std::uint32_t opened_at_once = 64;

// How often the memory of a watched server is looked at.
constexpr nanos watch_every = 100'000'000;

std::uint32_t share_of(std::uint32_t total, std::uint32_t parts, std::uint32_t index) {
    return total / parts + (index < total % parts ? 1 : 0);
}

// A reading of the clock, in nanoseconds and nothing else.
std::optional<nanos> read_moment(std::string_view text) {
    nanos value = 0;
    const char* const end = text.data() + text.size();
    const auto [next, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc() || next != end || value <= 0) return std::nullopt;
    return value;
}

// The main thread keeps off the CPUs of the server as well, and off those of the generator's
// threads if it can.
void pin_main_thread(const options& asked) {
    if (asked.cpus.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (std::size_t i = asked.cpus.size() > asked.threads ? asked.threads : 0;
         i < asked.cpus.size(); ++i) {
        CPU_SET(static_cast<std::size_t>(asked.cpus[i]), &set);
    }
    // That these CPUs may be used was checked with the plan.
    sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::int64_t unix_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

run_steps::run_steps(const plan& p, process_watch* watch, const view_maker& make_view)
    : plan_(p),
      watch_(watch),
      sources_(p.sources, p.choose_ports, p.ports, static_cast<std::uint64_t>(unix_now())),
      series_(std::make_unique<series_collector>(p.asked.threads,
                                                 p.asked.ramp || !p.asked.hdr_log_path.empty())) {
    if (make_view) view_ = make_view(*series_);
}

run_steps::~run_steps() { end_threads(); }

std::string run_steps::start() {
    pin_main_thread(plan_.asked);
    for (std::uint32_t i = 0; i < plan_.asked.threads; ++i) {
        auto next =
            std::make_unique<worker>(plan_, sources_, *series_, control_, i,
                                     share_of(plan_.asked.connections, plan_.asked.threads, i));
        if (auto started = next->start(); !started) return started.error().message;
        workers_.push_back(std::move(next));
    }
    return {};
}

void run_steps::end_threads() {
    for (auto& w : workers_) w->order_end();
    for (auto& w : workers_) w->join();
}

run_result run_steps::finish() {
    end_threads();
    view_.reset();
    for (const auto& w : workers_) {
        out_.tls.add(w->opened().tls());
        out_.deflate.add(w->opened().deflated());
    }
    workers_.clear();
    series_->finish();
    out_.series = std::move(series_);
    return std::move(out_);
}

// ---- waiting ----

bool run_steps::all_done() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto& w) { return w->done(); });
}

bool run_steps::over() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& w) { return w->done() || w->dead(); });
}

void run_steps::wait_until(nanos until) {
    wait(until, [this] { return over(); });
}

void run_steps::pause_until(nanos until) {
    wait(until, [] { return false; });
}

void run_steps::wait(nanos until, const std::function<bool()>& is_over) {
    while (view_ != nullptr && !is_over() && !control_.interrupted() && clock_now() < until) {
        view_->tick(clock_now());
        control_.wait(std::min(until, view_->next_draw()), is_over);
    }
    if (view_ == nullptr) control_.wait(until, is_over);
}

void run_steps::wait_for_orders(bool watching, nanos until) {
    const bool samples = watching && watch_ != nullptr;
    while (!over() && !control_.interrupted()) {
        wait_until(std::min(until, samples ? clock_now() + watch_every : never));
        if (clock_now() >= until) return;
        if (samples && !over()) watch_->sample();
    }
    if (all_done()) return;
    cut_ = control_.interrupted() ? stop_reason::signal : stop_reason::error;
    for (auto& w : workers_) w->order_cut();
    // One iteration of each loop.
    while (!all_done()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

void run_steps::show(std::string_view phase, nanos start, nanos end, std::uint64_t count) {
    if (view_ != nullptr) view_->begin(phase, start, end, count);
}

// ---- orders ----

run_steps::opening run_steps::open(std::uint32_t total, std::uint32_t at_once) {
    const nanos start = clock_now();
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        workers_[i]->order_open(share_of(total, plan_.asked.threads, i), at_once);
    wait_for_orders(false);
    opening result;
    nanos last = start;
    for (const auto& w : workers_) {
        const connect_tally& c = w->opened().counts();
        result.open_now += c.open_now;
        last = std::max(last, c.last_opened);
        result.failures += c.errors.total();
        out_.connect.attempted += c.attempted;
        out_.connect.opened += c.opened;
        out_.connect.failed += c.errors.total();
        out_.connect.latency.merge(w->opened().latencies());
        out_.connect.phases.merge(w->opened().phases());
        tally failed;
        failed.errors = c.errors;
        failed.first_error = c.first_error;
        failed.first_error_at = start;
        out_.counts.add(failed);
    }
    result.elapsed = last - start;
    out_.connect.elapsed += result.elapsed;
    return result;
}

bool run_steps::open_all() {
    const options& o = plan_.asked;
    show("connecting", clock_now());
    process_watch* const watch = o.keep_alive ? watch_ : nullptr;
    if (watch != nullptr) {
        watch->find();
        watch->begin();
    }
    const opening opened =
        open(o.connections, o.keep_alive ? std::max(1U, opened_at_once / o.threads) : 0);
    if (watch != nullptr) out_.connect.server = watch->end();
    // Those that opened and were lost at once are opened again for their requests, which then say
    // why.
    const bool lost = opened.open_now == 0 && out_.connect.opened != 0 && !o.idle;
    if (!cut_ && (!o.keep_alive || opened.open_now != 0 || lost)) return true;
    out_.stopped_by = cut_.value_or(stop_reason::error);
    return false;
}

bool run_steps::learn_start() {
    if (!plan_.asked.start) return true;
    std::optional<nanos> at = plan_.asked.start->at;
    if (!at) {
        fmt::print("{{\"ready\":true,\"opened\":{},\"steady_ns\":{}}}\n", out_.connect.opened,
                   clock_now());
        std::fflush(stdout);
        const std::optional<std::string> line = control_.read_line(STDIN_FILENO, 64);
        if (interrupted()) {
            out_.stopped_by = stop_reason::signal;
            return false;
        }
        at = line ? read_moment(*line) : std::nullopt;
        if (!at) {
            problem_ =
                "--start -: standard input gave no moment; expected a line with a reading of the "
                "steady clock in nanoseconds";
            return false;
        }
    }
    if (const nanos now = clock_now(); *at <= now) {
        problem_ = fmt::format("--start: the moment is {} past; give a later one",
                               format_duration(static_cast<double>(now - *at)));
        return false;
    }
    out_.start.emplace().asked = *at;
    return true;
}

bool run_steps::wait_for_start(nanos ahead) {
    if (!out_.start) return true;
    pause_until(out_.start->asked - ahead);
    if (interrupted()) {
        out_.stopped_by = stop_reason::signal;
        out_.start.reset();  // the load never began
        return false;
    }
    out_.start->begun = std::max(out_.start->asked, clock_now());
    return true;
}

void run_steps::order(const load_order& order) {
    for (auto& w : workers_) w->order_load(order);
}

// ---- results ----

tally run_steps::gather() const {
    tally sum;
    for (const auto& w : workers_) sum.add(w->result());
    return sum;
}

void run_steps::note_lost_before(tally& counts, std::uint64_t known) const {
    const std::uint64_t opened = out_.connect.opened;
    if (known >= opened) return;
    counts.errors[error_kind::closed_early] += opened - known;
    if (out_.counts.first_error) return;  // of opening them
    counts.first_error =
        error_report{error_kind::closed_early, "nothing yet", "a connection that stays open",
                     "the connection's end before the window"};
    counts.first_error_at = 0;
}

void run_steps::note_opened(const tally& counts) {
    const bool keep_alive = plan_.asked.keep_alive;
    out_.connections_opened = counts.connections_opened + (keep_alive ? out_.connect.opened : 0);
    if (!keep_alive) note_connects_of_window();
}

void run_steps::note_connects_of_window() {
    for (const auto& w : workers_) {
        const connect_tally& c = w->opened().counts();
        out_.connect.attempted += c.attempted;
        out_.connect.opened += c.opened;
        out_.connect.latency.merge(w->opened().latencies());
        out_.connect.phases.merge(w->opened().phases());
    }
    const error_counts& errors = out_.counts.errors;
    out_.connect.failed = errors[error_kind::connect_refused] +
                          errors[error_kind::connect_timeout] + errors[error_kind::connect_failed] +
                          errors[error_kind::tls];
    out_.connect.elapsed = out_.elapsed;
}

}  // namespace wireload
