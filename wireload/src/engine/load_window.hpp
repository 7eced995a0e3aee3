// Counts one load in one thread, and passes the moments at which that begins, is sampled and ends.
//
//   state     entered by                    replies and errors
//   -------   ---------------------------   -----------------------------------------------
//   no load   start; end()                  count nowhere
//   warm-up   begin()                       forgotten when the window opens; its errors are
//                                           reported if it never does
//   window    the edge `window_start`       counted; in flight sampled (closed loop); one
//                                           histogram handed in at the end of each interval
//   drain     the edge `schedule_end`       counted as in the window; bytes and openings also apart
//
// end() leaves a load from any state: at the edge `window_end`, when all requests are answered,
// or when the main thread cuts it. The edge `send_until` only ends the sending.
//
// Few clock readings keep latency truthful. A request's time is read just before its
// bytes are handed to the kernel; with io_uring, which is handed those of an iteration together,
// before some sixteen of them are queued. A reply's time is the one at which the loop took the
// iteration's events, since a reply that made its socket ready had arrived by then; with epoll,
// replies that need more than one read, or that come several to a read, are timed after the read.
//
// All of it belongs to the worker's thread; result() to the main thread between orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

#include "base/clock.hpp"
#include "engine/load_order.hpp"
#include "measure/error_kind.hpp"
#include "measure/histogram.hpp"
#include "measure/series.hpp"
#include "measure/tally.hpp"
#include "plan/plan.hpp"

namespace wireload {

// The owner of a window, which knows the connections. Called at edges, never for a reply.
class window_owner {
public:
    // Counts the requests in flight at `at`, in a window that began at `start`.
    virtual flight in_flight_at(nanos at, nanos start) const = 0;
    virtual void window_opened() = 0;
    // The window's end has come; requests may still wait for their replies. load_ended() follows.
    virtual void window_expired() = 0;
    // The order is done, and result() may be read.
    virtual void load_ended() = 0;

protected:
    ~window_owner() = default;
};

class load_window {
public:
    // All must outlive it.
    load_window(const plan& p, series_collector& series, std::mt19937_64& random,
                window_owner& owner)
        : plan_(p), series_(series), random_(random), owner_(owner) {}

    void begin(const load_order& order);
    void end(nanos at);

    const load_order& order() const { return order_; }
    bool loading() const { return loading_; }
    // Whether requests may be begun.
    bool sending() const { return loading_ && !sending_stopped_; }
    // The next moment to call advance() at, also when nothing happens; samples can wait.
    nanos next_edge() const { return next_edge_; }

    // Time has come to `t`: passes all edges and sampling moments up to it. Call it before the
    // counts change.
    void advance(nanos t) {
        if (t >= next_event_) [[unlikely]]
            pass_events(t);
    }

    // ---- requests and replies ----

    std::uint64_t in_flight() const { return in_flight_; }
    void count_begun() { ++tally_.sent; }
    void stamped() { ++in_flight_; }
    void right_reply(nanos sent_at, nanos at) {
        --in_flight_;
        ++tally_.ok;
        tally_.last_done = at;
        latencies_.record(static_cast<std::uint64_t>(at > sent_at ? at - sent_at : 0));
    }
    // To `count` requests that were sent together; not 0.
    void right_replies(nanos sent_at, nanos at, std::uint64_t count) {
        in_flight_ -= count;
        tally_.ok += count;
        tally_.last_done = at;
        latencies_.record(static_cast<std::uint64_t>(at > sent_at ? at - sent_at : 0), count);
    }
    // Of the requests that were in flight `flying` are not any more, and `count` count.
    // They were in flight for `spent` together.
    void wrong_replies(error_kind kind, std::uint64_t count, std::uint64_t flying, nanos at,
                       nanos spent) {
        in_flight_ -= flying;
        tally_.errors[kind] += count;
        tally_.more_in_flight += static_cast<double>(spent);
        tally_.last_done = at;
    }
    // Open loop: the reply to a request that was due before the window.
    void uncounted_reply() { --in_flight_; }
    // Open loop: a right reply, `late` if after the deadline.
    void scheduled_reply(nanos latency, nanos at, bool late) {
        --in_flight_;
        tally_.last_done = at;
        // Late ones are errors, and their latency is kept all the same: without them the tail would
        // end where it gets interesting.
        latencies_.record(static_cast<std::uint64_t>(latency));
        if (late) {
            ++tally_.errors[error_kind::deadline];
        } else {
            ++tally_.ok;
        }
    }
    // Open loop: the request was due at `due` and will not be sent any more. `missed`: since the
    // generator came too late for it.
    void never_sent(nanos due, nanos now, bool missed);
    // These requests will get no reply any more.
    void unanswered(std::uint64_t count, nanos now) {
        tally_.errors[error_kind::read_timeout] += count;
        tally_.last_done = now;
    }

