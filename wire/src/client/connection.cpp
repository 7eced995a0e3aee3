// One connection of an HTTP client. Its phases are listed in connection.hpp; here they are in the
// order of a request's life: opening, sending, the body out and in, the response, the end.
// connection_head.cpp writes the heads of requests.
#include "connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "kept_time.hpp"
#include "proto/mended_head.hpp"
#include "proto/rebase.hpp"
#include "reply_access.hpp"

namespace wire::http {

namespace {

using access = detail::reply_access;

// Whether it may share a connection with other requests: it can be sent again, and no callback of
// the caller's can delay the others.
bool can_share(const client_job& job) noexcept {
    return is_idempotent(job.request.method) && job.streamed == nullptr;
}

std::string about(const client_job& job) {
    return std::string(to_string(job.request.method)) + " " + job.request.url + ": ";
}

}  // namespace

client_connection::client_connection(client_owner& owner, client_origin& origin)
    : owner_(&owner), origin_(&origin), parser_(owner.options().limits) {
    if (owner.options().risky_accept_malformed_heads) mended_ = std::make_unique<buffer>();
}

response_head& client_connection::answer() noexcept { return access::head(reply_); }
const response_head& client_connection::answer() const noexcept { return access::head(reply_); }
buffer& client_connection::body() noexcept { return access::body(reply_); }

// ---- opening ----

void client_connection::open(std::unique_ptr<client_job> job) {
    job_ = std::move(job);
    const client_options& o = owner_->options();
    opener_ = std::make_unique<wire::detail::opener>(*this, owner_->opening(), o, job_->timeouts(o),
                                                     o.limits, origin_->to);
    opener_->start([this](result<open_times> how) { opened(std::move(how)); });
}

void client_connection::opened(result<open_times> how) {
    const auto used_up = std::move(opener_);
    job_->proxy_refusal = used_up->refusal();
    if (!how) return fail({how.code(), about(*job_) + how.error().message});
    times_ = *how;
    owner_->opened();
    send_request();
}

void client_connection::on_open() { opener_->on_open(); }

// ---- one request ----

bool client_connection::start(std::unique_ptr<client_job>& job) {
    // A request that may not be sent twice should not be wasted on a connection that the server has
    // closed. Nor may bytes that came while no loop ran, and answer no request (RFC 9112 section
    // 9.2), be taken for the answer to this one: a blocking client looks first, unless the last
    // request ended less than 1 ms ago.
    const bool unwatched =
        owner_->eager() && owner_->loop().now() - idle_since_ > std::chrono::milliseconds(1);
    if ((unwatched || !is_idempotent(job->request.method) || job->request.source) && !quiet())
        return false;
    // No loop may have run to notice.
    if (owner_->loop().now() > idle_until_) return false;
    job_ = std::move(job);
    used_before_ = true;
    send_request();
    return true;
}

bool client_connection::accepts(const client_job& job) const noexcept {
    const client_options& o = owner_->options();
    return can_pipeline_ && !handing_out_ &&
           (phase_ == phase::waiting || (phase_ == phase::body && answer().keep_alive)) &&
           can_share(*job_) && can_share(job) && !job.pipelined && behind() + 1 < o.max_pipelined &&
           unsent() <= o.limits.max_unsent_bytes;
}

bool client_connection::append(std::unique_ptr<client_job>& job) {
    if (!accepts(*job)) return false;
    if (job->plan != nullptr) owner_->complete(*job);
    if (write_request(*job) != errc::none) return false;  // it is told so when it is first in line
    out().append(job->request.body);
    if (behind_ == nullptr) behind_ = std::make_unique<std::vector<std::unique_ptr<client_job>>>();
    job->pipelined = true;
    behind_->push_back(std::move(job));
    flush_later();
    return true;
}

void client_connection::begin_response() {
    parser_.expect(job_->request.method);
    in_pieces_ = paused_ = heard_ = complete_ = false;
    left_before_ = 0;
    reply_ = {};
    access::set_opening(reply_, times_, used_before_);
}

void client_connection::send_request() {
    const client_request& r = job_->request;
    if (job_->plan != nullptr) owner_->complete(*job_);
    client_transfer* const t = job_->streamed.get();
    if (const bool pieces = t != nullptr && t->in_pieces; pieces != unlimited_) {
        parser_ = response_parser(owner_->bounds(pieces));
        unlimited_ = pieces;
    }
    if (t != nullptr) t->begin();
    begin_response();
    refused_ = write_request(*job_);
    if (refused_ != errc::none) {
        enter(phase::refused, {});  // to fail from the loop
        return;
    }
    if (t != nullptr) t->on = this;
    if (r.source) {
        t->left = r.source.length.value_or(0);
        const bool expects = expects_continue(r);
        t->sending = expects ? client_transfer::upload::awaiting : client_transfer::upload::pulling;
        const client_timeouts& limit = job_->timeouts(owner_->options());
        enter(phase::sending, expects ? limit.continue_timeout : limit.body_timeout);
        if (!expects) owner_->loop().arm(t->wake, owner_->loop().now());
    } else {
        out().append(r.body);
        left_before_ = out().size();
        await_response();
    }
    if (owner_->eager()) {
        flush();
    } else {
        flush_later();
    }
}

void client_connection::await_response() {
    enter(phase::waiting, job_->timeouts(owner_->options()).response_timeout);
}

// Asks the source for as much as the socket takes at once, in a few steps: other connections of the
// loop must not starve.
void client_connection::pump() {
    using upload = client_transfer::upload;
    client_transfer& t = *job_->streamed;
    for (int i = 0; i < 4; ++i) {
        if (unsent() > 0 && (!flush() || unsent() > 0)) return;  // on_drained() goes on
        t.told = false;
        const auto state = t.pull(job_->request.source, out());
        if (is_closed()) return;
        // It may have waited for its bytes, as those of blocking clients do. That is no time of the
        // server's.
        owner_->loop().refresh_now();
        if (!state) return fail({state.code(), about(*job_) + state.error().message});
        if (*state == source_state::later) {
            if (owner_->eager())
                return fail(
                    {errc::bad_argument,
                     about(*job_) + "request body: `later` is not for the blocking client"});
            t.sending = upload::idle;
            go_on_waiting();
            if (t.told) resume_body();  // before it answered
        } else if (*state == source_state::end) {
            t.sending = upload::done;
            if (phase_ == phase::sending) {
                await_response();
            } else {
                go_on_waiting();
            }
        } else {
            go_on_waiting();
        }
        flush();
        if (t.sending == upload::idle) stop_waiting_for_source();
        if (t.sending != upload::pulling) return;
    }
    owner_->loop().arm(t.wake, owner_->loop().now());
}

// The server has answered 100, or continue_timeout has passed: the body is sent now.
void client_connection::stop_awaiting_continue() {
    client_transfer& t = *job_->streamed;
    if (t.sending != client_transfer::upload::awaiting) return;
    t.sending = client_transfer::upload::pulling;
    enter(phase::sending, job_->timeouts(owner_->options()).body_timeout);
    owner_->loop().arm(t.wake, owner_->loop().now());
}

void client_connection::on_drained() {
    using upload = client_transfer::upload;
    const client_transfer* const t = job_ != nullptr ? job_->streamed.get() : nullptr;
    if (t != nullptr && t->sending == upload::pulling) {
        pump();
    } else if (t != nullptr && t->sending == upload::idle) {
        stop_waiting_for_source();
    } else if (phase_ == phase::waiting && behind() == 0) {
        await_response();  // only now is all sent
    }
}

void client_connection::resume_body() {
    client_transfer* const t = job_->streamed.get();
    if (t == nullptr) return;
    t->told = true;
    if (t->sending != client_transfer::upload::idle) return;
    t->sending = client_transfer::upload::pulling;
    go_on_waiting();
    owner_->loop().arm(t->wake, owner_->loop().now());
}

// The server has taken something of the body, or is given more: its time begins anew, also when the
// head of its response has come already.
void client_connection::go_on_waiting() {
    if (phase_ == phase::sending || (phase_ == phase::body && !paused_))
        enter(phase_, job_->timeouts(owner_->options()).body_timeout);
}

// A source that has nothing takes its own time, once the server has taken all that it gave.
void client_connection::stop_waiting_for_source() {
    if (phase_ == phase::sending && unsent() == 0) owner_->loop().disarm(timer_);
}

void client_connection::pause() {
    if (!in_pieces_) return;
    job_->streamed->paused = true;
    if (std::exchange(paused_, true)) return;  // perhaps resume() has not been acted on yet
    pause_reading();
    owner_->loop().disarm(timer_);
}

void client_connection::resume() {
    if (!paused_) return;
    job_->streamed->paused = false;
    owner_->loop().arm(job_->streamed->wake, owner_->loop().now());
}

// What resume(), resume_body() and pump() leave to the loop.
void client_connection::go_on() {
    client_transfer& t = *job_->streamed;
    if (t.sending == client_transfer::upload::pulling) pump();
    if (phase_ == phase::over || !paused_ || t.paused) return;
    paused_ = false;
    enter(phase::body, job_->timeouts(owner_->options()).body_timeout);
    const bool ended = t.ended;
    resume_reading();  // first: after the last piece the connection serves another
    if (!give({})) return;
    take({});
    if (!ended || phase_ != phase::body || paused_) return;
    if (t.broken) {
        fail(*std::move(t.broken));
    } else {
        on_end();
    }
}

std::span<char> client_connection::receive_space(std::span<char> scratch) {
    if (phase_ != phase::body || answer().framing != framing::length || in_pieces_) return scratch;
    const auto left = static_cast<std::size_t>(answer().content_length) - body().size();
    if (left < scratch.size() / 4) return scratch;
    // The length is only what the server claims: storage grows with the bytes, one step ahead of
    // them. One byte more than is missing shows whether anything follows the response.
    constexpr std::size_t step = 1 << 20;
    auto space = body().prepare(std::min(left + 1, step));
    return space.first(std::min(left + 1, space.size()));
}

void client_connection::on_data(std::span<char> bytes) {
    if (opener_ != nullptr) return opener_->on_data(bytes);
    if (phase_ == phase::idle || phase_ == phase::refused) {  // nobody asked
        fail(errc::bad_status_line);
        return;
    }
    heard_ = true;
    // The scratch, or one of io_uring's buffers.
    filled_ = bytes.size() == owner_->loop().scratch().size() || bytes.size() % 4096 == 0;
    take(bytes);
}

void client_connection::take(std::span<char> bytes) {
    std::size_t used = 0;
    if (held_.empty()) {
        used = consume(bytes);
        bytes = bytes.subspan(used);
        if (!complete_ && !bytes.empty() && phase_ != phase::over)
            held_.append({bytes.data(), bytes.size()});
    } else {
        held_.append({bytes.data(), bytes.size()});
        held_.consume(consume(held_.bytes()));
        bytes = held_.bytes();
        if (held_.empty()) held_.release();
    }
    if (!complete_ || phase_ == phase::over) return;
    if (behind() == 0) {
        finish_response(!bytes.empty());
    } else {
        hand_out(bytes);
    }
}

// Hands out an answer and those that have come together with it. Callbacks may send further
// requests meanwhile, which must not be appended here: bytes received already cannot answer them.
void client_connection::hand_out(std::span<char> rest) {
    if (held_.empty()) held_.append({rest.data(), rest.size()});
    handing_out_ = true;
    for (bool last = false; complete_ && !last && !is_closed();) {
        last = behind() == 0;
        finish_response(!held_.empty());
        if (last || is_closed() || held_.empty()) break;
        heard_ = true;
        held_.consume(consume(held_.bytes()));
    }
    handing_out_ = false;
    if (held_.empty()) held_.release();
    if (!is_closed() && job_ != nullptr) owner_->has_room(*this);
}

// The parser's next answer; it is given mended heads where the user takes that risk.
step client_connection::next_step(std::span<char> bytes) {
    if (mended_ == nullptr || !parser_.between_messages())
        return parser_.parse_in_place(bytes, answer());
    const detail::mending m = detail::mend_response_head({bytes.data(), bytes.size()},
                                                         owner_->options().limits, *mended_);
    if (m.what == detail::mending::state::incomplete) return {};
    if (m.what == detail::mending::state::failed) return {0, event::error, m.error, {}};
    step s = parser_.parse_in_place(mended_->bytes(), answer());
    s.consumed = m.consumed;
    return s;
}

std::size_t client_connection::consume(std::span<char> bytes) {
    std::size_t at = 0;
    while (phase_ != phase::over && !complete_ && !paused_) {
        const step s = next_step(bytes.subspan(at));
        at += s.consumed;
        switch (s.what) {
        case event::need_more: return at;
        case event::interim:
            if (job_->streamed != nullptr && answer().status == 100) stop_awaiting_continue();
            if (job_->request.on_interim) {
                const auto tell = job_->request.on_interim;  // which may cancel the request
                tell(answer());
            }
            break;
        case event::head:
            take_head(mended_ != nullptr
                          ? mended_->view()
                          : std::string_view(bytes.data() + at - s.consumed, s.consumed));
            owner_->head_came(*job_, reply_);
            enter(phase::body, job_->timeouts(owner_->options()).body_timeout);
            if (job_->streamed != nullptr && job_->streamed->in_pieces &&
                !owner_->may_act_on(*job_, reply_)) {
                in_pieces_ = job_->streamed->committed = true;
                job_->streamed->decoder = owner_->decoder_of(*job_, reply_);
                access::set_decoded(reply_, job_->streamed->decoder.has_value() &&
                                                answer().framing != framing::none);
                if (job_->streamed->head) job_->streamed->head(reply_);
            } else if (unlimited_ && answer().framing == framing::length &&
                       answer().content_length > owner_->bounds(false).max_body_bytes) {
                fail({errc::body_too_large, about(*job_) + "body too large in the response"});
            }
            break;
        case event::body:
            // The piece was received into the body's own storage, or it is copied there.
            if (in_pieces_) {
                if (!give(s.data)) break;
            } else if (unlimited_ &&
                       body().size() + s.data.size() > owner_->bounds(false).max_body_bytes) {
                fail({errc::body_too_large, about(*job_) + "body too large in the response"});
                break;
            } else if (s.data.data() == body().data() + body().size()) {
                body().commit(s.data.size());
            } else {
                body().append(s.data);
            }
            enter(phase::body, job_->timeouts(owner_->options()).body_timeout);
            break;
        case event::trailer: access::add_trailer(reply_, s.data); break;
        case event::end: complete_ = true; break;
        case event::error:
            fail({s.error, about(*job_) + std::string(to_string(s.error)) + " in the response"});
            break;
        }
    }
    return at;
}

void client_connection::take_head(std::string_view raw) {
    buffer& kept = access::head_bytes(reply_);
    kept.append(raw);
    const detail::rebase move(raw, kept.data());
    move(answer().reason);
    move(answer().headers);
    const std::uint64_t length = answer().content_length;
    if (answer().framing == framing::length && length > 0 && !unlimited_)
        body().prepare(std::min<std::uint64_t>(length, 64 * 1024) + 1);
}

// Gives a piece to the caller. False when the connection was closed or paused by that.
bool client_connection::give(std::string_view piece) {
    if (const errc failed = job_->streamed->give(piece); failed != errc::none) {
        fail({failed, about(*job_) + std::string(to_string(failed)) + " in the response"});
    }
    return phase_ != phase::over && !paused_;
}

void client_connection::finish_response(bool more_follows) {
    if (in_pieces_) {
        if (const errc failed = job_->streamed->finish(); failed != errc::none) {
            fail({failed, about(*job_) + std::string(to_string(failed)) + " in the response"});
            return;
        }
    }
    auto job = std::move(job_);
    const bool others = behind() > 0;
    bool keep = !is_closed() && answer().keep_alive && !parser_.upgraded() &&
                (others || (!more_follows && unsent() == 0));
    // What follows may not have been received yet, or be the server's word that it is the end.
    const bool ended = filter() != nullptr && filter()->has_ended();
    if (keep && !others && (ended || (filled_ && !quiet()))) keep = false;
    if (job->streamed != nullptr) {
        job->streamed->on = nullptr;
        // The server would take the rest of an unfinished body for the next request.
        keep = keep && (job->streamed->sending == client_transfer::upload::none ||
                        job->streamed->sending == client_transfer::upload::done);
    }
    can_pipeline_ = keep && answer().minor_version > 0;
    if (keep && others) {
        job_ = std::move(behind_->front());
        behind_->erase(behind_->begin());
        reply got = std::move(reply_);
        begin_response();
        left_before_ = unsent();  // its body may still be on its way
        await_response();
        owner_->answered(std::move(job), std::move(got));
    } else if (keep) {
        const std::chrono::milliseconds limit = std::min(
            kept_time(answer().headers), wire::detail::capped(owner_->options().idle_timeout));
        idle_since_ = owner_->loop().now();
        idle_until_ = idle_since_ + limit;
        enter(phase::idle, limit);
        owner_->became_idle(*this, std::move(job), std::move(reply_));
    } else {
        phase_ = phase::over;
        close();
        owner_->ended(*this, std::move(job), std::move(reply_), false);
    }
}

// ---- ends ----

void client_connection::on_end() {
    if (opener_ != nullptr) return opener_->on_end();
    if (phase_ == phase::idle) {
        fail(errc::closed_early);
        return;
    }
    if (paused_) {
        job_->streamed->ended = true;
        return;
    }
    const step s = parser_.finish();
    if (s.what == event::end) {
        finish_response(true);
    } else {
        fail({errc::closed_early,
              about(*job_) + "the server closed the connection before the end of its response"});
    }
}

void client_connection::on_failure(const error& why) {
    if (opener_ != nullptr) {
        opener_->on_failure(why);
    } else if (paused_) {  // what has come before is given first, as before an end in order
        client_transfer& t = *job_->streamed;
        t.sending = client_transfer::upload::none;
        t.ended = true;
        t.broken = error(why.code, about(*job_) + why.message);
    } else if (job_ != nullptr) {
        fail({why.code, about(*job_) + why.message});
    } else {
        fail(why);
    }
}

void client_connection::fail(error why) {
    if (phase_ == phase::over) return;
    const bool may_retry =
        used_before_ && !heard_ && job_ != nullptr && !job_->resent && may_repeat(job_->request) &&
        job_->repeatable() &&
        (why.code == errc::reset || why.code == errc::closed_early || why.code == errc::truncated);
    phase_ = phase::over;
    owner_->loop().disarm(timer_);
    close();
    if (job_ != nullptr && job_->streamed != nullptr) job_->streamed->on = nullptr;
    owner_->ended(*this, std::move(job_), std::move(why), may_retry);
}

std::unique_ptr<client_job> client_connection::abandon() {
    phase_ = phase::over;
    opener_.reset();
    owner_->loop().disarm(timer_);
    close();
    if (job_ != nullptr && job_->streamed != nullptr) job_->streamed->on = nullptr;
    return std::move(job_);
}

std::vector<std::unique_ptr<client_job>> client_connection::take_behind() noexcept {
    return behind_ == nullptr ? std::vector<std::unique_ptr<client_job>>() : std::move(*behind_);
}

std::unique_ptr<client_job> client_connection::forget(const client_job& job) {
    if (find([&job](const client_job& j) { return &j != &job && j.done; }) == nullptr)
        return nullptr;
    auto nobodys = std::make_unique<client_job>();
    nobodys->request.method = job.request.method;
    nobodys->request.timeouts = job.request.timeouts;
    if (job_.get() == &job) return std::exchange(job_, std::move(nobodys));
    const auto place = std::find_if(behind_->begin(), behind_->end(),
                                    [&job](const auto& j) { return j.get() == &job; });
    return std::exchange(*place, std::move(nobodys));
}

void client_connection::enter(phase p, std::chrono::milliseconds limit) {
    phase_ = p;
    owner_->loop().arm_after(timer_, limit);
}

void client_connection::on_timer() {
    switch (phase_) {
    case phase::opening: break;  // the opener's affair
    case phase::refused:
        fail({refused_, about(*job_) + std::string(to_string(refused_)) + " in the request"});
        break;
    case phase::sending:
        if (job_->streamed->sending == client_transfer::upload::awaiting) {
            stop_awaiting_continue();
        } else {
            fail({errc::timed_out,
                  about(*job_) + "request body: the server took nothing within the time limit"});
        }
        break;
    case phase::waiting:
        // A large body is still on its way. The time for the answer begins when all has gone.
        if (const std::size_t left = unsent(); left > 0 && left < left_before_) {
            left_before_ = left;
            await_response();
            break;
        }
        fail({errc::timed_out, about(*job_) + "response: no head within the time limit"});
        break;
    case phase::body:
        // The server may be waiting for the rest of a body that its source does not have yet.
        if (job_->streamed != nullptr && job_->streamed->sending == client_transfer::upload::idle &&
            unsent() == 0)
            break;
        fail({errc::timed_out, about(*job_) + "response body: it stopped coming"});
        break;
    case phase::idle: fail(errc::timed_out); break;
    case phase::over: break;
    }
}

}  // namespace wire::http
