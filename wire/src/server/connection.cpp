#include "connection.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "wire/proto/ws_handshake.hpp"
#include "worker.hpp"

namespace wire::http::detail {

connection::connection(worker& w) noexcept : worker_(&w), parser_(w.limits()) {}

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

void connection::drop(bool reset) {
    if (is_closed()) return;
    worker& w = *worker_;
    w.loop().pool().reclaim(held_);
    w.loop().disarm(timer_);
    close(reset);
    if (current_ != nullptr) std::exchange(current_, nullptr)->from = nullptr;
    if (session_ != nullptr) session_->lost();
    w.bury(*this);
}

void connection::on_failure(const error&) {
    // The stream is closed already, as drop() would leave it.
    if (current_ != nullptr) std::exchange(current_, nullptr)->from = nullptr;
    if (session_ != nullptr) session_->lost();
    worker_->loop().pool().reclaim(held_);
    worker_->loop().disarm(timer_);
    worker_->bury(*this);
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
    settle();
}

void connection::consume_held() {
    if (held_.empty() || phase_ == phase::handling || is_closed()) return;
    held_.consume(consume(held_.bytes()));
    if (held_.empty() && !is_closed()) worker_->loop().pool().reclaim(held_);
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
        if (phase_ == phase::handling || congested()) break;
        if (phase_ == phase::websocket) {
            at += session_->receive(bytes.subspan(at));
            break;
        }
        request_head& head = current_ != nullptr ? current_->req.head_ : worker_->spare().req.head_;
        const step s = parser_.parse({bytes.data() + at, bytes.size() - at}, head);
        at += s.consumed;
        if (s.what == event::need_more) {
            if (current_ != nullptr) {
                enter(phase::body);
            } else if (phase_ == phase::idle && !parser_.between_messages()) {
                enter(phase::head);
            }
            break;
        }
        switch (s.what) {
            case event::head:
                take_head({bytes.data() + at - s.consumed, s.consumed});
                // Whoever waits for this before sending the body has sent nothing more (RFC 9110 section 10.1.1).
                if (current_->req.head_.expects_continue && at == bytes.size()) write("HTTP/1.1 100 Continue\r\n\r\n");
                break;
            case event::body: current_->req.body_.append(s.data); break;
            case event::end: dispatch(); break;
            case event::error: refuse(s.error); break;
            default: break;
        }
    }
    consuming_ = false;
    return at;
}

void connection::take_head(std::string_view raw) {
    current_ = worker_->take_spare();
    current_->from = this;
    current_->req.keep(raw);
}

void connection::dispatch() {
    enter(phase::handling);
    worker_->handle(response(current_));
}

void connection::on_end() {
    peer_ended_ = true;
    consume_held();
    settle();
}

// After anything that may have changed what the connection waits for.
void connection::settle() {
    if (is_closed()) return;
    if (peer_ended_ && phase_ != phase::handling) {
        // Replies under way still go out; nothing else can come in.
        if ((flush() && unsent() == 0) || phase_ == phase::websocket) {
            drop();
            return;
        }
        if (phase_ != phase::lingering) enter(phase::lingering);
    }
    const bool waiting = phase_ == phase::handling || unsent() > worker_->limits().max_unsent_bytes;
    if (waiting && held_.size() > worker_->limits().max_unsent_bytes) {
        pause_reading();
    } else if (!reading()) {
        resume_reading();
    }
    // What is unsent will most often have gone by the end of the turn: only the timer itself looks at that.
    worker_->loop().arm(timer_, unsent() > 0 ? std::min(phase_due(), write_due()) : phase_due());
}

// ---- responding ----

namespace {

char* put(char* to, std::string_view text) noexcept {
    return static_cast<char*>(std::memcpy(to, text.data(), text.size())) + text.size();
}

// Responses that have no body, nor fields that speak of one (RFC 9110 sections 8.6 and 15).
bool is_bodiless(int status) noexcept { return status == 204 || status == 304; }

}  // namespace

void connection::write_response(exchange& e, bool keep_alive) {
    if (e.refused) e.fail(500);
    const bool bodiless = is_bodiless(e.status);
    const std::string_view reason = reason_phrase(e.status);
    const std::string_view common = worker_->common_fields();
    constexpr std::size_t fixed = 192;  // more than all constant parts together
    const std::size_t most = fixed + reason.size() + common.size() + e.fields.size() + e.body.size();
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
    if (!e.has_type && !e.body.empty() && !bodiless) p = put(p, "Content-Type: text/plain; charset=utf-8\r\n");
    if (!bodiless) {
        p = put(p, "Content-Length: ");
        p = std::to_chars(p, p + 20, e.body.size()).ptr;
        p = put(p, "\r\n");
    }
    if (!keep_alive) {
        p = put(p, "Connection: close\r\n");
    } else if (e.req.head_.minor_version == 0) {
        p = put(p, "Connection: keep-alive\r\n");
    }
    p = put(p, "\r\n");
    if (!bodiless && e.req.head_.method != method::head && !e.body.empty()) p = put(p, e.body);
    to.commit(static_cast<std::size_t>(p - begin));
    flush_later();
}