    // ---- bytes, statuses, connections ----

    // Grows with whatever is done for connections.
    std::uint64_t work_done() const {
        return tally_.bytes_in + tally_.bytes_out + tally_.connections_opened;
    }
    void count_connection() { ++tally_.connections_opened; }
    // Bytes that came at `at`: time has come to it, as for the replies in them.
    void count_in(std::size_t bytes, nanos at) {
        advance(at);
        tally_.bytes_in += bytes;
    }
    void count_out(std::size_t bytes) { tally_.bytes_out += bytes; }
    void count_payload_in(std::size_t bytes) { tally_.payload_in += bytes; }
    void count_payload_out(std::size_t bytes, bool compressed) {
        tally_.payload_out += bytes;
        if (compressed) ++tally_.sent_compressed;
    }
    void count_status(int status, std::uint64_t times = 1) {
        // A status line has three digits, and the first is not 0.
        tally_.statuses[static_cast<std::size_t>(status - 100)] += times;
    }
    // Of a rotation: for each of its requests apart.
    void count_request(const prepared_request& r, bool right) {
        if (plan_.only != nullptr) [[likely]]
            return;
        if (tally_.by_request.empty()) tally_.by_request.resize(plan_.requests.size());
        request_counts& counts = tally_.by_request[r.index];
        ++(right ? counts.right : counts.wrong);
    }

    broadcast_counts& broadcasts() { return tally_.broadcast; }

    bool wants_report() const { return !tally_.first_error; }
    void report(error_report&& first, nanos at) {
        tally_.first_error = std::move(first);
        tally_.first_error_at = at;
    }

    const tally& result() const { return result_; }
    // Right replies since the start, inside windows and outside.
    std::uint64_t answered() const { return answered_ + tally_.ok; }

private:
    void pass_events(nanos t);
    void open(nanos at);
    void forget();
    nanos until_next_sample();
    void submit_interval();
    flight in_flight_at(nanos at) const;

    const plan& plan_;
    series_collector& series_;
    std::mt19937_64& random_;
    window_owner& owner_;

    load_order order_;
    bool loading_ = false;
    bool sending_stopped_ = false;
    bool window_open_ = false;
    bool draining_ = false;  // with the window open
    nanos next_event_ = never;
    nanos next_edge_ = never;
    nanos next_sample_ = never;
    std::size_t interval_ = 0;
    std::uint64_t ok_before_ = 0;  // at the start of the interval
    std::uint64_t errors_before_ = 0;
    nanos interval_end_ = never;
    std::uint64_t in_before_drain_ = 0;  // bytes
    std::uint64_t out_before_drain_ = 0;
    std::uint64_t opened_before_drain_ = 0;  // connections
    std::uint64_t in_flight_ = 0;
    std::uint64_t answered_ = 0;  // before the present tally
    tally tally_;
    tally result_;
    histogram latencies_;  // of the present interval
};

}  // namespace wireload
