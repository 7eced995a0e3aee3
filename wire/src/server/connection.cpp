// One connection of a server: its states, receiving, and responses whose body is there whole.
// connection_body.cpp has bodies in pieces, connection_file.cpp files, tunnel.cpp tunnels, whose
// directions are two such bodies, connection_websocket.cpp the change to a WebSocket, and
// connection_end.cpp how all of it ends. What each request runs through is here, in one file:
// compilers inline what they see.
//
//   phase      waits for                      entered when                        time limit
//   securing   the TLS handshake              accepted, with TLS                  header_timeout
//   idle       a request's first byte         accepted, or TLS complete, or the   idle_timeout
//                                             last response written
//   head       the rest of its head           its first byte came                 header_timeout
//   body       the rest of its body           the head came, more is announced    body_timeout,
//                                                                                 min_body_rate
//   handling   the handler's response, or     the request is complete             handler_timeout
//              the rest of a response's body
//   lingering  the peer to close, so that it  the last response is written, or    close_timeout
//              has read all (RFC 9112, 9.6)   the request was refused
//   websocket  the session's end              101 is written                      the session's own
//
// In each of them, bytes that the peer does not take end the connection after write_timeout, or,
// where it goes on taking some, when it is slower than min_send_rate.
//
//   request    on_data() -> consume() -> take_head(), pieces of the body, end -> dispatch()
//              -> the handler
//   response   send() -> exchange::deliver() -> respond() -> write_response()
//              -> finish_response() -> idle, then the next request if it is here already (held_)
//   refusal    a parser's error or a time limit -> refuse() -> lingering
//   end        drop() (ours) or on_failure() (the stream's) -> worker::defer() -> destroyed at the
//              end of the loop iteration
//
// A handler that reads its body as it comes is called in `body`, and may answer there: the rest of
// the body is then not waited for. Requests are handled one at a time; those sent ahead wait in
// held_, and reading pauses when they are more than limits::max_unsent_bytes.
//
// Owners: the worker owns the connection; the connection owns its session and, while no response
// holds it, its exchange (current_). Thread: the loop's, for everything here.
#include "connection.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/bought_time.hpp"
#include "worker.hpp"

