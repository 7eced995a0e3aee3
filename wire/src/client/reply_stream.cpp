// A response between the client, which gives pieces, and the coroutine that takes them.
//
// The client's callbacks only note what has come and queue the iteration hook, which resumes the
// coroutine outside the client's own code: it may destroy the stream or the client.
//
//     event      state                           the coroutine that waits
//     head       has_head                        resumed by it (stream())
//     data       kept; full: the client pauses   resumed with it (next())
//     end        over, with the reply or error   resumed by what was kept, then by the end
//
// The callbacks share the state's ownership, since the client calls `end` later than cancel().
#include "wire/client/reply_stream.hpp"

#include <optional>
#include <utility>

#include "proto/rebase.hpp"
#include "reply_access.hpp"

namespace wire::http {

namespace detail {

namespace {

// As much is received ahead of the coroutine.
constexpr std::size_t most_kept = 64 * 1024;

reply copy_of_head(const reply& from) {
    using access = reply_access;
    reply to;
    access::head(to) = access::head(from);
    buffer& kept = access::head_bytes(to);
    kept.append(access::head_bytes(from).view());
    const rebase move(access::head_bytes(from).view(), kept.data());
    move(access::head(to).reason);
    move(access::head(to).headers);
    access::set_opening(to, from.opening(), from.reused());
    access::set_decoded(to, from.decoded());
    return to;
}

}  // namespace

struct stream_state : iteration_hook {
    explicit stream_state(async_client& c) noexcept
        : iteration_hook(&stream_state::on_iteration_end), client(&c), loop(&c.loop()) {}

    // Nobody takes anything any more.
    void abandon() {
        waiting = nullptr;
        if (!sent || over) return;
        abandoned = true;
        if (id != 0) client->cancel(id);
    }
    bool has_news() const noexcept { return over || !kept.empty(); }

    void on_head(const reply& r) {
        if (abandoned) return;
        head = copy_of_head(r);
        has_head = true;
        wake();
    }
    void on_data(std::string_view piece) {
        if (abandoned) return;
        kept.append(piece);
        if (kept.size() >= most_kept) {
            client->pause(id);
            paused = true;
        }
        wake();
    }
    void on_end(result<reply> r) {
        over = true;
        if (abandoned) return;
        how.emplace(std::move(r));
        wake();
    }
    void wake() noexcept {
        if (waiting) loop->at_iteration_end(*this);
    }
    static void on_iteration_end(iteration_hook& hook) noexcept {
        auto& s = static_cast<stream_state&>(hook);
        if (s.waiting) std::exchange(s.waiting, nullptr).resume();
    }

    async_client* client;  // gone at the latest when `over` is set; with no id, perhaps before
    event_loop* loop;
    request_id id = 0;
    reply head;
    buffer kept;   // that next() has not given
    buffer given;  // by the last next()
    std::optional<result<reply>> how;
    std::coroutine_handle<> waiting;
    bool sent = false;
    bool has_head = false;
    bool paused = false;
    bool over = false;
    bool abandoned = false;
    bool end_given = false;
};

}  // namespace detail

reply_stream::reply_stream(std::shared_ptr<detail::stream_state> s) noexcept
    : state_(std::move(s)) {}
reply_stream::reply_stream(reply_stream&&) noexcept = default;
reply_stream& reply_stream::operator=(reply_stream&& other) noexcept {
    reply_stream moved(std::move(other));
    std::swap(state_, moved.state_);
    return *this;
}
reply_stream::~reply_stream() {
    if (state_ != nullptr) state_->abandon();
}

const reply& reply_stream::head() const noexcept { return state_->head; }
const reply* reply_stream::end() const noexcept {
    return state_->end_given && *state_->how ? &**state_->how : nullptr;
}
reply_stream::awaiting_piece reply_stream::next() noexcept { return awaiting_piece(*state_); }

reply_stream::awaiting_piece::~awaiting_piece() {
    if (waits_) state_->waiting = nullptr;
}
bool reply_stream::awaiting_piece::await_ready() const noexcept { return state_->has_news(); }
void reply_stream::awaiting_piece::await_suspend(std::coroutine_handle<> waiting) noexcept {
    state_->waiting = waiting;
    waits_ = true;
}
result<std::string_view> reply_stream::awaiting_piece::await_resume() {
    waits_ = false;
    detail::stream_state& s = *state_;
    s.given.clear();
    if (!s.kept.empty()) {
        s.given.swap(s.kept);
        if (std::exchange(s.paused, false) && !s.over) s.client->resume(s.id);
        return s.given.view();
    }
    s.end_given = true;
    if (!*s.how) return s.how->error();
    return std::string_view();
}

opening_stream::opening_stream(async_client& client, client_request request)
    : request_(std::move(request)), state_(std::make_shared<detail::stream_state>(client)) {}
opening_stream::~opening_stream() {
    if (state_ != nullptr) state_->abandon();
}
void opening_stream::await_suspend(std::coroutine_handle<> waiting) {
    state_->waiting = waiting;
    response_pieces to;
    to.head = [s = state_](const reply& head) { s->on_head(head); };
    to.data = [s = state_](std::string_view piece) { s->on_data(piece); };
    to.end = [s = state_](result<reply> end) { s->on_end(std::move(end)); };
    state_->sent = true;
    state_->id = state_->client->send(std::move(request_), std::move(to));
}
result<reply_stream> opening_stream::await_resume() {
    if (!state_->has_head) return state_->how->error();
    return reply_stream(std::exchange(state_, nullptr));
}

}  // namespace wire::http
