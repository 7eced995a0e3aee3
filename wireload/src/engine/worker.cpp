#include "engine/worker.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>

#include "engine/http_connection.hpp"
#include "engine/ws_connection.hpp"

namespace wireload {
namespace {

// Gives the calling thread a descriptor table of its own, with what is in the common one now. The
// kernel then knows that nobody else can close a socket while it is in use, and neither counts its
// users up nor down in any system call: 1% to 2% more requests a second. So what is opened by one
// thread must be closed by it: say_goodbye() closes all connections. Where it is forbidden
// (seccomp) the table stays the common one.
void unshare_descriptor_table() { (void)unshare(CLONE_FILES); }

wire::loop_options loop_options_for(const plan& p, std::uint32_t connections) {
    wire::loop_options options;
    // As many as there can be, so that the iteration's time is right for all of them, up to what
    // the cache holds until they are written: with 10,000 connections 5% more requests a second
    // than when an iteration takes all. Those that an iteration leaves are stamped in the next; the
    // kernel hands them out in the order in which they became ready.
    options.events_per_wait = std::min<std::size_t>(connections + 8, 1024);
    options.engine = p.engine;
    // Those that close keep their places for a moment.
    options.max_streams = std::size_t{connections} + connections / 8 + 16;
    // Half a MiB; of replies below 4 KiB it holds as many as an iteration has.
    options.receive_buffers = 128;
    // A latency contains the sending of the requests before it in the same call, 1 to 2 us each.
    options.operations_per_call = 32;
    // Many threads share few CPUs then, and memory matters.
    if (p.asked.threads > 2 * p.cpus) {
        options.receive_buffers = 64;
        options.block_bytes = 512;
    }
    return options;
}

}  // namespace

worker::worker(const plan& p, source_ports& sources, series_collector& series, control& main,
               unsigned index, std::uint32_t connections)
    : plan_(p),
      main_(main),
      index_(index),
      share_(connections),
      host_(p, sources, series, main, index, *this, *this,
            {.at_iteration_end =
                 [](wire::iteration_hook& hook) noexcept {
                     static_cast<connection_host::iteration_end&>(hook).owner.serve_due();
                 },
             .retry = [](void* self) { static_cast<worker*>(self)->serve_retries(); }}),
      deadline_timer_(wire::timer::calling<&worker::sweep_deadlines>(this)),
      edge_timer_(wire::timer::calling<&worker::on_edge_timer>(this)) {}

worker::~worker() { join(); }

wire::result<void> worker::start() {
    auto loop = wire::event_loop::create(loop_options_for(plan_, share_));
    if (!loop) return loop.error();
    times_ = request_times(plan_.asked, share_);
    host_.start(std::move(*loop), share_, times_.mask());
    if (plan_.asked.websocket) {
        connections_.reserve<ws_connection>(share_);
    } else {
        connections_.reserve<http_connection>(share_);
    }
    if (host_.gate() != nullptr) pacer_ = std::make_unique<pacer>(host_, *host_.gate());
    if (host_.broadcasts() != nullptr)
        publisher_ = std::make_unique<publisher>(host_, connections_);
    thread_ = std::thread([this] { run(); });
    return {};
}

void worker::run() {
    unshare_descriptor_table();
    pin();
    // A timer may otherwise be 50 us late on purpose, to save power; see PR_SET_TIMERSLACK in
    // prctl(2).
    if (pacer_ != nullptr) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    if (share_ == 1 && pacer_ == nullptr && publisher_ == nullptr) {
        run_one_connection();
    } else {
        host_.loop().run();
    }
    say_goodbye();
}

// A single connection whose reply is awaited is waited for in recv() itself, as a blocking client
// would: a round trip is its system calls, and the loop makes three of two. Orders then wait for
// the reply, or stream::alone_at_most.
void worker::run_one_connection() {
    const load_window& window = host_.window();
    while (!ended_.load(std::memory_order_acquire)) {
        const bool awaiting = window.loading() && window.in_flight() > 0;
        if (!awaiting || !connections_[0].run_alone()) host_.loop().run_once();
    }
}

void worker::pin() const {
    if (plan_.asked.cpus.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(plan_.asked.cpus[index_ % plan_.asked.cpus.size()]), &set);
    sched_setaffinity(0, sizeof set, &set);  // that it may was checked with the plan
}

// ---- orders ----

void worker::order_open(std::uint32_t connections, std::uint32_t at_once) {
    ++orders_given_;
    host_.loop().post([this, connections, at_once] { begin_open(connections, at_once); });
}

void worker::order_load(const load_order& order) {
    ++orders_given_;
    host_.loop().post([this, order] { begin_load(order); });
}

void worker::order_cut() {
    host_.loop().post([this] { cut(); });
}

void worker::order_end() {
    ended_.store(true, std::memory_order_release);
    host_.loop().stop();
}

void worker::join() {
    if (thread_.joinable()) thread_.join();
}

void worker::cut() {
    const nanos now = clock_now();
    host_.window().advance(now);
    if (host_.loading()) host_.window().end(now);
    if (host_.in_opening_phase()) {
        host_.end_opening();
        order_finished();
    }
}

void worker::order_finished() {
    orders_done_.fetch_add(1, std::memory_order_release);
    main_.notify();
}

void worker::say_goodbye() {
    for (std::uint32_t i = 0; i < connections_.size(); ++i) connections_[i].say_goodbye();
}

// ---- opening ----

void worker::add_connections(std::uint32_t count) {
    while (connections_.size() < count) {
        nanos* const times = times_.of(connections_.size());
        // Neighbours by number are on different threads, so that each thread has its share of every
        // target.
        const std::uint32_t number = plan_.asked.part.in_whole(
            static_cast<std::uint32_t>(connections_.size() * plan_.asked.threads + index_));
        if (plan_.asked.websocket) {
            connections_.add<ws_connection>(host_, number, times);
        } else {
            connections_.add<http_connection>(host_, number, times);
        }
    }
}

void worker::begin_open(std::uint32_t count, std::uint32_t at_once) {
    add_connections(count);
    host_.begin_opening(connections_.size(), at_once);
    host_.loop().arm(deadline_timer_, host_.loop().now() + plan_.asked.timeout);
    if (at_once == 0) order_finished();
}

void worker::open_more() {
    opening_phase& opening = host_.opening();
    // As many as are opened at once have all waited in vain: so would the others, as many at a
    // time, for minutes where there are thousands.
    const connect_tally& opened = host_.meter().counts();
    if (opened.opened == 0 && opened.errors[error_kind::connect_timeout] >= opening.at_once())
        opening.give_up();
    while (const auto i = opening.take(connections_.size())) {
        connection& c = connections_[*i];
        if (!c.is_idle()) continue;
        opening.begun();
        c.open();
    }
    if (!opening.all_decided(connections_.size())) return;
    host_.end_opening();
    host_.meter().note_open(host_.sessions().open);
    order_finished();
}

// ---- loading ----

void worker::begin_load(const load_order& order) {
    wire::event_loop& loop = host_.loop();
    load_window& window = host_.window();
    host_.begin_load(order);
    window.advance(clock_now());
    if (window.next_edge() != never) loop.arm(edge_timer_, to_time_point(window.next_edge()));
    if (pacer_ != nullptr) {
        pacer_->begin(order);
        host_.at_iteration_end();
    }
    if (order.idle) return;  // the window's end ends it
    if (publisher_ != nullptr) {
        host_.at_iteration_end();
        return;
    }
    // A few at a time, or their places in line alone would be a good part of the memory that many
    // connections take.
    constexpr std::size_t few = 1024;
    for (std::uint32_t i = 0; i < connections_.size() && window.loading(); ++i) {
        connections_[i].begin_load(order.each);
        if (host_.due_list().size() >= few) serve_due();
    }
    // A thread may have none: there may be fewer than threads.
    if (connections_.size() == 0 && pacer_ == nullptr && window.loading()) window.end(clock_now());
}

void worker::serve_due() {
    if (host_.in_opening_phase()) open_more();
    host_.begin_serving();
    serving_.swap(host_.due_list());
    for (connection* c : serving_) c->serve_due();
    serving_.clear();
    if (pacer_ != nullptr) pacer_->pump();
    if (publisher_ != nullptr && host_.loading()) publisher_->pump();
}

void worker::serve_retries() {
    while (connection* const c = host_.next_retry()) {
        if (host_.loading()) c->serve_retry();
    }
}

// Time-outs cost nothing while requests are answered: nothing is set or moved for a request. Now
// and then all connections are looked at, and the next look is due when the oldest of their
// requests would time out; in a healthy run that is once in a time-out's length, and never late.
void worker::sweep_deadlines() {
    const nanos now = host_.iteration_time();
    nanos next = now + plan_.asked.timeout.count();
    for (std::uint32_t i = 0; i < connections_.size(); ++i)
        next = std::min(next, connections_[i].check_deadline(now));
    host_.loop().arm(deadline_timer_, to_time_point(std::max(next, now + 1'000'000)));
}

void worker::on_edge_timer() {
    load_window& window = host_.window();
    window.advance(host_.iteration_time());
    if (window.next_edge() != never)
        host_.loop().arm(edge_timer_, to_time_point(window.next_edge()));
}

// ---- the window ----

flight worker::in_flight_at(nanos at, nanos start) const {
    flight out;
    for (std::uint32_t i = 0; i < connections_.size(); ++i)
        connections_[i].add_in_flight(at, start, out);
    return out;
}

// Without keep-alive, connecting is a part of the window.
void worker::window_opened() {
    if (publisher_ != nullptr) host_.broadcasts()->window_opened();
    if (plan_.asked.keep_alive) return;
    // In turns each of them has a window: the first begins anew.
    if (host_.window().order().first_interval == 0) host_.meter().clear();
    host_.meter().count(true);
    // What opens in the window counts there, and so was attempted for it.
    for (std::uint32_t i = 0; i < connections_.size(); ++i) {
        if (connections_[i].is_opening()) host_.meter().connecting();
    }
}

// Open loop: what has no answer now gets none.
void worker::window_expired() {
    if (pacer_ == nullptr) return;
    const nanos now = clock_now();
    for (std::uint32_t i = 0; i < connections_.size(); ++i) connections_[i].give_up_unanswered(now);
    pacer_->end(true);
}

void worker::load_ended() {
    if (pacer_ != nullptr) pacer_->end(false);
    host_.end_load();
    sessions_ = host_.sessions();  // which go on changing while the main thread reads
    order_finished();
}

}  // namespace wireload
