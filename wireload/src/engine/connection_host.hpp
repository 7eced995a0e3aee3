// A worker's thread as its connections see it: the loop that they use, the window that they count
// in, and the lists that they put themselves on.
//
//   a connection                        calls           and is called back
//   ---------------------------------   -------------   ------------------------------------------
//   may have something to send          due()           serve_due(), at the iteration's end
//   failed, and is to try again         retry_later()   serve_retry(), when the delay is over
//   has sent and got all of its share   finished()      not any more in this load
//
// The worker owns the host and calls the connections back. All of it belongs to the worker's
// thread, except opened(), which is the main thread's between orders, and dead().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "engine/broadcast_ledger.hpp"
#include "engine/control.hpp"
#include "engine/known_replies.hpp"
#include "engine/load_window.hpp"
#include "engine/open_loop_gate.hpp"
#include "engine/opening_phase.hpp"
#include "engine/request_quota.hpp"
#include "engine/retry_queue.hpp"
#include "engine/source_ports.hpp"
#include "measure/connect_meter.hpp"
#include "plan/deflater.hpp"
#include "plan/plan.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"
#include "wire/proto/http_parser.hpp"

namespace wireload {

class worker;

// Of the connections of one thread.
struct session_counts {
    std::uint32_t open = 0;
    // Since the first connection was opened.
    std::uint64_t pings = 0;    // answered
    std::uint64_t unasked = 0;  // messages to connections that are held idle
};

class connection_host {
public:
    // At the end of the iterations in which a connection became due.
    struct iteration_end : wire::iteration_hook {
        iteration_end(callback fn, worker& w) : iteration_hook(fn), owner(w) {}
        worker& owner;
    };

    // Where the worker calls the connections back; the timer's context is the worker.
    struct callbacks {
        wire::iteration_hook::callback at_iteration_end;
        wire::timer::callback retry;
    };

    // All that is passed by reference must outlive it; `w` and `owner` are the same object.
    connection_host(const plan& p, source_ports& sources, series_collector& series, control& main,
                    unsigned index, worker& w, window_owner& owner, callbacks to);
    connection_host(const connection_host&) = delete;
    connection_host& operator=(const connection_host&) = delete;

    // ---- what connections work with ----

    const plan& the_plan() const { return plan_; }
    wire::event_loop& loop() { return *loop_; }
    load_window& window() { return window_; }
    const load_window& window() const { return window_; }
    connect_meter& meter() { return meter_; }
    const connect_meter& meter() const { return meter_; }
    request_quota& quota() { return quota_; }
    known_replies& known() { return known_; }
    wire::http::response_head& head_scratch() { return head_; }
    // Null in a closed loop.
    open_loop_gate* gate() const { return gate_.get(); }
    // Null unless messages are broadcast.
    broadcast_ledger* broadcasts() const { return ledger_.get(); }
    // Precondition: --deflate.
    deflater& deflating() { return *deflater_; }
    wire::connect_options connect_options(const wire::address& to);
    nanos iteration_time() const { return to_nanos(loop_->now()); }
    // The time of requests that are handed over now. With io_uring those of an iteration leave
    // together after all are queued, each within a tenth of a microsecond, and one reading of the
    // clock serves several.
    nanos sending_time() {
        if (sends_left_ == 0) {
            sending_time_ = clock_now();
            sends_left_ = sends_for_a_reading_;
        }
        --sends_left_;
        return sending_time_;
    }
    std::uint64_t random() { return random_(); }
    std::uint32_t in_flight_limit() const { return plan_.asked.in_flight; }
    // The times of a connection's requests lie in a ring of this and one more (request_times.hpp).
    std::uint32_t ring_mask() const { return ring_mask_; }

    // ---- what connections tell ----

    // Once until it is served: see connection::become_due().
    void due(connection& c) {
        due_.push_back(&c);
        at_iteration_end();
    }
    void at_iteration_end() { loop_->at_iteration_end(iteration_end_); }
    void retry_later(connection& c, nanos delay);
    void finished();
    void session_opened(nanos latency, nanos at);
    void session_closed() { --sessions_.open; }
    void open_failed(error_kind kind);
    void count_ping() { ++sessions_.pings; }
    void count_unasked() { ++sessions_.unasked; }
    // Nothing works any more.
    void give_up();
    // It failed many times in a row; it works again, or has nothing more to send.
    void broke();
    void mended() {
        --broken_;
        dead_.store(false, std::memory_order_relaxed);
    }

    bool in_opening_phase() const { return opening_.active(); }
    bool loading() const { return window_.loading(); }
    bool idling() const { return loading() && window_.order().idle; }
    bool may_reconnect() const { return window_.order().reconnect; }
    // Whether connections that have sent their share end: held open, they could keep a server's
    // threads from those that wait.
    bool closes_finished() const { return plan_.asked.each && quota_.is_for_each(); }
    bool wants_report() const {
        return in_opening_phase() ? meter_.wants_report() : window_.wants_report();
    }
    void report(error_report&& first, nanos at);

    // ---- for the worker ----

    // Takes the loop, and makes what belongs to it. `connections`: that this thread may come to
    // have.
    void start(std::unique_ptr<wire::event_loop> loop, std::uint32_t connections,
               std::uint32_t ring_mask);
    void begin_opening(std::uint32_t connections, std::uint32_t at_once);
    void end_opening();
    void begin_load(const load_order& order);
    void end_load() { meter_.count(false); }
    // Before connections are served: they are not to be given an older time.
    void begin_serving() { sends_left_ = 0; }
    opening_phase& opening() { return opening_; }
    std::vector<connection*>& due_list() { return due_; }
    // One whose delay is over, null when there is none; then sees to it that the next is not
    // forgotten.
    connection* next_retry();
    // Every connection failed many times in a row, and none works. Any thread.
    bool dead() const { return dead_.load(std::memory_order_relaxed); }
    const session_counts& sessions() const { return sessions_; }

private:
    void give_up_if_all_broke();

    const plan& plan_;
    source_ports& sources_;
    control& main_;
    const unsigned index_;
    std::unique_ptr<wire::event_loop> loop_;
    std::mt19937_64 random_;
    std::uint32_t ring_mask_ = 0;
    std::uint32_t connections_ = 0;  // that there are
    std::uint32_t active_ = 0;       // connections that may still send in this load
    std::uint32_t broken_ = 0;
    std::atomic<bool> dead_{false};
    std::unique_ptr<deflater> deflater_;
    std::uint32_t sends_for_a_reading_ = 1;
    std::uint32_t sends_left_ = 0;
    nanos sending_time_ = 0;
    std::vector<connection*> due_;
    retry_queue retries_;
    wire::http::response_head head_;
    known_replies known_;
    iteration_end iteration_end_;
    wire::timer retry_timer_;
    opening_phase opening_;
    request_quota quota_;
    session_counts sessions_;
    connect_meter meter_;
    load_window window_;
    std::unique_ptr<open_loop_gate> gate_;
    std::unique_ptr<broadcast_ledger> ledger_;
};

}  // namespace wireload
