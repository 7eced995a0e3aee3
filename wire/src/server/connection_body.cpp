// How a connection receives and sends bodies in pieces. body.hpp has the states of a body, and
// connection.cpp those of the connection.
#include <algorithm>
#include <exception>

#include "base/bought_time.hpp"
#include "connection.hpp"
#include "wire/proto/http_writer.hpp"
#include "worker.hpp"

namespace wire::http::detail {

// ---- requests ----

// The head of a request with a body has come; with `peer_waits` nothing after it.
void connection::begin_body(bool peer_waits) {
    current_->body_from = worker_->loop().now();
    const request_head& head = current_->req.head_;
    body_plan plan;
    worker_->exceptions().begin();
    try {
        plan = worker_->plan_body(current_->req);
    } catch (...) {
        refuse(errc::system_error, 500, {});
        worker_->exceptions().caught(std::current_exception(), 0);
        return;
    }
    if (plan.stream) parser_.limit_body(plan.max_bytes);
    const std::uint64_t most = plan.stream ? plan.max_bytes : worker_->limits().max_body_bytes;
    // Empty, or refused by the parser's next step.
    if (head.framing == framing::length && (head.content_length == 0 || head.content_length > most))
        return;
    // A peer that waits for this before sending the body has sent nothing more (RFC 9110 section
    // 10.1.1).
    peer_waits = peer_waits && head.expects_continue;
    if (plan.stream) {
        current_->in = std::make_shared<body_source>(current_->handle);
        current_->in->at = this;
        current_->in->max_bytes = most;
        current_->in->owes_continue = peer_waits;
        dispatch(phase::body);
    } else if (peer_waits) {
        write("HTTP/1.1 100 Continue\r\n\r\n");
    }
}

// Whether a body waits for its reader.
bool connection::stalled() const noexcept {
    return phase_ == phase::body && current_ != nullptr && current_->in != nullptr &&
           current_->in->stalled();
}

// From hold_back(true) to hold_back(false) the server does not read: that time does not count
// against limits::min_body_rate.
void connection::hold_back(bool on) noexcept {
    exchange& e = *current_;
    if (on == e.held_back_since.has_value()) return;
    const time_point now = worker_->loop().now();
    if (on) {
        e.held_back_since = now;
    } else {
        e.body_from += now - *e.held_back_since;
        e.held_back_since.reset();
    }
}

// When more of the body must have come: anything at all, and enough for the average.
time_point connection::body_due() const noexcept {
    const wire::limits& l = worker_->limits();
    const time_point next = since_ + l.body_timeout;
    if (l.min_body_rate == 0 || current_->held_back_since) return next;
    return std::min(next, current_->body_from + l.body_rate_grace +
                              wire::detail::bought_time(current_->body_bytes, l.min_body_rate));
}

// Whether a response has begun that is not in out() whole.
bool connection::answering() const noexcept {
    return current_ != nullptr && !current_->held &&
           (current_->out != nullptr || current_->file != nullptr);
}

void connection::take_piece(std::string_view piece) {
    const auto in = current_->in;
    in->owes_continue = false;
    in->piece(piece);
}

void connection::take_body_end() {
    const auto in = current_->in;
    if (const errc why = in->finish(); why != errc::none) {
        refuse(why);
        return;
    }
    enter(phase::handling);
    in->end(errc::none);
}

void connection::refuse_body(errc why) {
    refuse(why);
    go_on();
}

void connection::body_flow_changed() {
    body_source& in = *current_->in;
    if (!in.stalled()) {
        // Once the final head has gone, an interim one may not follow.
        if (in.owes_continue && !answering()) write("HTTP/1.1 100 Continue\r\n\r\n");
        in.owes_continue = false;
        since_ = worker_->loop().now();
    }
    go_on();
}

// The exchange will not be completed. The body's reader and writer are told why; with errc::none,
// when the handler itself ended the body, they are told nothing.
void connection::abandon(errc why, const exchange* answer) {
    if (current_ == nullptr) return;
    exchange& e = *std::exchange(current_, nullptr);
    if (session_ != nullptr)
        e.bytes_out = std::max(taken(), e.upgraded_at + e.head_bytes_out) - e.upgraded_at;
    // What a response holds is its thread's own, but for a source that was there before it.
    auto in = phase_ == phase::body || !e.held ? e.in : std::shared_ptr<body_source>();
    // First: on_finished may use and destroy what the handler has of this request.
    e.from = nullptr;
    if (in != nullptr) in->at = nullptr;
    if (!e.held && e.out != nullptr) e.out->at = nullptr;
    e.ending = true;
    if (answer != nullptr) {
        observe(&e, *answer, answer->status);
    } else {
        // What a handler has set so far is not sent, and perhaps being set. Nor is there a response
        // before the handler is called.
        const bool begun =
            !e.held && (e.out != nullptr || e.file != nullptr || session_ != nullptr);
        observe(&e, e, begun ? e.status : 0);
    }
    e.ending = false;
    if (!e.held) in = e.in;  // on_finished may have ended what held it
    const auto out = e.held ? std::shared_ptr<body_channel>() : e.out;
    if (!e.held) worker_->recycle(&e);
    if (out != nullptr) out->lost();
    if (in == nullptr) return;
    if (why == errc::none) {
        in->forget();
    } else {
        in->end(why);
    }
}

// ---- responses ----

void connection::send_interim(std::string_view head) {
    current_->bytes_out += head.size();
    current_->head_bytes_out += head.size();
    write(head);
}

void connection::begin_streaming(exchange& e, bool keep_alive) {
    framing how = framing::chunked;
    if (e.out_length) {
        how = framing::length;
    } else if (e.req.head_.minor_version == 0) {
        how = framing::until_close;
        keep_alive = false;
    }
    e.close = !keep_alive;
    e.body.clear();
    const std::uint64_t length = e.out_length.value_or(0);
    write_response(e, keep_alive, how, length);
    if (e.req.head_.method == method::head || is_bodiless(e.status) || e.status == 205) {
        // No peer that takes its time bounds what is written for nobody: a body without an end
        // would hold up the loop for ever.
        const bool received = phase_ == phase::handling;
        finish_response(e, received && keep_alive, received && !e.req.head_.keep_alive);
        return;
    }
    e.out->attach(*this, how, length);
    go_on();
}

void connection::send_piece(body_channel& c, std::string_view piece) {
    if (piece.empty()) return;
    const std::size_t before = out().size();
    if (c.how == framing::length) {
        piece = piece.substr(
            0, static_cast<std::size_t>(std::min<std::uint64_t>(c.left, piece.size())));
        c.left -= piece.size();
    }
    if (c.how == framing::chunked) {
        append_chunk(out(), piece);
    } else {
        out().append(piece);
    }
    current_->bytes_out += out().size() - before;
    flush_later();
}

void connection::end_body(bool complete) {
    exchange& e = *current_;
    const framing how = e.out->how;
    if (how == framing::length && e.out->left > 0) complete = false;
    if (!complete) {
        cut_off(errc::none);
        return;
    }
    if (how == framing::chunked) {
        const std::size_t before = out().size();
        // A recipient that did not ask may not expect any (RFC 9110 section 6.5.1).
        const bool wanted = !e.out->trailer.empty() && e.req.headers().has_token("TE", "trailers");
        append_last_chunk(out(), wanted ? e.out->trailer : std::string_view());
        e.bytes_out += out().size() - before;
    }
    flush_later();
    const bool received = phase_ == phase::handling;
    finish_response(e, received && !e.close, received && !e.req.head_.keep_alive);
}

// The response that has begun cannot be completed, and the peer must not take it for whole.
void connection::cut_off(errc why) {
    const bool looks_whole = current_->out != nullptr && current_->out->how == framing::until_close;
    abandon(why);
    if (looks_whole) {
        flush();
        drop(true);
        return;
    }
    close_gracefully(false);
    go_on();
}

}  // namespace wire::http::detail
