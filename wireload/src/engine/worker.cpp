#include "engine/worker.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

#include <fmt/format.h>

#include "engine/connection_slab.hpp"
#include "engine/control.hpp"
#include "plan/deflater.hpp"
#include "base/duration.hpp"
#include "engine/http_connection.hpp"
#include "engine/pacer.hpp"
#include "engine/ws_connection.hpp"

namespace wireload {
namespace {

// Mean distance of the moments at which the number in flight is sampled. They are exponentially
// distributed, so that they see time averages (Wolff 1982: Poisson arrivals see time averages) and
// never fall into step with the load.
constexpr double sample_every_ns = 500'000;

// Gives the calling thread a table of files of its own, with what is in the common one now. The
// kernel then knows that nobody else can close a socket while it is in use, and neither counts its
// users up nor down in any system call: 1% to 2% more requests a second. So what is opened by one
// thread must be closed by it: say_goodbye() closes all connections. Where it is forbidden
// (seccomp) the table stays the common one.
void take_files_apart() { (void)unshare(CLONE_FILES); }

}  // namespace

worker::worker(const plan& p, source_ports& sources, series_collector& series, control& main,
               unsigned index, std::uint32_t connections)
    : plan_(p),
      sources_(sources),
      series_(series),
      main_(main),
      index_(index),
      share_(connections),
      random_(p.asked.seed * 0x9e3779b97f4a7c15U + index),
      connections_(std::make_unique<connection_slab>()),
      known_(p.requests.size()),
      retry_timer_(wire::timer::calling<&worker::serve_retries>(this)),
      deadline_timer_(wire::timer::calling<&worker::sweep_deadlines>(this)),
      edge_timer_(wire::timer::calling<&worker::on_edge_timer>(this)) {}

worker::~worker() { join(); }

wire::result<void> worker::start() {
    wire::loop_options options;
    // As many as there can be, so that the turn's time is right for all of them, up to what the
    // cache holds until they are written: with 10,000 connections 5% more requests a second than
    // when a turn takes all. Those that a turn leaves are stamped in the next; the kernel hands
    // them out in the order in which they became ready.
    options.events_per_wait = std::min<std::size_t>(share_ + 8, 1024);
    options.engine = plan_.engine;
    // Those that close keep their places for a moment.
    options.max_streams = std::size_t{share_} + share_ / 8 + 16;
    // Half a MiB; of replies below 4 KiB it holds as many as a turn has.
    options.receive_buffers = 128;
    // Many threads share few CPUs then, and memory matters.
    if (plan_.asked.threads > 2 * plan_.cpus) {
        options.receive_buffers = 64;
        options.block_bytes = 512;
    }
    auto loop = wire::event_loop::create(options);
    if (!loop) return loop.error();
    loop_ = std::move(*loop);
    if (plan_.asked.in_flight > 1 || plan_.asked.open_loop) {
        const std::uint32_t ring = std::bit_ceil(plan_.asked.in_flight);
        ring_mask_ = ring - 1;
        ring_size_ = plan_.asked.open_loop ? std::size_t{3} * ring : ring;
        rings_.reset(static_cast<nanos*>(std::calloc(ring_size_ * share_, sizeof(nanos))));
        if (rings_ == nullptr) throw std::bad_alloc();
    }
    if (plan_.asked.deflate) deflater_ = std::make_unique<deflater>(plan_);
    if (plan_.asked.websocket) {
        connections_->reserve<ws_connection>(share_);
    } else {
        connections_->reserve<http_connection>(share_);
    }
    if (plan_.asked.open_loop) pacer_ = std::make_unique<pacer>(*this, plan_, index_, share_);
    thread_ = std::thread([this] {
        take_files_apart();
        pin();
        // A timer may otherwise be 50 us late on purpose, to save power; see PR_SET_TIMERSLACK in
        // prctl(2).
        if (pacer_ != nullptr) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
        if (share_ == 1 && pacer_ == nullptr) {
            run_one_connection();
        } else {
            loop_->run();
        }
        say_goodbye();
    });
    return {};
}

// A single connection whose reply is awaited is waited for in recv() itself, as a blocking client
// would: a round trip is its system calls, and the loop makes three of two. Orders then wait for
// the reply, or stream::alone_at_most.
void worker::run_one_connection() {
    while (!ended_.load(std::memory_order_acquire)) {
        const bool awaiting = loading_ && in_flight_ > 0;
        if (!awaiting || !(*connections_)[0].run_alone()) loop_->run_once();
    }
}

void worker::pin() const {
    if (plan_.asked.cpus.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(plan_.asked.cpus[index_ % plan_.asked.cpus.size()]), &set);
    sched_setaffinity(0, sizeof set, &set);  // that it may was checked with the plan
}

void worker::order_open(std::uint32_t connections, std::uint32_t at_once) {
    ++orders_given_;
    loop_->post([this, connections, at_once] { begin_open(connections, at_once); });
}

void worker::order_load(const load_order& order) {
    ++orders_given_;
    loop_->post([this, order] { begin_load(order); });
}

void worker::order_cut() {
    loop_->post([this] {
        const nanos now = clock_now();
        advance(now);
        if (loading_) close_window(now);
        if (opening_phase_) {
            opening_phase_ = false;
            order_finished();
        }
    });
}

void worker::order_end() {
    ended_.store(true, std::memory_order_release);
    loop_->stop();
}

void worker::join() {
    if (thread_.joinable()) thread_.join();
}

void worker::order_finished() {
    orders_done_.fetch_add(1, std::memory_order_release);
    main_.notify();
}

void worker::say_goodbye() {
    for (std::uint32_t i = 0; i < connections_->size(); ++i) (*connections_)[i].say_goodbye();
}

// ---- opening ----

void worker::add_connections(std::uint32_t count) {
    while (connections_->size() < count) {
        nanos* const ring =
            rings_ == nullptr ? nullptr : &rings_[connections_->size() * ring_size_];
        // Neighbours by number are on different threads, so that each thread has its share of every
        // target.
        const auto number =
            static_cast<std::uint32_t>(connections_->size() * plan_.asked.threads + index_);
        if (plan_.asked.websocket) {
            connections_->add<ws_connection>(*this, number, ring);
        } else {
            connections_->add<http_connection>(*this, number, ring);
        }
    }
}

void worker::begin_open(std::uint32_t count, std::uint32_t at_once) {
    add_connections(count);
    connects_ = {};
    connect_latencies_.clear();
    phases_.clear();
    loop_->arm(deadline_timer_, loop_->now() + plan_.asked.timeout);
    if (at_once == 0) {
        order_finished();
        return;
    }
    opening_phase_ = true;
    open_next_ = opening_ = 0;
    at_once_ = at_once;
    loop_->at_iteration_end(end_of_iteration_);
}

void worker::pump_opens() {
    while (opening_ < at_once_ && open_next_ < connections_->size()) {
        connection& c = (*connections_)[open_next_++];
        if (!c.is_idle()) continue;
        ++opening_;
        c.open();
    }
    if (opening_ != 0 || open_next_ < connections_->size()) return;
    opening_phase_ = false;
    connects_.open_now = open_count_;
    order_finished();
}

wire::connect_options worker::connect_options(const wire::address& to) {
    wire::connect_options out;
    // The addresses were chosen for the first target; one of another family does without.
    if (!sources_.kernel_chooses() && to.family() == plan_.server.family())
        out.source = sources_.next();
    return out;
}

void worker::connecting() {
    if (counts_connects()) ++connects_.attempted;
}

void worker::session_opened(nanos latency, nanos at) {
    ++open_count_;
    ++tally_.connections_opened;
    if (!counts_connects()) return;
    ++connects_.opened;
    connects_.last_opened = at;
    connect_latencies_.record(static_cast<std::uint64_t>(std::max<nanos>(latency, 0)));
    if (!opening_phase_) return;
    --opening_;
    loop_->at_iteration_end(end_of_iteration_);
}

void worker::open_failed(error_kind kind) {
    ++connects_.errors[kind];
    --opening_;
    loop_->at_iteration_end(end_of_iteration_);
}

void worker::report(error_report&& first, nanos at) {
    if (opening_phase_) {
        connects_.first_error = std::move(first);
    } else {
        tally_.first_error = std::move(first);
        tally_.first_error_at = at;
    }
}

// ---- loading ----

void worker::begin_load(const load_order& order) {
    order_ = order;
    loading_ = true;
    sending_stopped_ = window_open_ = false;
    tally_ = {};
    latencies_.clear();
    budget_ = 0;
    interval_ = order.first_interval;
    next_sample_ = interval_end_ = never;
    next_edge_ = next_event_ = std::min(order.window_start, order.send_until);
    active_ = connections_->size();
    loop_->arm(deadline_timer_, loop_->now() + plan_.asked.timeout);
    advance(clock_now());
    if (next_edge_ != never) loop_->arm(edge_timer_, to_time_point(next_edge_));
    if (pacer_ != nullptr) {
        pacer_->begin(order);
        at_iteration_end();
    }
    if (order.idle) return;  // the window's end ends it
    // A few at a time, or their places in line alone would be a good part of the memory that many
    // connections take.
    constexpr std::size_t few = 1024;
    for (std::uint32_t i = 0; i < connections_->size() && loading_; ++i) {
        (*connections_)[i].begin_load(order.each);
        if (due_.size() >= few) serve_due();
    }
}

void worker::due(connection& c) {
    if (!c.become_due()) return;
    due_.push_back(&c);
    loop_->at_iteration_end(end_of_iteration_);
}

void worker::serve_due() {
    if (opening_phase_) pump_opens();
    serving_.swap(due_);
    for (connection* c : serving_) c->serve_due();
    serving_.clear();
    if (pacer_ != nullptr) pacer_->pump();
}

bool worker::take_turn(connection& c) {
    if (!loading_ || sending_stopped_) return false;
    if (pacer_ != nullptr) return pacer_->take_grant();
    if (order_.kind == load_order::quota::each) {
        if (!c.has_quota()) return false;
        c.use_quota();
    } else if (order_.kind == load_order::quota::shared) {
        if (budget_ == 0) {
            // A few at a time, so that threads do not fight over the count, and singly at its end,
            // so that none is left with a heap of them.
            const std::int64_t left = order_.shared->load(std::memory_order_relaxed);
            const std::int64_t wanted =
                std::clamp<std::int64_t>(left / (8 * std::int64_t{plan_.asked.threads}), 1, 64);
            budget_ = std::clamp<std::int64_t>(
                order_.shared->fetch_sub(wanted, std::memory_order_relaxed), 0, wanted);
            if (budget_ == 0) return false;
        }
        --budget_;
    }
    ++tally_.sent;
    return true;
}

void worker::finished() {
    if (--active_ == 0 && loading_) close_window(clock_now());
}

void worker::retry_later(connection& c, nanos delay) {
    retries_.push({clock_now() + delay, &c});
    loop_->arm(retry_timer_, to_time_point(retries_.top().at));
}

void worker::serve_retries() {
    const nanos now = iteration_time();
    while (!retries_.empty() && retries_.top().at <= now) {
        connection* const c = retries_.top().who;
        retries_.pop();
        if (loading_) c->serve_retry();
    }
    if (!retries_.empty()) loop_->arm(retry_timer_, to_time_point(retries_.top().at));
}

void worker::check_dead() {
    if (broken_ < connections_->size()) return;
    dead_.store(true, std::memory_order_relaxed);
    main_.notify();
}

// Time-outs cost nothing while requests are answered: nothing is set or moved for a request. Now
// and then all connections are looked at, and the next look is due when the oldest of their
// requests would time out; in a healthy run that is once in a time-out's length, and never late.
void worker::sweep_deadlines() {
    const nanos now = iteration_time();
    nanos next = now + plan_.asked.timeout.count();
    for (std::uint32_t i = 0; i < connections_->size(); ++i)
        next = std::min(next, (*connections_)[i].check_deadline(now));
    loop_->arm(deadline_timer_, to_time_point(std::max(next, now + 1'000'000)));
}

// ---- the window ----

void worker::on_edge_timer() {
    advance(iteration_time());
    if (next_edge_ != never) loop_->arm(edge_timer_, to_time_point(next_edge_));
}

void worker::pass_events(nanos t) {
    while (t >= next_event_) {
        const nanos at = next_event_;
        if (at == next_sample_) {
            ++tally_.in_flight_samples;
            tally_.in_flight_sum += in_flight_;
            next_sample_ = at + 1 +
                           static_cast<nanos>(
                               std::exponential_distribution<double>(1 / sample_every_ns)(random_));
        } else if (!sending_stopped_ && at == order_.send_until) {
            sending_stopped_ = true;
        } else if (!window_open_) {
            open_window(at);
        } else if (at >= order_.window_end) {
            if (pacer_ != nullptr) settle();
            close_window(at);
            return;
        } else {
            submit_interval();
            interval_end_ = at + order_.interval;
        }
        next_edge_ =
            window_open_ ? std::min(interval_end_, order_.window_end) : order_.window_start;
        if (!sending_stopped_) next_edge_ = std::min(next_edge_, order_.send_until);
        next_event_ = std::min(next_edge_, next_sample_);
    }
}

void worker::open_window(nanos at) {
    window_open_ = true;
    tally_ = {};
    latencies_.clear();
    if (!plan_.asked.keep_alive) {
        connects_ = {};
        connect_latencies_.clear();
        phases_.clear();
    }
    ok_before_ = errors_before_ = 0;
    interval_end_ = order_.interval == never ? never : at + order_.interval;
    if (pacer_ != nullptr) return;  // Little's law is for closed loops
    tally_.more_in_flight = -in_flight_at(at).age_sum;
    next_sample_ = at + static_cast<nanos>(
                            std::exponential_distribution<double>(1 / sample_every_ns)(random_));
}

void worker::submit_interval() {
    const std::uint64_t errors = tally_.errors.total();
    series_.submit(interval_++, latencies_, tally_.ok - ok_before_, errors - errors_before_);
    latencies_.clear();
    ok_before_ = tally_.ok;
    errors_before_ = errors;
}

flight worker::in_flight_at(nanos at) const {
    flight out;
    const nanos long_ago = at - (at - order_.window_start) / 2;
    for (std::uint32_t i = 0; i < connections_->size(); ++i)
        (*connections_)[i].add_in_flight(at, long_ago, out);
    return out;
}

void worker::close_window(nanos at) {
    if (pacer_ != nullptr) {
        pacer_->end(false);
    } else if (window_open_) {
        tally_.at_end = in_flight_at(at);
        tally_.more_in_flight += tally_.at_end.age_sum;
    }
    if (window_open_) submit_interval();
    // Of a window that never opened only what went wrong is worth telling.
    result_ = window_open_ ? tally_ : tally{};
    if (!window_open_) {
        result_.errors = tally_.errors;
        result_.first_error = tally_.first_error;
        result_.first_error_at = tally_.first_error_at;
    }
    loading_ = window_open_ = false;
    next_edge_ = next_sample_ = next_event_ = never;
    order_finished();
}

// ---- open loop ----

bool worker::right_reply_on_schedule(nanos due, nanos latency, nanos sent_at, nanos at) {
    note_released(at);
    --in_flight_;
    const bool late = pacer_->is_late(latency);
    pacer_->answered(due, sent_at, at, late);
    if (!pacer_->is_measured(due)) return false;
    tally_.last_done = at;
    // Late ones are errors, and their latency is kept all the same: without them the tail would end
    // where it gets interesting.
    latencies_.record(static_cast<std::uint64_t>(latency));
    if (late) {
        ++tally_.errors[error_kind::deadline];
    } else {
        ++tally_.ok;
    }
    return late;
}

void worker::note_released(nanos at) {
    pacer_->released(at, in_flight_);
    at_iteration_end();
}

void worker::never_sent(nanos due, nanos now) {
    ++tally_.errors[error_kind::deadline];
    if (!wants_report()) return;
    report({error_kind::deadline, "nothing: no connection was free for the request",
            "a free connection in time",
            fmt::format("none within {}", format_duration(static_cast<double>(now - due)))},
           now);
}

// The last moment has come: what has no answer now gets none.
void worker::settle() {
    for (std::uint32_t i = 0; i < connections_->size(); ++i)
        tally_.errors[error_kind::read_timeout] += (*connections_)[i].measured_in_flight();
    pacer_->end(true);
}

}  // namespace wireload
