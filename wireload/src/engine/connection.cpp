#include "engine/connection.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "engine/pacer.hpp"

namespace wireload {
namespace {

// Appended to a socket's buffer at a time: large requests leave in pieces, so that waiting
// connections hold little.
constexpr std::size_t chunk_bytes = 16 * 1024;

// After a failure: 10 ms, doubled with each further one in a row, so that a server that refuses or
// closes is asked again often enough to see it recover, and never in a busy loop.
constexpr nanos first_delay = 10'000'000;
constexpr nanos longest_delay = 1'000'000'000;
// Failures in a row after which a connection counts as broken; when all are, the run ends. With the
// delays above some three seconds of refusals. A time-out counts for several: it has cost seconds
// already.
constexpr std::uint8_t broken_after = 10;
constexpr std::uint8_t timeout_weight = 4;

error_kind connect_kind(wire::errc code) {
    if (code == wire::errc::refused) return error_kind::connect_refused;
    if (code == wire::errc::timed_out) return error_kind::connect_timeout;
    return error_kind::connect_failed;
}

}  // namespace

connection::connection(worker& w, std::uint32_t number, nanos* times)
    : worker_(w), times_(times != nullptr ? times : &time_), number_(number) {}

void connection::open() {
    since_ = clock_now();
    phase_ = phase::connecting;
    worker_.connecting();
    const auto& [url, server] = worker_.the_plan().target_of(number_);
    if (url.secure()) {
        auto tls = worker_.the_plan().tls->connect(url.host, url.port);
        if (!tls) {
            fail(error_kind::tls, tls.error().message);
            return;
        }
        set_filter(*std::move(tls));
    }
    // A port that we chose may be taken by somebody else, or not be free yet: try the next ones. A
    // try costs some 3 us.
    constexpr int most_tries = 20'000;
    for (int tries = 1;; ++tries) {
        const auto begun = connect(worker_.loop(), server, worker_.connect_options(server));
        if (begun) return;
        if (begun.error().code == wire::errc::address_in_use && worker_.the_plan().choose_ports &&
            tries < most_tries)
            continue;
        fail(connect_kind(begun.error().code), begun.error().message);
        return;
    }
}

void connection::begin_load(std::uint64_t quota) {
    quota_ = quota;
    finished_ = in_line_ = false;
    const bool reachable =
        phase_ == phase::open || worker_.may_reconnect() || !worker_.the_plan().asked.keep_alive;
    if (reachable) {
        worker_.due(*this);
    } else {
        finish();
    }
}

void connection::finish() {
    if (finished_ || worker_.pacing() != nullptr) return;
    finished_ = true;
    if (worker_.closes_finished()) say_goodbye();
    worker_.finished();
}

void connection::serve_due() {
    due_ = false;
    if (!worker_.loading()) return;
    if (worker_.pacing() != nullptr) {
        serve_open_loop();
        return;
    }
    if (phase_ == phase::open) {
        if (unsent() == 0) send_some();
        return;
    }
    if (phase_ != phase::idle || finished_) return;
    if (!worker_.take_turn(*this)) {
        finish();
        return;
    }
    if (worker_.the_plan().asked.keep_alive) {
        owed_ = true;
    } else {
        const nanos now = clock_now();
        worker_.advance(now);
        stamp(now);
        to_write_ = true;
    }
    open();
}

void connection::serve_retry() {
    since_ = worker_.iteration_time();
    if (phase_ == phase::idle && !finished_) worker_.due(*this);
}

void connection::on_connected() {
    phase_ = phase::securing;
    step_at_ = clock_now();
    worker_.tcp_opened(step_at_ - since_);
}

void connection::on_open() {
    if (filter() == nullptr) {
        worker_.tcp_opened(clock_now() - since_);
    } else {
        // What open() gave it.
        worker_.tls_opened(clock_now() - step_at_,
                           static_cast<const wire::tls::connection*>(filter())->info());
    }
    step_at_ = worker_.the_plan().asked.websocket ? clock_now() : 0;
    begin_session();
}

void connection::session_ready() {
    const nanos now = clock_now();
    notes_arrivals_ = worker_.pacing() != nullptr && note_arrivals();
    if (phase_ == phase::handshaking) worker_.upgraded(now - step_at_);
    phase_ = phase::open;
    step_at_ = 0;
    worker_.session_opened(now - since_, now);
    since_ = now;
    if (worker_.loading()) worker_.due(*this);
}

void connection::on_drained() {
    since_ = worker_.iteration_time();
    if (phase_ == phase::open) worker_.due(*this);
}

void connection::stamp(nanos now) {
    ++sent_;
    ++open_;
    ++flying_;
    times_[sent_ & ring_mask()] = now;
    worker_.stamped();
    if (pacer* const p = worker_.pacing()) scheduled(sent_) = p->begun(now, lag(sent_));
}

bool connection::take_request(nanos now) {
    if (to_write_) {
        to_write_ = false;
        if (!worker_.the_plan().asked.keep_alive) step_at_ = now;
        return true;
    }
    if (flying_ >= worker_.in_flight_limit() || times_[(sent_ + 1) & ring_mask()] != 0)
        return false;
    if (owed_) {
        owed_ = false;
    } else if (finished_ || !worker_.take_turn(*this)) {
        if (flying_ == 0) finish();
        return false;
    }
    stamp(now);
    return true;
}

void connection::send_some() {
    bool more = true;
    while (more && unsent() == 0) {
        const nanos now = clock_now();
        worker_.advance(now);
        if (offset_ == 0 && !take_request(now)) return;
        wire::buffer& bytes = out();
        do {
            const std::size_t room = chunk_bytes - std::min(chunk_bytes - 1, bytes.size());
            offset_ = append_request(bytes, sent_, offset_, room);
        } while (bytes.size() < chunk_bytes && (offset_ != 0 || take_request(now)));
        more = bytes.size() >= chunk_bytes;
        worker_.count_out(bytes.size());
        if (!flush()) return;  // on_failure() follows
    }
}

nanos connection::reply_time(std::size_t bytes_read, bool continued) const {
    if (notes_arrivals_) return to_nanos(arrival());
    // Beyond it the last bytes may be younger than the turn.
    constexpr std::size_t one_arrival = 16 * 1024;
    return continued || ring_mask() != 0 || bytes_read > one_arrival ? clock_now()
                                                                     : worker_.iteration_time();
}

void connection::answered(std::uint64_t counter, nanos at) {
    worker_.advance(at);
    nanos& slot = times_[counter & ring_mask()];
    if (worker_.pacing() == nullptr) {
        worker_.right_reply(slot, at);
    } else {
        answered_on_schedule(counter, at);
    }
    slot = 0;
    note_done(counter);
    since_ = at;
    if (failures_ != 0) recovered();
}

void connection::answered_wrongly(std::uint64_t counter, nanos at, error_kind kind,
                                  std::string_view received, std::string_view expected) {
    worker_.advance(at);
    const bool counts = is_counted(counter);
    if (counts) report(kind, counter, at, received, expected);
    worker_.wrong_replies(kind, counts ? 1 : 0, 1, at, at - times_[counter & ring_mask()]);
    times_[counter & ring_mask()] = 0;
    note_done(counter);
    since_ = at;
    if (failures_ != 0) recovered();  // it does answer
}

void connection::answered_on_schedule(std::uint64_t counter, nanos at) {
    const nanos due = scheduled(counter);
    const nanos latency = std::max<nanos>(0, at - due - lag(counter));
    if (worker_.right_reply_on_schedule(due, latency, times_[counter & ring_mask()], at)) {
        report(error_kind::deadline, counter, at,
               fmt::format("a right answer, {} after the request was due",
                           format_duration(static_cast<double>(latency))));
    }
}

void connection::recovered() {
    if (failures_ >= broken_after) worker_.mended();
    failures_ = 0;
}

void connection::first_byte_came() {
    worker_.first_byte_came(std::max<nanos>(0, worker_.iteration_time() - step_at_));
    step_at_ = 0;
}

bool connection::may_stay() {
    const options& asked = worker_.the_plan().asked;
    return asked.keep_alive || ++served_ < asked.per_connection;
}

void connection::next_request(bool keep) {
    if (keep) {
        worker_.due(*this);
    } else if (flying_ != 0) {
        fail(error_kind::closed_early,
             "a reply that closes the connection before the requests behind it were answered",
             false);
    } else {
        if (worker_.the_plan().asked.websocket) {
            append_goodbye(out());
            (void)flush();
        }
        back_to_idle(false);
        worker_.due(*this);
    }
}

void connection::back_to_idle(bool reset) {
    if (phase_ == phase::open) worker_.session_closed();
    close(reset);
    phase_ = phase::idle;
    offset_ = 0;
    served_ = 0;
    to_write_ = false;
    forget();
}

void connection::on_failure(const wire::error& why) {
    if (phase_ == phase::idle) return;
    fail(phase_ == phase::connecting                                       ? connect_kind(why.code)
         : phase_ == phase::securing || why.code == wire::errc::tls_failed ? error_kind::tls
         : phase_ == phase::handshaking ? error_kind::connect_failed
                                        : error_kind::closed_early,
         why.message);
}

void connection::fail(error_kind kind, std::string_view received, bool reset) {
    const nanos now = clock_now();
    worker_.advance(now);
    const bool opening = is_opening();
    if (worker_.opening_phase()) {
        if (opening) {
            report(kind, sent_ + 1, now, received);
            back_to_idle(reset);
            worker_.open_failed(kind);
        } else {
            back_to_idle(reset);
        }
        return;
    }
    std::uint64_t lost = flying_ + (owed_ ? 1U : 0U);
    if (worker_.idling()) {
        lost = 1;  // the connection itself
    } else if (pacer* const p = worker_.pacing()) {
        lost = measured_in_flight();
        // A request waits for this connection; one that the server closed while there was nothing
        // to send harms nobody.
        if (opening && flying_ == 0 && p->lose_waiting(now)) lost = 1;
    } else if (lost == 0 && !finished_ && worker_.take_turn(*this)) {
        lost = 1;  // nothing in flight, but a request was about to leave: that one is lost
    }
    if (lost != 0) report(kind, flying_ != 0 ? oldest() : sent_ + 1, now, received);
    if (lost != 0 || flying_ != 0) {
        flight spent;
        add_in_flight(now, now, spent);
        worker_.wrong_replies(kind, lost, flying_, now, static_cast<nanos>(spent.age_sum));
    }
    if (flying_ != 0) std::fill_n(times_, std::size_t{ring_mask()} + 1, 0);
    flying_ = 0;
    owed_ = false;
    open_ = 0;
    back_to_idle(reset);
    if (!worker_.loading() || finished_) return;
    if (!worker_.may_reconnect()) {
        finish();
        return;
    }
    const bool was_broken = failures_ >= broken_after;
    const bool waited = kind == error_kind::read_timeout || kind == error_kind::connect_timeout;
    failures_ = static_cast<std::uint8_t>(std::min(200, failures_ + (waited ? timeout_weight : 1)));
    if (!was_broken && failures_ >= broken_after) worker_.broke();
    worker_.retry_later(*this, std::min(longest_delay, first_delay << std::min(failures_ - 1, 10)));
}

nanos connection::check_deadline(nanos now) {
    const nanos timeout = worker_.the_plan().asked.timeout.count();
    const bool opening = is_opening();
    nanos since = never;
    if (opening) {
        since = since_;
    } else if (flying_ != 0) {
        for (std::uint32_t i = 0; i <= ring_mask(); ++i) {
            if (times_[i] != 0) since = std::min(since, times_[i]);
        }
    }
    if (since == never) return never;
    if (since + timeout > now) return since + timeout;
    fail(opening ? error_kind::connect_timeout : error_kind::read_timeout,
         fmt::format("nothing complete within {}", format_duration(static_cast<double>(timeout))));
    return never;
}

void connection::say_goodbye() {
    if (phase_ == phase::open && unsent() == 0) {
        append_goodbye(out());
        (void)flush();
    }
    back_to_idle(false);
}

void connection::add_in_flight(nanos at, nanos long_ago, flight& out) const {
    if (flying_ == 0) return;
    out.count += flying_;
    for (std::uint32_t i = 0; i <= ring_mask(); ++i) {
        if (times_[i] == 0) continue;
        const nanos age = std::max<nanos>(0, at - times_[i]);
        out.age_sum += static_cast<double>(age);
        out.oldest = std::max(out.oldest, age);
        if (times_[i] < long_ago) ++out.starved;
    }
}

// ---- open loop ----

bool connection::is_scheduled_in_window(std::uint64_t counter) {
    return worker_.pacing()->is_measured(scheduled(counter));
}

bool connection::can_take_request() const {
    if (!worker_.the_plan().asked.keep_alive) return phase_ == phase::idle;
    return phase_ == phase::open && offset_ == 0 && unsent() == 0 &&
           flying_ < worker_.in_flight_limit() && times_[(sent_ + 1) & ring_mask()] == 0;
}

void connection::offer(nanos since) {
    if (in_line_ || finished_ || !worker_.loading() || !can_take_request()) return;
    in_line_ = true;
    worker_.pacing()->free(*this, since);
}

bool connection::taken_from_line() {
    in_line_ = false;
    return can_take_request();
}

void connection::serve_open_loop() {
    if (phase_ == phase::open) {
        if (unsent() == 0 && (offset_ != 0 || to_write_)) send_some();
    } else if (phase_ == phase::idle && !finished_ && worker_.the_plan().asked.keep_alive) {
        open();
    }
    offer(since_);
}

void connection::send_granted() {
    if (phase_ == phase::open) {
        send_some();
        return;
    }
    (void)worker_.pacing()->take_grant();
    const nanos now = clock_now();
    worker_.advance(now);
    if (!worker_.loading()) return;
    stamp(now);
    to_write_ = true;
    open();
}

std::uint64_t connection::measured_in_flight() const {
    std::uint64_t n = 0;
    for (std::uint32_t i = 0; i <= ring_mask(); ++i) {
        if (times_[i] != 0 && worker_.pacing()->is_measured(times_[ring_mask() + 1 + i])) ++n;
    }
    return n;
}

void connection::report(error_kind kind, std::uint64_t counter, nanos at, std::string_view received,
                        std::string_view expected) {
    if (!worker_.wants_report()) return;
    error_report first{kind, {}, {}, printable(received)};
    if (is_opening()) {
        first.sent = phase_ == phase::connecting ? "a connection request"
                     : phase_ == phase::securing ? "a TLS handshake"
                                                 : "an opening handshake";
        first.sent += " to " + worker_.the_plan().target_of(number_).server.to_string();
        first.expected = "an open connection";
    } else if (worker_.idling()) {
        first.sent = "nothing";
        first.expected = "a connection that stays open";
    } else {
        first.sent = printable(sent_text(counter));
        first.expected = expected.empty() ? expected_text(counter) : std::string(expected);
    }
    worker_.report(std::move(first), at);
}

}  // namespace wireload
