// One connection slot: opens a socket, keeps it busy, opens another when it is lost. The protocols
// derive from it.
//
//            open()            connected            TLS done             session_ready()
//   idle ------------> connecting -----> securing -------> handshaking ------------> open
//    ^                     |                |                   |                      |
//    +---------------------+----------------+-------------------+----------------------+
//        back_to_idle(): fail(), a reply that closes, the end of the run
//
// Without TLS `securing` is passed over, and for http `handshaking` as well. After fail() the slot
// waits for its delay (retry_queue.hpp), 10 ms to 1 s, unless the load is over for it.
//
// A request is owed (may be begun, but the connection is not open), begun (its time runs), in
// flight, and answered. The worker's slab owns the slots; all of it belongs to the worker's thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/connection_host.hpp"
#include "measure/tally.hpp"
#include "wire/loop/stream.hpp"

namespace wireload {

class connection : public wire::stream {
public:
    // `number`: among all connections of the run. `times`: a ring of connection_host::ring_mask() +
    // 1 numbers that outlives the connection, and in an open loop twice as many again; null for one
    // in flight in a closed loop.
    connection(connection_host& host, std::uint32_t number, nanos* times);

    // Opens without a request in mind (the connect phase).
    void open();
    bool is_idle() const { return phase_ == phase::idle; }
    // Begun, and not open yet.
    bool is_opening() const { return phase_ >= phase::connecting && phase_ <= phase::handshaking; }

    void begin_load(std::uint64_t quota);
    // At the end of an iteration: sends what may be sent, opening the connection first where that
    // is needed.
    void serve_due();
    void serve_retry();
    // Fails what has waited too long. Returns the moment at which to look again.
    nanos check_deadline(nanos now);
    // At the end of the run.
    void say_goodbye();
    // Adds its requests in flight at `at`, in a window that began at `start`, to `out`.
    void add_in_flight(nanos at, nanos start, flight& out) const;

    // ---- broadcast, see publisher.hpp ----

    bool is_subscribed() const { return phase_ == phase::open; }
    // A message was sent at `now` that this connection is to get.
    void await_broadcast(nanos now) {
        host_.window().count_begun();
        stamp(now);
    }

    // ---- open loop, see open_loop_gate.hpp ----

    // Gets in line for a request if it can take one and does not stand there already.
    void offer(nanos since);
    // It has left the line. Whether it can still take a request.
    bool taken_from_line();
    // Begins the request that was granted.
    void send_granted();
    // Those in flight that count.
    std::uint64_t measured_in_flight() const;
    // The load is over at `now`: what is in flight gets no reply any more.
    void give_up_unanswered(nanos now);

protected:
    // Securing: TLS.
    enum class phase : std::uint8_t { idle, connecting, securing, handshaking, open };

    // ---- what a protocol adds ----

    // The socket is connected, the TLS handshake complete. Calls session_ready() at once or after
    // its handshake.
    virtual void begin_session() = 0;
    // Appends request `counter` from byte `offset` on, about `most` bytes; returns the offset
    // reached, 0 when complete.
    virtual std::size_t append_request(wire::buffer& out, std::uint64_t counter, std::size_t offset,
                                       std::size_t most) = 0;
    // Text that outlives the run, and of which every `each` bytes are a request.
    struct repeated_text {
        std::string_view bytes;
        std::size_t each = 0;  // 0: there is none
    };
    // Request `counter` and what may follow it, where that is always the same.
    virtual repeated_text lasting_text(std::uint64_t) const { return {}; }
    // For a report.
    virtual std::string sent_text(std::uint64_t counter) const = 0;
    virtual std::string expected_text(std::uint64_t counter) const = 0;
    // The socket is gone: forget what had come half.
    virtual void forget() = 0;
    // Bytes to end a session with, if any.
    virtual void append_goodbye(wire::buffer&) {}

    // ---- what a protocol calls ----

    void session_ready();
    void enter_handshake() { phase_ = phase::handshaking; }
    bool is_handshaking() const { return phase_ == phase::handshaking; }
    // Bytes of a reply are there.
    void reply_begins() {
        if (step_at_ != 0) [[unlikely]]
            first_byte_came();
    }
    // After a reply: whether the next request goes on this connection, as far as that is ours to
    // say.
    bool may_stay();
    // When a reply that is complete with the present read arrived; with none, by the connection's
    // end.
    nanos reply_time(std::size_t bytes_read, bool continued) const;

