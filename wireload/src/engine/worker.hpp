// One thread of the generator: a loop, its share of the connections, and what they counted.
//
// How latency is kept truthful with few clock readings: a request's time is read just before its
// bytes are handed to the kernel. A reply's time is the one at which the loop took the turn's
// events, since a reply that made its socket ready had arrived by then; replies that need more than
// one read, or that come several to a read, are timed after the read.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "measure/connect_phases.hpp"
#include "measure/histogram.hpp"
#include "plan/plan.hpp"
#include "measure/series.hpp"
#include "engine/source_ports.hpp"
#include "measure/tally.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/socket.hpp"
#include "wire/proto/http_parser.hpp"

namespace wireload {

class connection;
class connection_slab;
class control;
class deflater;
class pacer;

// "Send requests until ...". Times are those of the steady clock.
struct load_order {
    enum class quota : std::uint8_t { endless, shared, each };

    nanos window_start = 0;    // what comes before is not counted
    nanos window_end = never;  // the load is cut there; what is in flight does not count
    // No request is begun after it; the order is done when the last was answered.
    nanos send_until = never;
    quota kind = quota::endless;
    std::uint64_t each = 0;
    std::atomic<std::int64_t>* shared = nullptr;
    bool reconnect = true;
    bool idle = false;  // nothing is sent; connections that are lost are errors
    // Open loop: the schedule begins here, with the warm-up, and holds what is due before its end;
    // the window's end above is then the moment until which the last replies are waited for.
    nanos schedule_start = 0;
    nanos schedule_end = never;
    std::uint64_t most = UINT64_MAX;  // requests in the window, of all threads
    nanos interval = never;           // of the series
    std::size_t first_interval = 0;
};

// How the connections of one order_open() fared.
struct connect_tally {
    std::uint64_t attempted = 0;
    std::uint64_t opened = 0;
    std::uint64_t open_now = 0;  // when the order was done
    error_counts errors;
    nanos last_opened = 0;
    std::optional<error_report> first_error;
};

class worker {
public:
    // All that is passed by reference must outlive it.
    worker(const plan& p, source_ports& sources, series_collector& series, control& main,
           unsigned index, std::uint32_t connections);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // ---- from the main thread ----

    wire::result<void> start();
    // Orders are carried out one after another. open and load are "done" at some time after the
    // call; `control` is notified, and then their results may be read until the next order.
    //
    // Brings the number of connections to `connections`, opening those that are not open, `at_once`
    // at a time; with 0 they are only made ready to open when they have something to send.
    void order_open(std::uint32_t connections, std::uint32_t at_once);
    void order_load(const load_order& order);
    // Ends the present order now; at the latest in the next turn.
    void order_cut();
    // Closes all connections and ends the thread.
    void order_end();
    void join();

    bool done() const { return orders_done_.load(std::memory_order_acquire) == orders_given_; }
    // Every connection failed many times in a row, and none works.
    bool dead() const { return dead_.load(std::memory_order_relaxed); }

    const connect_tally& connects() const { return connects_; }
    const histogram& connect_latencies() const { return connect_latencies_; }
    const connect_phases& phases() const { return phases_; }
    const tls_tally& tls() const { return tls_; }
    const deflate_tally& deflated() const { return deflate_; }
    const tally& result() const { return result_; }
    std::uint32_t open_now() const { return open_count_; }
    // Since the first connection was opened.
    std::uint64_t pings() const { return pings_; }
    std::uint64_t unasked() const { return unasked_; }
    // Null unless the loop is open.
    pacer* pacing() const { return pacer_.get(); }

    // ---- for the connections, on the worker's own thread ----

    const plan& the_plan() const { return plan_; }
    wire::event_loop& loop() { return *loop_; }
    wire::http::response_head& head_scratch() { return head_; }
    // HTTP: the last reply to each request that was parsed, found right and came whole (see
    // http_connection::consume_known).
    struct known_reply {
        std::string text;
        int status = 0;
    };
    const known_reply& known(const prepared_request& r) const { return known_[r.index]; }
    void remember(const prepared_request& r, std::string_view text, int status) {
        constexpr std::size_t longest = 16 * 1024;
        constexpr std::size_t most = 4 * 1024 * 1024;  // of all requests
        known_reply& known = known_[r.index];
        if (text.size() > longest || known_bytes_ - known.text.size() + text.size() > most) return;
        known_bytes_ += text.size() - known.text.size();
        known.text = text;
        known.status = status;
    }
    nanos iteration_time() const { return to_nanos(loop_->now()); }
    std::uint64_t random() { return random_(); }
    std::uint32_t in_flight_limit() const { return plan_.asked.in_flight; }
    // The times of a connection's requests lie in a ring of this and one more, a power of two.
    std::uint32_t ring_mask() const { return ring_mask_; }

