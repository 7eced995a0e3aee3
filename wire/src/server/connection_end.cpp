// How a connection ends: in order after its last response, by a refusal, a time limit, the server's
// stop or a failure. connection.cpp has the states; lingering is the last of them.
#include <string>

#include "connection.hpp"
#include "proto/char_tables.hpp"
#include "worker.hpp"

namespace wire::http::detail {

// ---- at once ----

void connection::drop(bool reset) {
    if (is_closed()) return;
    worker& w = *worker_;
    if (!consuming_) w.loop().pool().reclaim(held_);
    // An end in order would make such a body look whole.
    if (answering() && current_->out != nullptr && current_->out->how == framing::until_close)
        reset = true;
    w.loop().disarm(timer_);
    close(reset);
    abandon(errc::closed_early);
    if (session_ != nullptr) session_->lost();
    w.defer(*this);
}

void connection::before_failure(stream_filter& filter, const error& why) {
    if (phase_ == phase::securing)
        handshake_failed(why.code, why.message, static_cast<tls::connection&>(filter).alert());
}

// Once for each connection.
void connection::handshake_failed(errc code, std::string_view reason,
                                  wire::tls::handshake_alert alert) {
    phase_ = phase::idle;
    worker_->report({peer_.get(), code, reason, alert});
}

void connection::on_failure(const error& why) {
    if (phase_ == phase::securing) handshake_failed(why.code, why.message, {});
    // The stream is closed already, as drop() would leave it.
    worker_->loop().pool().reclaim(held_);
    worker_->loop().disarm(timer_);
    abandon(errc::closed_early);
    if (session_ != nullptr) session_->lost();
    worker_->defer(*this);
}

// ---- in order ----

// A peer that asked for the end sends nothing after it: the socket can go as soon as the reply is
// out. Any other may be sending; closing on it would make the kernel drop the reply (RFC 9112
// section 9.6). So may one with TLS, whose own notice of the end comes when it likes.
void connection::close_gracefully(bool at_once) {
    enter(phase::lingering);
    if (at_once && filter() == nullptr && flush() && unsent() == 0) {
        drop();
        return;
    }
    shutdown_write();
}

// ---- refusals ----

namespace {

// Whether a request of which `head` is the beginning has the method HEAD. The empty line that may
// precede it counts for nothing.
bool is_head_request(std::string_view head) noexcept {
    if (head.starts_with("\r\n")) head.remove_prefix(2);
    return head.starts_with("HEAD") && head.size() > 4 && !is_token_char(head[4]);
}

}  // namespace

void connection::refuse(errc why, std::string_view head) {
    if (observer* const o = worker_->observer(); o != nullptr) o->failed(why);
    refuse(why, status_for(why), std::string(to_string(why)) + "\n", head);
}

void connection::refuse(errc why, int status, std::string_view text, std::string_view head) {
    if (answering()) {
        cut_off(why);  // a response has begun
        return;
    }
    const bool was_head =
        current_ != nullptr ? current_->req.head_.method == method::head : is_head_request(head);
    // Not left there as the spare one: on_finished may send a response of another connection, whose
    // next request is then parsed.
    worker_->spare();
    exchange& e = *worker_->take_spare();
    e.fail(status, text);
    // The request may not have been understood at all: it must not shape the reply.
    e.req.head_.method = was_head ? method::head : method::get;
    e.req.head_.minor_version = 1;
    write_response(e, false, framing::length, e.body.size());
    if (current_ != nullptr) {
        abandon(why, &e);
    } else {
        observe(nullptr, e, status);
    }
    worker_->recycle(&e);
    if (!is_closed()) close_gracefully(false);
}

// ---- time limits ----

// Which of the limits has passed.
timeout_phase connection::timeout() const noexcept {
    if (unsent() > 0) return timeout_phase::write;
    if (tunnelling()) return timeout_phase::idle;
    switch (phase_) {
    case phase::securing: return timeout_phase::handshake;
    case phase::head: return timeout_phase::head;
    case phase::body: return timeout_phase::body;
    case phase::handling: return timeout_phase::handler;
    default: return timeout_phase::idle;
    }
}

void connection::on_timer() {
    if (is_closed()) return;
    // What was written in this loop iteration has not been sent yet, and has not waited either,
    // however long ago the last was sent.
    if (unsent() > 0 && write_due() <= worker_->loop().now() && !flush()) return;
    const time_point at = unsent() > 0 ? write_due() : phase_due();
    if (at > worker_->loop().now()) {
        worker_->loop().arm(timer_, at);
        return;
    }
    if (observer* const o = worker_->observer(); o != nullptr) o->timed_out(timeout());
    if (phase_ == phase::securing)
        handshake_failed(errc::timed_out, "TLS handshake: timed out", {});
    if (unsent() > 0) {
        drop(true);
    } else if (phase_ == phase::head || phase_ == phase::body) {
        refuse(errc::timed_out, held_.view());
        settle();
    } else if (phase_ == phase::handling) {
        refuse(errc::timed_out, 503, {});
        settle();
    } else {
        drop();
    }
}

// ---- the server's stop ----

void connection::drain() {
    if (phase_ == phase::websocket) {
        session_->close(ws::close_code::going_away);
    } else if (phase_ == phase::securing) {
        enter(phase_);
        settle();  // by a shorter time limit
    } else if (phase_ == phase::idle) {
        // Its first request may be on the way; or the next, where the last response is leaving or
        // has just gone, or a request is here already.
        const bool busy =
            unsent() > 0 || !held_.empty() || worker_->loop().now() - since_ < worker::last_request;
        if (!fresh_ && !busy && quiet()) return drop();
        enter(phase_);
        settle();
    }
}

}  // namespace wire::http::detail