namespace wire::http::detail {

namespace {

// What no handler may answer, whatever it says of it; errc::none for the rest.
errc unfit(const received_request& r, const worker& w) noexcept {
    const std::string_view target = r.target();
    if (target.front() == '/') return errc::none;
    // Without tunnels, what follows may not be HTTP all the same (RFC 9110 section 9.3.6): no
    // handler may answer 2xx by mistake.
    if (r.method() == method::connect)
        return w.tunnels(r.head_) ? errc::none : errc::unsupported_method;
    // RFC 9110 section 7.4, unless a trusted proxy says that the client's connection was secured.
    const bool is_https = target.size() > 5 && equals_ignoring_case(target.substr(0, 6), "https:");
    if (is_https && r.client_scheme() != "https") return errc::insecure_request;
    return errc::none;
}

}  // namespace

connection::connection(worker& w, const address& peer, const address* proxy)
    : worker_(&w), parser_(w.limits()), peer_(peer, proxy) {}

connection::~connection() = default;

void connection::begin(list& l) {
    next_ = l.first;
    if (next_ != nullptr) next_->previous_ = this;
    l.first = this;
    last_write_ = worker_->loop().now();
    enter(filter() != nullptr ? phase::securing : phase::idle);
    settle();
}

void connection::on_open() {
    enter(phase::idle);
    settle();
}

void connection::unlink(list& l) noexcept {
    if (next_ != nullptr) next_->previous_ = previous_;
    (previous_ != nullptr ? previous_->next_ : l.first) = next_;
    next_ = previous_ = nullptr;
}

// ---- receiving ----

void connection::on_data(std::span<char> bytes) {
    if (phase_ == phase::lingering) return;
    if (held_.empty() && phase_ != phase::handling && !congested()) {
        const std::size_t used = consume(bytes);
        if (is_closed()) return;
        bytes = bytes.subspan(used);
        if (!bytes.empty()) {
            worker_->loop().pool().lend(held_);
            held_.append({bytes.data(), bytes.size()});
        }
    } else {
        held_.append({bytes.data(), bytes.size()});
        consume_held();
    }
    // Many answers leave at once, while they are in the cache; few leave with those of all other
    // connections.
    if (unsent() > worker_->loop().pool().block_bytes()) flush();
    settle();
}

void connection::consume_held() {
    // A body's end comes after its last byte, which may have been the one to be waited for.
    const bool nothing =
        held_.empty() && (phase_ != phase::body || current_ == nullptr || current_->in == nullptr);
    if (nothing || consuming_ || phase_ == phase::handling || is_closed()) return;
    const std::size_t used = consume(held_.bytes());
    if (is_closed()) return;
    held_.consume(used);
    if (held_.empty()) worker_->loop().pool().reclaim(held_);
}

// Whether the bytes are a tunnel's, in both directions: from its 2xx to the end of what is sent.
bool connection::tunnelling() const noexcept {
    return current_ != nullptr && !current_->held && current_->tunnel != nullptr;
}

// Whether the peer must first take what it has been sent.
bool connection::congested() noexcept {
    const std::size_t most = worker_->limits().max_unsent_bytes;
    return unsent() > most && (!flush() || unsent() > most);
}

// Goes through the bytes as far as it can; returns how many were used up.
std::size_t connection::consume(std::span<char> bytes) {
    std::size_t at = 0;
    consuming_ = true;
    while (!is_closed()) {
        if (phase_ == phase::lingering) {
            at = bytes.size();
            break;
        }
        if (phase_ == phase::handling || stalled()) break;
        if (tunnelling()) {  // one direction does not wait for the other
            const std::string_view piece(bytes.data() + at, bytes.size() - at);
            since_ = worker_->loop().now();
            current_->bytes_in += piece.size();
            if (!piece.empty()) take_piece(piece);
            at = bytes.size();
            break;
        }
        if (congested()) break;
        if (phase_ == phase::websocket) {
            const std::size_t used = session_->receive(bytes.subspan(at));
            if (current_ != nullptr) current_->bytes_in += used;
            at += used;
            break;
        }
        request_head& head = current_ != nullptr ? current_->req.head_ : worker_->spare().req.head_;
        const step s = parser_.parse({bytes.data() + at, bytes.size() - at}, head);
        at += s.consumed;
        if (s.what == event::need_more) {
            if (current_ != nullptr) {
                if (!bytes.empty()) enter(phase::body);
            } else if (phase_ == phase::idle && !parser_.between_messages()) {
                enter(phase::head);
            }
            break;
        }
        switch (s.what) {
        case event::head:
            take_head({bytes.data() + at - s.consumed, s.consumed});
            if (const errc why = unfit(current_->req, *worker_); why != errc::none) {
                refuse(why);
                break;
            }
            if (current_->req.head_.framing != framing::none) begin_body(at == bytes.size());
            break;
        case event::body:
            current_->bytes_in += s.data.size();
            current_->body_bytes += s.data.size();
            if (current_->in == nullptr) {
                current_->req.body_.append(s.data);
            } else {
                take_piece(s.data);
            }
            break;
        case event::trailer:
            current_->bytes_in += s.data.size();
            current_->req.keep_trailer(s.data);
            break;
        case event::end:
            if (current_->in == nullptr) {
                dispatch(phase::handling);
            } else {
                take_body_end();
            }
            break;
        case event::error: refuse(s.error, {bytes.data() + at, bytes.size() - at}); break;
        default: break;
        }
    }
    consuming_ = false;
    return at;
}

void connection::take_head(std::string_view raw) {
    fresh_ = false;
    if (!is_full()) {  // else the peer is still taking earlier responses
        waited_ = {};
        taken_before_ = taken();
    }
    current_ = worker_->take_spare();
    current_->from = this;
    current_->req.keep(raw);
    current_->req.peer_ = peer();
    if (peer_.proxied()) current_->req.proxied_by_ = peer_.proxy();
    if (worker_->believes_fields()) worker_->read_fields(current_->req);
    // A server's filters are all made by its tls::server_context.
    if (filter() != nullptr)
        current_->req.keep(static_cast<const tls::connection*>(filter())->info());
    current_->bytes_in = raw.size();
    if (observer* const o = worker_->observer(); o != nullptr) o->begin(*current_);
}

void connection::dispatch(phase p) {
    enter(p);
    current_->held = true;
    worker_->handle(response_access::holding(current_));
}

void connection::on_end() {
    peer_ended_ = true;
    consume_held();
    settle();
}

// After anything that may have changed what the connection waits for.
void connection::settle() {
    if (is_closed()) return;
    const bool stalls = stalled();
    const bool full = unsent() > worker_->limits().max_unsent_bytes;
    // Bytes received before the end may still have to wait: a body for its reader, further requests
    // and messages until the peer has taken earlier replies.
    const bool takes = phase_ == phase::idle || phase_ == phase::head || phase_ == phase::body ||
                       phase_ == phase::websocket;
    const bool waits = takes && (stalls || full) && (!held_.empty() || parser_.body_is_whole());
    if (peer_ended_ && tunnelling() && phase_ == phase::body) {
        if (!stalls && held_.empty()) {
            take_body_end();
            return settle();
        }
    } else if (peer_ended_ && phase_ != phase::handling && !waits) {
        // Replies under way still go out; nothing else can come in.
        if ((flush() && unsent() == 0) || phase_ == phase::websocket || answering()) {
            drop();
            return;
        }
        abandon(errc::closed_early);
        if (phase_ != phase::lingering) enter(phase::lingering);
    }
    if (phase_ == phase::body && current_ != nullptr) hold_back(stalls || full);
    const bool waiting = phase_ == phase::handling || full;
    if (stalls || (waiting && held_.size() > worker_->limits().max_unsent_bytes)) {
        pause_reading();
    } else if (!reading()) {
        resume_reading();
    }
    // What is unsent will most often have gone by the end of the loop iteration: only the timer
    // itself looks at that.
    worker_->loop().arm(timer_, unsent() > 0 ? std::min(phase_due(), write_due()) : phase_due());
}

// ---- responding ----

namespace {

char* put(char* to, std::string_view text) noexcept {
    return static_cast<char*>(std::memcpy(to, text.data(), text.size())) + text.size();
}

}  // namespace

// Writes the head, and the body when it is there whole.
void connection::write_response(exchange& e, bool keep_alive, framing how, std::uint64_t length) {
    const bool bodiless = is_bodiless(e.status);
    const std::string_view reason = reason_phrase(e.status);
    std::string_view common = worker_->common_fields();
    if (e.has_server) common = common.substr(0, worker::date_field_bytes);
    constexpr std::size_t fixed = 192;  // more than all constant parts together
    const std::size_t most =
        fixed + reason.size() + common.size() + e.fields.size() + e.body.size();
    buffer& to = out();
    char* const begin = to.prepare(most).data();
    char* p = begin;
    if (e.status == 200) {
        p = put(p, "HTTP/1.1 200 OK\r\n");
    } else {
        p = put(p, "HTTP/1.1 ");
        p = std::to_chars(p, p + 3, e.status).ptr;
        *p++ = ' ';
        if (!reason.empty()) p = put(p, reason);
        p = put(p, "\r\n");
    }
    p = put(p, common);
    if (!e.fields.empty()) p = put(p, e.fields);
    const bool has_body = !bodiless && (how != framing::length || length != 0);
    if (!e.has_type && has_body) p = put(p, "Content-Type: text/plain; charset=utf-8\r\n");
    if (bodiless) {
        // Neither has any.
    } else if (how == framing::length) {
        p = put(p, "Content-Length: ");
        p = std::to_chars(p, p + 20, length).ptr;
        p = put(p, "\r\n");
    } else if (how == framing::chunked) {
        p = put(p, "Transfer-Encoding: chunked\r\n");
    }
    if (!keep_alive) {
        p = put(p, "Connection: close\r\n");
    } else if (e.req.head_.minor_version == 0) {
        p = put(p, "Connection: keep-alive\r\n");
    }
    p = put(p, "\r\n");
    e.head_bytes_out += static_cast<std::uint64_t>(p - begin);
    if (!bodiless && e.req.head_.method != method::head && !e.body.empty()) p = put(p, e.body);
    e.bytes_out += static_cast<std::uint64_t>(p - begin);  // interim responses may be counted
    to.commit(static_cast<std::size_t>(p - begin));
    flush_later();
}

void connection::respond(exchange& e) {
    if (e.open && start_websocket(e)) {
        if (worker_->observer() == nullptr) {  // who is told at the end of the connection
            current_ = nullptr;
            worker_->recycle(&e);
        }
        go_on();
        return;
    }
    const bool connects = e.req.head_.method == method::connect;
    if (connects && e.tunnel == nullptr && e.status < 300) e.fail(501);
    // A body that is not wanted any more is not waited for.
    const bool received = phase_ == phase::handling;
    const bool asked_to_close = !e.req.head_.keep_alive;
    // The peer of a CONNECT may have sent what is not HTTP.
    const bool keep_alive = !asked_to_close && !e.close && !worker_->draining() && !connects;
    if (e.refused) e.fail(500);
    if (e.tunnel != nullptr && !e.instead) {
        e.tunnel(*this, e);
        return;
    }
    if (e.status == 205) {  // has no content (RFC 9110 section 15.3.6)
        e.body.clear();
        e.file = nullptr;
        e.out_length = 0;  // of what is written, if it comes in pieces
    }
    if (e.out != nullptr && !e.instead) {
        begin_streaming(e, keep_alive);
        return;
    }
    if (e.file != nullptr && !e.instead) {
        begin_file(e, keep_alive && received);
        return;
    }
    write_response(e, keep_alive && received, framing::length, e.body.size());
    finish_response(e, keep_alive && received, asked_to_close && received);
}

// The response is in out(), whole.
void connection::finish_response(exchange& e, bool keep_alive, bool at_once) {
    current_ = nullptr;
    const auto in = std::move(e.in);
    const auto out = std::move(e.out);
    // First: on_finished may still use the reader.
    if (in != nullptr) in->forget();
    observe(&e, e, e.status);
    enter(phase::idle);
    if (!keep_alive) close_gracefully(at_once);
    worker_->recycle(&e);
    if (out != nullptr) out->lost();
    go_on();
}

void connection::go_on() {
    if (consuming_ || is_closed()) return;
    consume_held();
    settle();
}

void connection::observe(const exchange* asked, const exchange& answer, int status) {
    if (observer* const o = worker_->observer(); o != nullptr)
        o->finish(asked, answer, status, peer());
}

void connection::on_drained() {
    note_waiting();
    if (phase_ == phase::lingering || phase_ == phase::idle) since_ = last_write_;
    if (phase_ == phase::websocket) {
        // First what came while it was full: its user may fill it again, each time.
        consume_held();
        if (phase_ == phase::websocket && !is_closed() && !congested()) session_->drained();
    } else if (answering()) {
        if (current_->out != nullptr) {
            current_->out->drained();
        } else {
            pump_file();
        }
    }
    consume_held();
    settle();
}

// ---- time ----

void connection::enter(phase p) noexcept {
    phase_ = p;
    since_ = worker_->loop().now();
}

// Bytes are handed to the kernel, or have gone.
void connection::before_send() {
    if (is_full()) {
        note_waiting();
    } else {
        last_write_ = worker_->loop().now();
    }
}

void connection::note_waiting() noexcept {
    const time_point now = worker_->loop().now();
    waited_ += now - last_write_;
    last_write_ = now;
}

time_point connection::phase_due() const noexcept {
    const wire::limits& l = worker_->limits();
    if (tunnelling()) return std::max(since_, last_write_) + l.idle_timeout;
    switch (phase_) {
    case phase::idle: return since_ + (worker_->draining() ? worker::last_request : l.idle_timeout);
    case phase::securing:
        return since_ + (worker_->draining() ? worker::last_request : l.header_timeout);
    case phase::head: return since_ + l.header_timeout;
    case phase::body:
        if (!stalled() && current_ != nullptr) return body_due();
        break;
    case phase::lingering: return since_ + l.close_timeout;
    case phase::handling:
        if (waits_for_handler()) return since_ + l.handler_timeout;
        break;
    case phase::websocket: break;
    }
    // Not at all; only to look whether writing has stalled.
    return worker_->loop().now() + l.write_timeout;
}

// A WebSocket's peer that has said its last word has this time once, however slowly it takes.
time_point connection::write_due() const noexcept {
    const wire::limits& l = worker_->limits();
    const bool once = phase_ == phase::lingering && session_ != nullptr;
    const time_point due = (once ? std::min(since_, last_write_) : last_write_) + l.write_timeout;
    if (l.min_send_rate == 0) return due;
    const time_point now = worker_->loop().now();
    const time_point slow = (is_full() ? last_write_ : now) - waited_ + l.send_rate_grace +
                            wire::detail::bought_time(taken() - taken_before_, l.min_send_rate);
    // What is not known to wait may go at once: that is seen by then.
    constexpr std::chrono::milliseconds soon{10};
    return std::min(due, is_full() ? slow : std::max(slow, now + soon));
}

// Whether the time for it runs: a response that has begun has been given its head.
bool connection::waits_for_handler() const noexcept {
    return worker_->limits().handler_timeout > std::chrono::milliseconds::zero() &&
           current_ != nullptr && current_->held;
}

}  // namespace wire::http::detail