    // Serves the connection at the end of this turn.
    void due(connection& c);
    void retry_later(connection& c, nanos delay);
    // Whether the connection may begin one more request; it then must.
    bool take_turn(connection& c);
    // A connection has sent all that it may and has all its replies.
    void finished();
    bool loading() const { return loading_; }
    bool idling() const { return loading_ && order_.idle; }
    void count_ping() { ++pings_; }
    void count_unasked() { ++unasked_; }
    bool may_reconnect() const { return order_.reconnect; }
    wire::connect_options connect_options(const wire::address& to);

    // Time has come to `t`: passes all edges and sampling moments up to it. Call it before the
    // counts change.
    void advance(nanos t) {
        if (t >= next_event_) [[unlikely]]
            pass_events(t);
    }
    void stamped() { ++in_flight_; }
    void count_in(std::size_t bytes) { tally_.bytes_in += bytes; }
    void count_out(std::size_t bytes) { tally_.bytes_out += bytes; }
    // Precondition: --deflate.
    deflater& deflating() { return *deflater_; }
    void count_deflate(bool agreed) { ++(agreed ? deflate_.with : deflate_.without); }
    void count_payload_in(std::size_t bytes) { tally_.payload_in += bytes; }
    void count_payload_out(std::size_t bytes, bool compressed) {
        tally_.payload_out += bytes;
        if (compressed) ++tally_.sent_compressed;
    }
    void count_status(int status) {
        if (status >= 100 && status < 600)
            ++tally_.statuses[static_cast<std::size_t>(status - 100)];
    }
    // Of a rotation: for each of its requests apart.
    void count_request(const prepared_request& r, bool right) {
        if (plan_.only != nullptr) [[likely]]
            return;
        if (tally_.by_request.empty()) tally_.by_request.resize(plan_.requests.size());
        request_counts& counts = tally_.by_request[r.index];
        ++(right ? counts.right : counts.wrong);
    }
    void right_reply(nanos sent_at, nanos at) {
        --in_flight_;
        ++tally_.ok;
        tally_.last_done = at;
        latencies_.record(static_cast<std::uint64_t>(at > sent_at ? at - sent_at : 0));
    }
    // Of the requests that were in flight `flying` are not any more, and `count` count.
    // They were in flight for `spent` together.
    void wrong_replies(error_kind kind, std::uint64_t count, std::uint64_t flying, nanos at,
                       nanos spent) {
        if (pacer_ != nullptr) [[unlikely]]
            note_released(at);
        in_flight_ -= flying;
        tally_.errors[kind] += count;
        tally_.more_in_flight += static_cast<double>(spent);
        tally_.last_done = at;
    }
    // Whether connections that have sent their share end: held open, they could keep a server's
    // threads from those that wait.
    bool closes_finished() const {
        return plan_.asked.each && order_.kind == load_order::quota::each;
    }

    // ---- open loop ----

    std::uint64_t in_flight() const { return in_flight_; }
    // Grows with whatever is done for connections.
    std::uint64_t work_done() const {
        return tally_.bytes_in + tally_.bytes_out + tally_.connections_opened;
    }
    void at_iteration_end() { loop_->at_iteration_end(end_of_iteration_); }
    void count_begun() { ++tally_.sent; }
    // Returns whether it came too late and counts.
    bool right_reply_on_schedule(nanos due, nanos latency, nanos sent_at, nanos at);
    // The request was due at `due` and will not be sent any more.
    void never_sent(nanos due, nanos now);
    // Everything that was scheduled is decided.
    void load_over() { close_window(clock_now()); }
    bool wants_report() const {
        return opening_phase_ ? !connects_.first_error : !tally_.first_error;
    }
    void report(error_report&& first, nanos at);

