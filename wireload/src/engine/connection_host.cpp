#include "engine/connection_host.hpp"

#include "base/random.hpp"

namespace wireload {

connection_host::connection_host(const plan& p, source_ports& sources, series_collector& series,
                                 control& main, unsigned index, worker& w, window_owner& owner,
                                 callbacks to)
    : plan_(p),
      sources_(sources),
      main_(main),
      index_(index),
      random_(p.asked.seed * golden_gamma + index),
      known_(p.requests.size()),
      iteration_end_(to.at_iteration_end, w),
      retry_timer_(to.retry, &w),
      window_(p, series, random_, owner) {}

void connection_host::start(std::unique_ptr<wire::event_loop> loop, std::uint32_t connections,
                            std::uint32_t ring_mask) {
    loop_ = std::move(loop);
    ring_mask_ = ring_mask;
    // Not where a schedule tells each its moment, nor where making a request ready takes long.
    if (plan_.engine == wire::loop_engine::io_uring && !plan_.asked.open_loop &&
        plan_.tls == nullptr && !plan_.asked.deflate)
        sends_for_a_reading_ = 16;
    if (plan_.asked.deflate) deflater_ = std::make_unique<deflater>(plan_);
    if (plan_.asked.open_loop)
        gate_ = std::make_unique<open_loop_gate>(plan_, window_, index_, connections);
    if (plan_.asked.broadcast)
        ledger_ = std::make_unique<broadcast_ledger>(window_, ring_mask, plan_.asked.in_flight);
}

wire::connect_options connection_host::connect_options(const wire::address& to) {
    wire::connect_options out;
    out.note_arrivals = gate_ != nullptr;
    if (!sources_.kernel_chooses() && takes_source(plan_.asked, plan_.sources.front(), to))
        out.source = sources_.next();
    return out;
}

void connection_host::begin_opening(std::uint32_t connections, std::uint32_t at_once) {
    connections_ = connections;
    meter_.clear();
    if (at_once == 0) return;
    opening_.begin(at_once);
    meter_.count(true);
    at_iteration_end();
}

void connection_host::end_opening() {
    opening_.end();
    meter_.count(false);
}

void connection_host::begin_load(const load_order& order) {
    active_ = connections_;
    quota_.begin(order, plan_.asked.threads);
    meter_.count(false);  // from the window on: worker::window_opened()
    window_.begin(order);
}

void connection_host::session_opened(nanos latency, nanos at) {
    ++sessions_.open;
    window_.count_connection();
    meter_.session_opened(latency, at);
    if (!opening_.active()) return;
    opening_.decided();
    at_iteration_end();
}

void connection_host::open_failed(error_kind kind) {
    meter_.failed(kind);
    opening_.decided();
    at_iteration_end();
}

void connection_host::retry_later(connection& c, nanos delay) {
    retries_.push(c, clock_now() + delay);
    loop_->arm(retry_timer_, to_time_point(retries_.next()));
}

connection* connection_host::next_retry() {
    connection* const c = retries_.pop_due(iteration_time());
    if (c == nullptr && retries_.next() != never)
        loop_->arm(retry_timer_, to_time_point(retries_.next()));
    return c;
}

void connection_host::finished() {
    if (--active_ != 0) {
        give_up_if_all_broke();
    } else if (window_.loading()) {
        const nanos now = clock_now();
        window_.advance(now);  // the number in flight is sampled up to there
        if (window_.loading()) window_.end(now);
    }
}

void connection_host::broke() {
    ++broken_;
    give_up_if_all_broke();
}

// With a count for each connection those that have theirs are out of it; otherwise what is left is
// everybody's.
void connection_host::give_up_if_all_broke() {
    if (broken_ == (closes_finished() ? active_ : connections_)) give_up();
}

void connection_host::give_up() {
    dead_.store(true, std::memory_order_relaxed);
    main_.notify();
}

void connection_host::report(error_report&& first, nanos at) {
    if (in_opening_phase()) {
        meter_.report(std::move(first));
    } else {
        window_.report(std::move(first), at);
    }
}

}  // namespace wireload
