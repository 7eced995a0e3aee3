#include "engine/run.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "engine/control.hpp"
#include "engine/worker.hpp"
#include "measure/generator_meter.hpp"

namespace wireload {
namespace {

// Sockets that one thread has connecting at a time before a closed loop begins: enough to be quick,
// few enough for the listen queues of ordinary servers. A ramp opens all of a round at once, as the
// published one does.
constexpr std::uint32_t opened_at_once = 64;

// How far ahead the schedule of an open loop begins.
constexpr nanos begin_ahead = 5'000'000;

// How often the memory of a watched server is looked at.
constexpr nanos watch_every = 100'000'000;

std::int64_t unix_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

std::uint32_t share_of(std::uint32_t total, std::uint32_t parts, std::uint32_t index) {
    return total / parts + (index < total % parts ? 1 : 0);
}

class runner {
public:
    runner(const plan& p, process_watch* watch, const view_maker& make_view)
        : plan_(p),
          watch_(watch),
          sources_(p.sources, p.choose_ports, p.ports, static_cast<std::uint64_t>(unix_now())),
          series_(std::make_unique<series_collector>(
              p.asked.threads, p.asked.ramp || !p.asked.hdr_log_path.empty())) {
        if (make_view) view_ = make_view(*series_);
    }

    std::variant<run_result, std::string> run() {
        if (std::string problem = start_threads(); !problem.empty()) return problem;
        if (plan_.asked.ramp) {
            ramp(*plan_.asked.ramp);
        } else if (plan_.asked.idle) {
            hold_idle();
        } else if (plan_.asked.open_loop) {
            open_loop();
        } else {
            closed_loop();
        }
        for (auto& w : workers_) w->order_end();
        for (auto& w : workers_) w->join();
        view_.reset();
        for (const auto& w : workers_) {
            out_.tls.add(w->opened().tls());
            out_.deflate.add(w->opened().deflated());
        }
        series_->finish();
        out_.series = std::move(series_);
        return std::move(out_);
    }

private:
    std::string start_threads() {
        // The main thread keeps off the CPUs of the server as well, and off those of the
        // generator's threads if it can.
        if (!plan_.asked.cpus.empty()) {
            cpu_set_t set;
            CPU_ZERO(&set);
            const auto& cpus = plan_.asked.cpus;
            for (std::size_t i = cpus.size() > plan_.asked.threads ? plan_.asked.threads : 0;
                 i < cpus.size(); ++i) {
                CPU_SET(static_cast<std::size_t>(cpus[i]), &set);
            }
            // That these CPUs may be used was checked with the plan.
            sched_setaffinity(0, sizeof set, &set);
        }
        for (std::uint32_t i = 0; i < plan_.asked.threads; ++i) {
            workers_.push_back(std::make_unique<worker>(
                plan_, sources_, *series_, control_, i,
                share_of(plan_.asked.connections, plan_.asked.threads, i)));
            if (auto started = workers_.back()->start(); !started) return started.error().message;
        }
        return {};
    }

    unsigned used_cpus() const { return plan_.cpus; }
    bool all_done() const {
        return std::all_of(workers_.begin(), workers_.end(),
                           [](const auto& w) { return w->done(); });
    }
    bool all_dead() const {
        return std::all_of(workers_.begin(), workers_.end(),
                           [](const auto& w) { return w->dead(); });
    }

    // Waits until `over` says so, for `until`, or for the user; the view is drawn meanwhile.
    void wait(nanos until, const std::function<bool()>& over) {
        while (view_ != nullptr && !over() && !control_.interrupted() && clock_now() < until) {
            view_->tick(clock_now());
            control_.wait(std::min(until, view_->next_draw()), over);
        }
        if (view_ == nullptr) control_.wait(until, over);
    }
    void show(std::string_view phase, nanos start, nanos end = never, std::uint64_t count = 0) {
        if (view_ != nullptr) view_->begin(phase, start, end, count);
    }

    // Waits for the orders to be done; looks at the server's memory meanwhile if `watching`. When
    // the user or the failure of everything ends the run first, the orders are cut short and the
    // reason is noted. Returns early at `until`.
    void wait_for_orders(bool watching, nanos until = never) {
        const auto over = [this] { return all_done() || all_dead(); };
        while (!over() && !control_.interrupted()) {
            wait(std::min(until, watching && watch_ != nullptr ? clock_now() + watch_every : never),
                 over);
            if (clock_now() >= until) return;
            if (watching && watch_ != nullptr && !over()) watch_->sample();
        }
        if (all_done()) return;
        cut_ = control_.interrupted() ? stop_reason::signal : stop_reason::error;
        for (auto& w : workers_) w->order_cut();
        // A turn of each loop.
        while (!all_done()) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }

    // Opens connections up to `total`. Returns how many are open then.
    std::uint64_t open(std::uint32_t total, std::uint32_t at_once, nanos& elapsed,
                       std::uint64_t& failures) {
        const nanos start = clock_now();
        for (std::uint32_t i = 0; i < workers_.size(); ++i) {
            workers_[i]->order_open(share_of(total, plan_.asked.threads, i), at_once);
        }
        wait_for_orders(false);
        std::uint64_t open_now = 0;
        nanos last = start;
        elapsed = 0;
        failures = 0;
        for (const auto& w : workers_) {
            const connect_tally& c = w->opened().counts();
            open_now += c.open_now;
            last = std::max(last, c.last_opened);
            failures += c.errors.total();
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
        elapsed = last - start;
        out_.connect.elapsed += elapsed;
        return open_now;
    }

    void order_load(const load_order& order) {
        for (auto& w : workers_) w->order_load(order);
    }

    tally gather() {
        tally sum;
        for (const auto& w : workers_) sum.add(w->result());
        return sum;
    }

    // The connect phase of both loops. False when there is nothing to go on with.
    bool open_all() {
        const options& o = plan_.asked;
        std::uint64_t failures = 0;
        show("connecting", clock_now());
        const std::uint64_t open_now =
            open(o.connections, o.keep_alive ? std::max(1U, opened_at_once / o.threads) : 0,
                 out_.connect.elapsed, failures);
        // Those that opened and were lost at once are opened again for their requests, which then
        // say why.
        const bool lost = open_now == 0 && out_.connect.opened != 0 && !o.idle;
        if (!cut_ && (!o.keep_alive || open_now != 0 || lost)) return true;
        out_.stopped_by = cut_.value_or(stop_reason::error);
        return false;
    }

    void closed_loop() {
        const options& o = plan_.asked;
        if (!open_all()) return;
        const bool counted = o.requests || o.each;
        if (counted && o.warmup.count() > 0) {
            // A count is exact only when nothing is in flight at its start.
            load_order warm_up;
            warm_up.window_start = never;
            warm_up.send_until = clock_now() + o.warmup.count();
            order_load(warm_up);
            show("warming up", clock_now(), warm_up.send_until);
            wait_for_orders(false);
            if (cut_) {
                out_.counts.add(gather());
                out_.stopped_by = *cut_;
                return;
            }
        }
        if (watch_ != nullptr) watch_->find();
        std::atomic<std::int64_t> budget{static_cast<std::int64_t>(o.requests.value_or(0))};
        generator_meter meter;
        const auto begin_meters = [&] {
            if (watch_ != nullptr) watch_->begin();
            meter.begin();
        };
        // Where the window begins at once its meters are read before, so that nothing of it is
        // missed.
        const nanos lead = counted ? 0 : o.warmup.count();
        if (lead == 0) begin_meters();
        load_order order;
        order.window_start = clock_now() + lead;
        if (o.duration) order.window_end = order.window_start + o.duration->count();
        order.kind = o.requests ? load_order::quota::shared
                     : o.each   ? load_order::quota::each
                                : load_order::quota::endless;
        order.each = o.each.value_or(0);
        order.shared = &budget;
        order.interval = o.interval.count();
        order_load(order);
        if (lead != 0) {
            show("warming up", clock_now(), order.window_start);
            wait(order.window_start, [this] { return all_done() || all_dead(); });
            begin_meters();
        }
        out_.window_start_unix_ns = unix_now() - (clock_now() - order.window_start);
        show("measuring", order.window_start, order.window_end,
             o.requests.value_or(o.each.value_or(0) * o.connections));
        wait_for_orders(true);
        const nanos end = std::min(clock_now(), order.window_end);
        out_.elapsed = std::max<nanos>(0, end - order.window_start);
        out_.generator = meter.end(out_.elapsed, used_cpus());
        if (watch_ != nullptr) out_.server = watch_->end();

        const tally counts = gather();
        out_.stopped_by = cut_                      ? *cut_
                          : order.window_end <= end ? stop_reason::duration
                                                    : stop_reason::requests;
        // A count is over with its last reply, not when we hear of it.
        if (out_.stopped_by == stop_reason::requests)
            out_.elapsed = std::max<nanos>(0, counts.last_done - order.window_start);
        out_.interval = o.interval.count();
        out_.counts.add(counts);
        out_.connections_opened =
            counts.connections_opened + (o.keep_alive ? out_.connect.opened : 0);
        if (!o.keep_alive) note_connects_of_window();
        note_in_flight();
        out_.unanswered = counts.at_end;
    }

    // The window is a part of the schedule. Whatever was due in it is measured, and waited for
    // after its end: a server that stands still then would otherwise hide its worst.
    void open_loop() {
        const options& o = plan_.asked;
        if (!open_all()) return;
        if (watch_ != nullptr) watch_->find();
        generator_meter meter;
        load_order order;
        // Far enough ahead for all threads to be at work by then.
        order.schedule_start = clock_now() + begin_ahead + o.connections * nanos{200};
        order.window_start = order.schedule_start + o.warmup.count();
        if (o.duration) {
            order.schedule_end = order.window_start + o.duration->count();
            order.window_end =
                order.schedule_end +
                std::max(o.timeout, o.open_loop->deadline.value_or(o.timeout)).count();
        }
        order.most = o.requests.value_or(UINT64_MAX);
        order.interval = o.interval.count();
        order_load(order);
        if (o.warmup.count() > 0) show("warming up", order.schedule_start, order.window_start);
        wait_for_orders(false, order.window_start);
        if (watch_ != nullptr) watch_->begin();
        meter.begin();
        const nanos metered_from = clock_now();
        out_.window_start_unix_ns = unix_now() - (metered_from - order.window_start);
        show("measuring", order.window_start, order.schedule_end, o.requests.value_or(0));
        wait_for_orders(true, order.schedule_end);
        const nanos end = clock_now();
        open_loop_result& open = out_.open_loop.emplace();
        out_.generator = meter.end(end - metered_from, used_cpus());
        if (watch_ != nullptr) out_.server = watch_->end();
        if (!cut_ && !all_done()) {
            show("waiting for the last", end, order.window_end);
            wait_for_orders(false);
        }

        const tally counts = gather();
        for (const auto& w : workers_) {
            open.counts.add(w->gate().counts());
            open.lag.merge(w->gate().lag());
            open.service.merge(w->gate().service());
        }
        out_.generator.take_spinning(static_cast<std::uint64_t>(open.counts.spun),
                                     end - metered_from, used_cpus());
        out_.stopped_by = cut_                                      ? *cut_
                          : o.duration && end >= order.schedule_end ? stop_reason::duration
                                                                    : stop_reason::requests;
        const nanos last = out_.stopped_by == stop_reason::duration   ? order.schedule_end
                           : out_.stopped_by == stop_reason::requests ? counts.last_done
                                                                      : end;
        out_.elapsed = std::max<nanos>(0, last - order.window_start);
        open.drain = std::max<nanos>(0, counts.last_done - last);
        out_.interval = o.interval.count();
        out_.counts.add(counts);
        out_.connections_opened =
            counts.connections_opened + (o.keep_alive ? out_.connect.opened : 0);
        if (!o.keep_alive) note_connects_of_window();
    }

    void hold_idle() {
        if (!open_all()) return;
        if (watch_ != nullptr) {
            watch_->find();
            watch_->begin();
        }
        generator_meter meter;
        meter.begin();
        load_order order;
        order.idle = true;
        order.window_start = clock_now();
        order.window_end = order.window_start + plan_.asked.duration->count();
        order.interval = plan_.asked.interval.count();
        order_load(order);
        out_.window_start_unix_ns = unix_now() - (clock_now() - order.window_start);
        show("holding", order.window_start, order.window_end);
        wait_for_orders(true);
        const nanos end = std::min(clock_now(), order.window_end);
        out_.elapsed = std::max<nanos>(0, end - order.window_start);
        out_.generator = meter.end(out_.elapsed, used_cpus());
        if (watch_ != nullptr) out_.server = watch_->end();
        out_.stopped_by = cut_.value_or(stop_reason::duration);
        out_.interval = plan_.asked.interval.count();
        tally counts = gather();
        out_.connections_opened = out_.connect.opened;
        idle_result& idle = out_.idle.emplace();
        idle.opened = out_.connect.opened;
        for (const auto& w : workers_) {
            idle.held += w->sessions().open;
            idle.pings += w->sessions().pings;
            idle.messages += w->sessions().unasked;
        }
        // Those that were lost while others were still being opened.
        const std::uint64_t known = idle.held + counts.errors.total();
        if (known < idle.opened) counts.errors[error_kind::closed_early] += idle.opened - known;
        out_.counts.add(counts);
    }

    // Without keep-alive, connecting is a part of the window.
    void note_connects_of_window() {
        for (const auto& w : workers_) {
            const connect_tally& c = w->opened().counts();
            out_.connect.attempted += c.attempted;
            out_.connect.opened += c.opened;
            out_.connect.latency.merge(w->opened().latencies());
            out_.connect.phases.merge(w->opened().phases());
        }
        out_.connect.failed = out_.counts.errors[error_kind::connect_refused] +
                              out_.counts.errors[error_kind::connect_timeout] +
                              out_.counts.errors[error_kind::connect_failed] +
                              out_.counts.errors[error_kind::tls];
        out_.connect.elapsed = out_.elapsed;
    }

    // Each thread samples at moments of its own; the sum of their means is the mean of the sum.
    void note_in_flight() {
        double mean = 0;
        for (const auto& w : workers_) {
            if (w->result().in_flight_samples == 0) return;
            mean += static_cast<double>(w->result().in_flight_sum) /
                    static_cast<double>(w->result().in_flight_samples);
        }
        out_.in_flight_mean = mean;
    }

    void ramp(const ramp_options& r) {
        generator_meter meter;
        meter.begin();
        out_.window_start_unix_ns = unix_now();
        out_.stopped_by = stop_reason::requests;
        const nanos start = clock_now();
        server_usage server_sum;
        show("ramp", start);
        for (std::uint32_t number = 1; number <= r.rounds; ++number) {
            round_result round;
            round.clients = number * r.add;
            round.opened =
                open(round.clients, round.clients, round.connect_elapsed, round.connect_failures);
            if (cut_) break;
            if (watch_ != nullptr) {
                watch_->find();
                watch_->begin();
            }
            load_order order;
            order.window_start = clock_now();
            order.kind = load_order::quota::each;
            order.each = r.messages;
            order.reconnect = false;
            order.first_interval = number - 1;
            order_load(order);
            wait_for_orders(true);
            if (watch_ != nullptr) {
                round.server = watch_->end();
                server_sum.cpu_user_ns += round.server->cpu_user_ns;
                server_sum.cpu_system_ns += round.server->cpu_system_ns;
                server_sum.rss_bytes = round.server->rss_bytes;
                server_sum.rss_peak_bytes =
                    std::max(server_sum.rss_peak_bytes, round.server->rss_peak_bytes);
                server_sum.pss_bytes = round.server->pss_bytes;
                server_sum.processes = round.server->processes;
                out_.server = server_sum;
            }
            round.counts = gather();
            round.elapsed = std::max<nanos>(
                0, (cut_ ? clock_now() : round.counts.last_done) - order.window_start);
            round.success_ratio = static_cast<double>(round.counts.ok) /
                                  (static_cast<double>(round.clients) * r.messages);
            out_.counts.add(round.counts);
            out_.elapsed += round.elapsed;
            const bool works = round.counts.ok > 0;
            out_.rounds.push_back(std::move(round));
            if (cut_) break;
            if (!works) {
                cut_ = stop_reason::error;
                break;
            }
        }
        if (cut_) out_.stopped_by = *cut_;
        out_.connections_opened = out_.connect.opened;
        out_.generator = meter.end(clock_now() - start, used_cpus());
    }

    const plan& plan_;
    process_watch* watch_;
    control control_;  // before the threads: they inherit its signal mask
    source_ports sources_;
    std::unique_ptr<series_collector> series_;
    std::unique_ptr<progress_view> view_;  // null: none is drawn
    std::vector<std::unique_ptr<worker>> workers_;
    std::optional<stop_reason> cut_;
    run_result out_;
};

}  // namespace

std::variant<run_result, std::string> run(const plan& p, process_watch* watch,
                                          const view_maker& make_view) {
    return runner(p, watch, make_view).run();
}

}  // namespace wireload