    void connecting();
    // Whether openings count at present (see connect_tally).
    bool counts_connects() const { return opening_phase_ || (!plan_.asked.keep_alive && loading_); }
    void tcp_opened(nanos latency) {
        if (counts_connects()) phases_.tcp.record(static_cast<std::uint64_t>(latency));
    }
    void upgraded(nanos latency) {
        if (counts_connects()) phases_.upgrade.record(static_cast<std::uint64_t>(latency));
    }
    void first_byte_came(nanos latency) {
        if (counts_connects()) phases_.first_byte.record(static_cast<std::uint64_t>(latency));
    }
    void tls_opened(nanos latency, const wire::tls::connection_info& info) {
        if (counts_connects()) phases_.tls.record(static_cast<std::uint64_t>(latency));
        tls_.count(info);
    }
    void session_opened(nanos latency, nanos at);
    void open_failed(error_kind kind);
    bool opening_phase() const { return opening_phase_; }
    void session_closed() { --open_count_; }
    void broke() {
        ++broken_;
        check_dead();
    }
    void mended() { --broken_; }

private:
    struct retry {
        nanos at;
        connection* who;
        bool operator<(const retry& other) const { return at > other.at; }  // earliest on top
    };
    struct end_of_iteration : wire::iteration_hook {
        explicit end_of_iteration(worker& w)
            : iteration_hook([](wire::iteration_hook& h) noexcept {
                  static_cast<end_of_iteration&>(h).self.serve_due();
              }),
              self(w) {}
        worker& self;
    };

    void begin_open(std::uint32_t connections, std::uint32_t at_once);
    void add_connections(std::uint32_t count);
    void begin_load(const load_order& order);
    void order_finished();
    void serve_due();
    void pump_opens();
    void serve_retries();
    void sweep_deadlines();
    void on_edge_timer();
    void pass_events(nanos t);
    void open_window(nanos at);
    void close_window(nanos at);
    flight in_flight_at(nanos at) const;
    void submit_interval();
    void note_released(nanos at);
    void settle();
    void check_dead();
    void run_one_connection();
    void say_goodbye();
    void pin() const;

    const plan& plan_;
    source_ports& sources_;
    series_collector& series_;
    control& main_;
    const unsigned index_;
    const std::uint32_t share_;  // connections that this worker may come to have

    std::unique_ptr<wire::event_loop> loop_;
    std::thread thread_;
    std::uint64_t orders_given_ = 0;
    std::atomic<std::uint64_t> orders_done_{0};
    std::atomic<bool> dead_{false};
    std::atomic<bool> ended_{false};

    // Everything below belongs to the worker's thread (its results to the main thread between
    // orders).
    std::mt19937_64 random_;
    struct release {
        void operator()(nanos* times) const noexcept { std::free(times); }
    };
    // Of the connections; null when one in flight is all, in a closed loop.
    std::unique_ptr<nanos[], release> rings_;
    std::uint32_t ring_mask_ = 0;
    std::size_t ring_size_ = 1;
    std::unique_ptr<pacer> pacer_;
    std::unique_ptr<deflater> deflater_;  // null without --deflate; connections give back to it
    std::unique_ptr<connection_slab> connections_;
    std::vector<connection*> due_;
    std::vector<connection*> serving_;
    std::priority_queue<retry> retries_;
    wire::http::response_head head_;
    std::vector<known_reply> known_;  // by request
    std::size_t known_bytes_ = 0;
    end_of_iteration end_of_iteration_{*this};
    wire::timer retry_timer_;
    wire::timer deadline_timer_;
    wire::timer edge_timer_;

    connect_tally connects_;
    histogram connect_latencies_;
    connect_phases phases_;
    tls_tally tls_;
    deflate_tally deflate_;
    bool opening_phase_ = false;
    std::uint32_t open_next_ = 0;
    std::uint32_t opening_ = 0;
    std::uint32_t at_once_ = 0;
    std::uint32_t open_count_ = 0;
    std::uint64_t pings_ = 0;    // answered
    std::uint64_t unasked_ = 0;  // messages to connections that are held idle
    std::uint32_t broken_ = 0;

    load_order order_;
    bool loading_ = false;
    bool sending_stopped_ = false;
    std::uint32_t active_ = 0;  // connections that may still send in this load
    std::int64_t budget_ = 0;   // taken from the shared count, not used yet
    bool window_open_ = false;
    nanos next_event_ = never;
    nanos next_edge_ = never;
    nanos next_sample_ = never;
    std::size_t interval_ = 0;
    std::uint64_t ok_before_ = 0;  // at the start of the interval
    std::uint64_t errors_before_ = 0;
    nanos interval_end_ = never;
    std::uint64_t in_flight_ = 0;
    tally tally_;
    tally result_;
    histogram latencies_;  // of the present interval
};

}  // namespace wireload
