#include "engine/connection.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/printable.hpp"

namespace wireload {
namespace {

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

connection::connection(connection_host& host, std::uint32_t number, nanos* times)
    : host_(host), times_(times != nullptr ? times : &time_), number_(number) {}

void connection::open() {
    pausing_ = lost_ = false;
    since_ = clock_now();
    phase_ = phase::connecting;
    host_.meter().connecting();
    const target& to = host_.the_plan().target_of(number_);
    if (to.url.secure()) {
        auto tls = host_.the_plan().tls->connect(to.url.host, to.url.port);
        if (!tls) {
            fail(error_kind::tls, tls.error().message);
            return;
        }
        set_filter(*std::move(tls));
    }
    // A port that we chose may be taken by somebody else, or not be free yet: try the next ones,
    // all of them if need be, since what a run of many connections took is not free for a minute. A
    // try costs some 3 us.
    const plan& p = host_.the_plan();
    const std::uint64_t most_tries = p.sources.size() * std::uint64_t{p.ports.size()};
    for (std::uint64_t tries = 1;; ++tries) {
        const auto begun = connect(host_.loop(), to.server, host_.connect_options(to.server));
        if (begun) return;
        if (begun.error().code == wire::errc::address_in_use && p.choose_ports &&
            tries < most_tries)
            continue;
        fail(connect_kind(begun.error().code), begun.error().message);
        return;
    }
}

void connection::begin_load(std::uint64_t quota) {
    quota_ = quota;
    finished_ = in_line_ = pausing_ = false;
    const bool reachable =
        phase_ == phase::open || host_.may_reconnect() || !host_.the_plan().asked.keep_alive;
    if (reachable) {
        become_due();
    } else {
        if (lost_) count_as_lost();
        finish();
    }
}

void connection::count_as_lost() {
    const nanos now = clock_now();
    if (host_.wants_report())
        host_.report({error_kind::closed_early, "nothing yet", "a connection that stays open",
                      "the connection's end before its first message"},
                     now);
    host_.window().wrong_replies(error_kind::closed_early, 1, 0, now, 0);
}

void connection::finish() {
    if (finished_ || host_.gate() != nullptr) return;
    finished_ = true;
    if (host_.closes_finished()) {
        recovered();  // it is not waited for, whether it worked or not
        say_goodbye();
    }
    host_.finished();
}

void connection::serve_due() {
    due_ = false;
    // It may have become due by a reply right before it failed.
    if (!host_.loading() || pausing_) return;
    if (host_.gate() != nullptr) {
        serve_open_loop();
        return;
    }
    if (phase_ == phase::open) {
        if (unsent() == 0) {
            send_some();
        } else if (flying_ == 0 && !has_more()) {
            finish();  // with a request that was answered before all of it had left
        }
        return;
    }
    if (phase_ != phase::idle || finished_) return;
    const nanos now = clock_now();
    host_.window().advance(now);
    if (!may_begin()) {
        finish();
        return;
    }
    if (host_.the_plan().asked.keep_alive) {
        owed_ = true;
    } else {
        stamp(now);
        to_write_ = true;
    }
    open();
}

void connection::serve_retry() {
    pausing_ = false;
    since_ = host_.iteration_time();
    if (phase_ == phase::idle && !finished_) become_due();
}

void connection::on_connected() {
    phase_ = phase::securing;
    step_at_ = clock_now();
    host_.window().advance(step_at_);
    host_.meter().tcp_opened(step_at_ - since_);
}

void connection::on_open() {
    const nanos now = clock_now();
    host_.window().advance(now);
    if (filter() == nullptr) {
        host_.meter().tcp_opened(now - since_);
    } else {
        // What open() gave it.
        host_.meter().tls_opened(now - step_at_,
                                 static_cast<const wire::tls::connection*>(filter())->info());
    }
    step_at_ = host_.the_plan().asked.websocket ? now : 0;
    begin_session();
}

void connection::session_ready() {
    const nanos now = clock_now();
    host_.window().advance(now);
    if (phase_ == phase::handshaking) host_.meter().upgraded(now - step_at_);
    phase_ = phase::open;
    step_at_ = 0;
    // With a request in flight, as without keep-alive, it is that which waits.
    if (open_loop_gate* const gate = host_.gate(); gate != nullptr && flying_ == 0)
        gate->note_absence(since_, now);
    host_.session_opened(now - since_, now);
    since_ = now;
    if (host_.loading()) become_due();
}

void connection::on_drained() {
    since_ = host_.iteration_time();
    if (phase_ == phase::open) become_due();
}

void connection::stamp(nanos now) {
    ++sent_;
    ++open_;
    ++flying_;
    times_[sent_ & ring_mask()] = now;
    host_.window().stamped();
    if (open_loop_gate* const gate = host_.gate())
        scheduled(sent_) = gate->begun(now, lag(sent_), displacement(sent_));
}

bool connection::has_more() const {
    return owed_ || (host_.window().sending() && !host_.quota().is_used_up(quota_));
}

bool connection::may_begin() {
    load_window& window = host_.window();
    if (!window.sending()) return false;
    if (open_loop_gate* const gate = host_.gate()) return gate->take_grant();
    if (!host_.quota().take(quota_)) return false;
    window.count_begun();
    return true;
}

bool connection::take_request(nanos now) {
    if (to_write_) {
        to_write_ = false;
        if (!host_.the_plan().asked.keep_alive) step_at_ = now;
        return true;
    }
    if (flying_ >= host_.in_flight_limit() || times_[(sent_ + 1) & ring_mask()] != 0) return false;
    if (owed_) {
        owed_ = false;
    } else if (finished_ || !may_begin()) {
        if (flying_ == 0) finish();
        return false;
    }
    stamp(now);
    return true;
}

void connection::send_some() {
    bool more = true;
    while (more && unsent() == 0) {
        const nanos now = host_.sending_time();
        host_.window().advance(now);
        if (offset_ == 0) {
            if (!take_request(now)) return;
            if (const repeated_text text = lasting_text(sent_); text.each != 0) {
                std::size_t size = text.each;
                while (size < text.bytes.size() && take_request(now)) size += text.each;
                more = size == text.bytes.size() && flying_ < host_.in_flight_limit();
                host_.window().count_out(size);
                if (!send_lasting(text.bytes.substr(0, size))) return;  // on_failure() follows
                continue;
            }
        }
        wire::buffer& bytes = out();
        do {
            const std::size_t room = send_bytes - std::min(send_bytes - 1, bytes.size());
            offset_ = append_request(bytes, sent_, offset_, room);
        } while (bytes.size() < send_bytes && (offset_ != 0 || take_request(now)));
        more = bytes.size() >= send_bytes;
        host_.window().count_out(bytes.size());
        if (!flush()) return;  // on_failure() follows
    }
}

void connection::finish_writing() {
    wire::buffer& bytes = out();
    const std::size_t before = bytes.size();
    while (offset_ != 0) offset_ = append_request(bytes, sent_, offset_, send_bytes);
    host_.window().count_out(bytes.size() - before);
}

nanos connection::reply_time(std::size_t bytes_read, bool continued) const {
    // The kernel stamps bytes, and not the end of a connection.
    if (host_.gate() != nullptr && bytes_read != 0) return to_nanos(arrival());
    // What io_uring gives was received before the iteration took its events.
    if (host_.the_plan().engine == wire::loop_engine::io_uring) return host_.iteration_time();
    // Beyond it the last bytes may be younger than the iteration.
    constexpr std::size_t one_arrival = 16 * 1024;
    return continued || ring_mask() != 0 || bytes_read > one_arrival ? clock_now()
                                                                     : host_.iteration_time();
}

void connection::answered(std::uint64_t counter, nanos at) {
    host_.window().advance(at);
    nanos& slot = times_[counter & ring_mask()];
    if (host_.gate() == nullptr) {
        host_.window().right_reply(slot, at);
    } else {
        answered_on_schedule(counter, at);
    }
    slot = 0;
    note_done(counter);
    since_ = at;
    if (failures_ != 0) recovered();
}

void connection::answered_oldest(std::uint32_t count, nanos at) {
    if (count == 1) {
        answered(oldest(), at);
        return;
    }
    host_.window().advance(at);
    std::uint64_t next = oldest();
    flying_ -= count;
    open_ -= count;
    while (count != 0) {
        // Those that were written together have one time.
        const nanos sent_at = times_[next & ring_mask()];
        std::uint32_t same = 0;
        do {
            times_[next++ & ring_mask()] = 0;
        } while (++same < count && times_[next & ring_mask()] == sent_at);
        host_.window().right_replies(sent_at, at, same);
        count -= same;
    }
    since_ = at;
    if (failures_ != 0) recovered();
}

void connection::answered_wrongly(std::uint64_t counter, nanos at, error_kind kind,
                                  std::string_view received, std::string_view expected) {
    host_.window().advance(at);
    const bool counts = is_counted(counter);
    if (counts) report(kind, counter, at, received, expected);
    release(at);
    host_.window().wrong_replies(kind, counts ? 1 : 0, 1, at, at - times_[counter & ring_mask()]);
    times_[counter & ring_mask()] = 0;
    note_done(counter);
    since_ = at;
    if (failures_ != 0) recovered();  // it does answer
}

void connection::recovered() {
    if (failures_ >= broken_after) host_.mended();
    failures_ = 0;
}

void connection::first_byte_came() {
    host_.meter().first_byte_came(std::max<nanos>(0, host_.iteration_time() - step_at_));
    step_at_ = 0;
}

bool connection::may_stay() {
    const options& asked = host_.the_plan().asked;
    return asked.keep_alive || ++served_ < asked.per_connection;
}

void connection::next_request(bool keep) {
    if (keep) {
        become_due();
    } else if (flying_ != 0) {
        fail(error_kind::closed_early,
             "a reply that closes the connection before the requests behind it were answered",
             false);
    } else {
        if (host_.the_plan().asked.websocket) send_goodbye();
        back_to_idle(false);
        become_due();
    }
}

void connection::back_to_idle(bool reset) {
    if (phase_ == phase::open) host_.session_closed();
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
    host_.window().advance(now);
    const bool opening = is_opening();
    lost_ = !opening && !host_.loading();
    if (host_.in_opening_phase()) {
        if (opening) {
            report(kind, sent_ + 1, now, received);
            back_to_idle(reset);
            host_.open_failed(kind);
        } else {
            back_to_idle(reset);
        }
        return;
    }
    std::uint64_t lost = flying_ + (owed_ ? 1U : 0U);
    if (host_.idling()) {
        lost = 1;  // the connection itself
    } else if (host_.broadcasts() != nullptr) {
        lost = lose_broadcasts();
    } else if (open_loop_gate* const gate = host_.gate()) {
        lost = measured_in_flight();
        // With nothing in flight: one that is being opened has a request that waits for it. What
        // answers none is an error by itself. One that the server closed harms nobody.
        const bool unasked = kind == error_kind::protocol || kind == error_kind::bad_body;
        if (flying_ == 0 && (opening ? gate->lose_waiting(now) : unasked)) lost = 1;
    } else if (lost == 0 && !finished_ && may_begin()) {
        lost = 1;  // nothing in flight, but a request was about to leave: that one is lost
    }
    if (lost != 0) report(kind, flying_ != 0 ? oldest() : sent_ + 1, now, received);
    if (lost != 0 || flying_ != 0) {
        flight spent;
        add_in_flight(now, now, spent);
        release(now);
        host_.window().wrong_replies(kind, lost, flying_, now, static_cast<nanos>(spent.age_sum));
    }
    // Servers close what nobody uses. One that was open for longer than any pause works, and that
    // it was closed is no failure in a row.
    if (!opening && lost == 0 && flying_ == 0 && now - since_ > longest_delay) recovered();
    if (flying_ != 0) std::fill_n(times_, std::size_t{ring_mask()} + 1, 0);
    flying_ = 0;
    owed_ = false;
    open_ = 0;
    back_to_idle(reset);
    if (!host_.loading() || finished_) return;
    if (!host_.may_reconnect() || !has_more()) {
        finish();
        return;
    }
    const bool was_broken = failures_ >= broken_after;
    const bool waited = kind == error_kind::read_timeout || kind == error_kind::connect_timeout;
    failures_ = static_cast<std::uint8_t>(std::min(200, failures_ + (waited ? timeout_weight : 1)));
    if (!was_broken && failures_ >= broken_after) host_.broke();
    pausing_ = true;
    const nanos delay = std::min(longest_delay, first_delay << std::min(failures_ - 1, 10));
    if (open_loop_gate* const gate = host_.gate())
        gate->note_absence(opening ? since_ : now, now + delay);
    host_.retry_later(*this, delay);
}

nanos connection::check_deadline(nanos now) {
    const nanos timeout = host_.the_plan().asked.timeout.count();
    const bool opening = is_opening();
    nanos since = never;
    if (opening) {
        since = since_;
    } else if (flying_ != 0) {
        for (std::uint32_t i = 0; i <= ring_mask(); ++i) {
            if (times_[i] != 0) since = std::min(since, times_[i]);
        }
    } else if (!finished_ && !in_line_ && (offset_ != 0 || unsent() != 0)) {
        since = since_;  // answered before all of it was sent, and the rest is not taken
    }
    if (since == never) return never;
    if (since + timeout > now) return since + timeout;
    fail(opening ? error_kind::connect_timeout : error_kind::read_timeout,
         fmt::format("{} within {}",
                     opening || flying_ != 0
                         ? "nothing complete"
                         : "no room for the rest of a request that was answered already",
                     format_duration(static_cast<double>(timeout))));
    return never;
}

void connection::say_goodbye() {
    if (phase_ == phase::open && unsent() == 0) send_goodbye();
    back_to_idle(false);
}

void connection::send_goodbye() {
    wire::buffer& bytes = out();
    const std::size_t before = bytes.size();
    append_goodbye(bytes);
    host_.window().count_out(bytes.size() - before);
    (void)flush();
}

void connection::add_in_flight(nanos at, nanos start, flight& out) const {
    if (flying_ == 0) return;
    out.count += flying_;
    const nanos half = at - (at - start) / 2;
    bool silent = sent_ == flying_;  // no reply yet to any request
    for (std::uint32_t i = 0; i <= ring_mask(); ++i) {
        if (times_[i] == 0) continue;
        const nanos age = std::max<nanos>(0, at - times_[i]);
        out.age_sum += static_cast<double>(age);
        out.oldest = std::max(out.oldest, age);
        if (times_[i] < half) ++out.starved;
        silent = silent || times_[i] < start;
    }
    if (silent) ++out.silent;
}

void connection::report(error_kind kind, std::uint64_t counter, nanos at, std::string_view received,
                        std::string_view expected) {
    if (!host_.wants_report()) return;
    error_report first{kind, {}, {}, printable(received)};
    if (is_opening()) {
        first.sent = phase_ == phase::connecting ? "a connection request"
                     : phase_ == phase::securing ? "a TLS handshake"
                                                 : "an opening handshake";
        first.sent += " to " + host_.the_plan().target_of(number_).server.to_string();
        first.expected = "an open connection";
    } else if (host_.idling()) {
        first.sent = "nothing";
        first.expected = "a connection that stays open";
    } else {
        first.sent = printable(sent_text(counter));
        first.expected = expected.empty() ? expected_text(counter) : std::string(expected);
    }
    host_.report(std::move(first), at);
}

}  // namespace wireload