void connection::respond(exchange& e) {
    const bool upgraded = e.open && start_websocket(e);
    if (!upgraded) {
        const bool asked_to_close = !e.req.head_.keep_alive;
        const bool keep_alive = !asked_to_close && !e.close && !worker_->draining();
        write_response(e, keep_alive);
        current_ = nullptr;
        enter(phase::idle);
        if (!keep_alive) close_gracefully(asked_to_close);
    } else {
        current_ = nullptr;
    }
    worker_->recycle(&e);
    if (!consuming_ && !is_closed()) {
        consume_held();
        settle();
    }
}

// A peer that asked for the end sends nothing after it: the socket can go as soon as the reply is out. Any other may be sending; closing
// on it would make the kernel drop the reply (RFC 9112 section 9.6).
void connection::close_gracefully(bool at_once) {
    enter(phase::lingering);
    if (at_once && flush() && unsent() == 0) {
        drop();
        return;
    }
    shutdown_write();
}

void connection::refuse(errc why) {
    exchange& e = current_ != nullptr ? *current_ : worker_->spare();
    e.fail(status_for(why), std::string(to_string(why)) + "\n");
    // What was understood of the request may be nothing: it must not shape the reply.
    const request_head& head = e.req.head_;
    const bool was_head = current_ != nullptr && head.method == method::head;
    e.req.head_.method = was_head ? method::head : method::get;
    e.req.head_.minor_version = 1;
    write_response(e, false);
    e.clear();
    if (current_ != nullptr) worker_->recycle(std::exchange(current_, nullptr));
    close_gracefully(false);
}

bool connection::start_websocket(exchange& e) {
    const ws::upgrade_check check = ws::check_upgrade_request(e.req.head_);
    if (!check.wanted || check.error != errc::none) {
        e.fail(check.wanted ? check.refusal : 426, "This is a WebSocket.\n");
        if (e.status == 426) e.fields += "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
        return false;
    }
    // Cannot fail: the key is Base64.
    [[maybe_unused]] const errc written = ws::write_upgrade_response(out(), check.key);
    flush_later();
    enter(phase::websocket);
    session_.reset(new ws::session(ws::role::server, *this, *this, worker_->limits()));
    e.open(*session_, e.req);
    if (worker_->draining()) session_->close(ws::close_code::going_away);
    return true;
}

void connection::session_finished() {
    if (is_closed()) return;
    close_gracefully(false);
    if (!consuming_) settle();
}

void connection::on_drained() {
    last_write_ = worker_->loop().now();
    if (phase_ == phase::lingering || phase_ == phase::idle) since_ = last_write_;
    if (phase_ == phase::websocket) session_->drained();
    consume_held();
    settle();
}

// ---- time ----

void connection::enter(phase p) noexcept {
    phase_ = p;
    since_ = worker_->loop().now();
}

void connection::before_send() { last_write_ = worker_->loop().now(); }

time_point connection::phase_due() const noexcept {
    const wire::limits& l = worker_->limits();
    switch (phase_) {
        case phase::idle: return since_ + l.idle_timeout;
        case phase::securing:
        case phase::head: return since_ + l.header_timeout;
        case phase::body: return since_ + l.body_timeout;
        case phase::lingering: return since_ + l.close_timeout;
        case phase::handling:
        case phase::websocket: break;
    }
    return worker_->loop().now() + l.write_timeout;  // not at all; only to look whether writing has stalled
}

time_point connection::write_due() const noexcept { return last_write_ + worker_->limits().write_timeout; }

void connection::on_timer() {
    if (is_closed()) return;
    const time_point at = unsent() > 0 ? write_due() : phase_due();
    if (at > worker_->loop().now()) {
        worker_->loop().arm(timer_, at);
    } else if (unsent() > 0) {
        drop(true);
    } else if (phase_ == phase::head || phase_ == phase::body) {
        refuse(errc::timed_out);
        settle();
    } else {
        drop();
    }
}

void connection::drain() {
    if (phase_ == phase::websocket) {
        session_->close(ws::close_code::going_away);
    } else if (phase_ == phase::securing) {
        drop();
    } else if (phase_ == phase::idle && unsent() == 0 && held_.empty()) {
        drop();
    } else if (phase_ == phase::idle) {
        close_gracefully(false);
        settle();
    }
}

}  // namespace wire::http::detail