    std::uint32_t number() const { return number_; }
    std::uint32_t in_flight() const { return flying_; }
    // The oldest in flight; with replies out of order some other one may be meant. Precondition:
    // in_flight() != 0.
    std::uint64_t oldest() const { return sent_ - open_ + 1; }
    bool is_in_flight(std::uint64_t counter) const {
        return counter <= sent_ && sent_ - counter <= ring_mask() &&
               times_[counter & ring_mask()] != 0;
    }
    // The counters in flight lie within this distance of the oldest.
    std::uint32_t ring_mask() const { return host_.ring_mask(); }
    // Whether what happens to request `counter` counts: in an open loop not, when it was due before
    // the window.
    bool is_counted(std::uint64_t counter) {
        return host_.gate() == nullptr || is_scheduled_in_window(counter);
    }
    // Request `counter` was answered rightly or wrongly; the connection goes on.
    void answered(std::uint64_t counter, nanos at);
    // So many, the oldest in flight, were answered rightly; not 0. More than one where
    // alike_at_most() says so, and replies come in order.
    void answered_oldest(std::uint32_t count, nanos at);
    // How many replies in a row may be told together. In an open loop each has a schedule.
    std::uint32_t alike_at_most() const {
        return host_.gate() == nullptr || flying_ == 0 ? flying_ : 1;
    }
    // `expected`: for the report, if more is known than expected_text() says.
    void answered_wrongly(std::uint64_t counter, nanos at, error_kind kind,
                          std::string_view received, std::string_view expected = {});
    // A message came that nothing called for.
    void came_unasked(nanos at, std::string_view received, std::string_view expected);
    // After the reply: the next request, on this socket or a new one.
    void next_request(bool keep);
    // Appends the rest of a request that is half written, so that a frame may follow it.
    void finish_writing();
    // Closes the connection: all requests in flight failed.
    void fail(error_kind kind, std::string_view received, bool reset = true);

private:
    // There may be 200,000 of these: sizes and order matter. The small ones lie in what the base
    // leaves of its last word.
    phase phase_ = phase::idle;
    std::uint8_t failures_ = 0;  // in a row
    bool due_ = false;
    bool in_line_ : 1 = false;
    bool pausing_ : 1 = false;  // after a failure, until serve_retry()
    bool finished_ : 1 = true;
    // A request may be begun that is not yet: it waits for the connection.
    bool owed_ : 1 = false;
    bool to_write_ : 1 = false;  // begun (its latency includes connecting), not written yet
    bool lost_ : 1 = false;      // was open, and ended while there was no load

protected:
    // Of permessage-deflate: the window that the server allows, 8 to 15; 0: it was not agreed on.
    // Here because there is room.
    std::uint8_t agreed_bits_ : 4 = 0;
    connection_host& host_;

private:
    void on_connected() final;
    void on_open() final;
    void on_failure(const wire::error& why) final;
    void on_drained() final;

    // Request `counter` has left its slot.
    void note_done(std::uint64_t counter) {
        --flying_;
        if (counter != oldest()) return;
        do {
            --open_;
        } while (open_ != 0 && times_[oldest() & ring_mask()] == 0);
    }
    void first_byte_came();
    // Gets in line to be served at the end of the iteration.
    void become_due() {
        if (!std::exchange(due_, true)) host_.due(*this);
    }
    // Whether may_begin() may still say so.
    bool has_more() const;
    // Whether one more request may be begun; it then must.
    bool may_begin();
    // It was lost before this load, which does not open it again.
    void count_as_lost();
    // The connection is lost: what it waited for is. Returns how many errors that is.
    std::uint64_t lose_broadcasts();
    // Requests in flight are about to be answered or lost.
    void release(nanos at);
    void send_some();
    void send_goodbye();
    void finish();
    void recovered();
    bool take_request(nanos now);
    void stamp(nanos now);
    void back_to_idle(bool reset);
    void report(error_kind kind, std::uint64_t counter, nanos at, std::string_view received,
                std::string_view expected = {});

    bool can_take_request() const;
    bool is_scheduled_in_window(std::uint64_t counter);
    void serve_open_loop();
    // When request n was due, in an open loop.
    nanos& scheduled(std::uint64_t n) { return times_[ring_mask() + 1 + (n & ring_mask())]; }
    // How much later than possible it left, in an open loop.
    nanos& lag(std::uint64_t n) { return times_[2 * (ring_mask() + 1) + (n & ring_mask())]; }
    // By how much lateness displaced it.
    nanos& displacement(std::uint64_t n) {
        return times_[3 * (ring_mask() + 1) + (n & ring_mask())];
    }
    void answered_on_schedule(std::uint64_t counter, nanos at);

    nanos* times_;  // when request n was sent, at n & ring_mask(); 0: not in flight
    nanos time_ = 0;
    // Counter of the last request begun; never starts anew, so that no late reply fits.
    std::uint64_t sent_ = 0;
    std::uint64_t quota_ = 0;
    nanos since_ = 0;  // connecting since; later, since when it could send again
    // When the present step of opening began; without keep-alive, when the first request was sent;
    // 0: neither.
    nanos step_at_ = 0;
    std::uint32_t number_;
    std::uint32_t open_ = 0;    // requests from the oldest in flight to the last begun
    std::uint32_t flying_ = 0;  // those of them that are in flight
    std::uint32_t offset_ = 0;  // of the request that is half written
    std::uint32_t served_ = 0;  // replies on this socket, counted without keep-alive
};

}  // namespace wireload
