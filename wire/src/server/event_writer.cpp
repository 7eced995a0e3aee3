// A body_writer that writes events, and a timer for its heartbeats.
#include "wire/server/event_writer.hpp"

#include <algorithm>
#include <utility>

#include "exchange.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire::http {

struct event_writer::state : std::enable_shared_from_this<state> {
    struct end_at_stop {
        state* self;
        void operator()() const {
            // The end of a response may begin the next request, whose handler may destroy the
            // writer, and on_finished may.
            const auto alive = self->shared_from_this();
            alive->out.finish();
            alive->end();
        }
    };

    state(event_loop& l, body_writer body, clock::duration every)
        : loop(&l), out(std::move(body)), heartbeat(every), last(l.now()) {}

    void begin(const std::stop_token& stopping) {
        out.on_drained([this] { drain(); });
        out.on_closed([this] { end(); });
        if (over) return;  // the connection had gone
        if (heartbeat > clock::duration::zero()) loop->arm(beat, last + heartbeat);
        on_stop.emplace(stopping, end_at_stop{this});
    }
    // Sends what is in `text`.
    bool flush() {
        const auto alive = shared_from_this();  // a lost connection is told from inside write()
        last = loop->now();
        const bool taken = out.write(text.view());
        text.clear();
        full = !taken;
        return taken;
    }
    void drain() {
        const auto alive = shared_from_this();
        full = false;
        auto call = std::move(drained);
        if (call) call();
        if (!drained && !over) drained = std::move(call);
    }
    // Told once; the callback may destroy the writer. What is not called any more goes: most often
    // it holds the writer.
    void end() {
        if (std::exchange(over, true)) return;
        const auto alive = shared_from_this();
        loop->disarm(beat);
        const auto unused = std::move(drained);
        if (auto call = std::move(closed)) call();
    }
    void on_beat() {
        const auto alive = shared_from_this();
        // A client that does not read must not be sent more.
        if (!full && loop->now() >= last + heartbeat) {
            append_comment(text, {});
            flush();
        }
        if (!over) loop->arm(beat, full ? loop->now() + heartbeat : last + heartbeat);
    }

    event_loop* loop;
    body_writer out;
    clock::duration heartbeat;
    time_point last;  // something was written
    buffer text;
    unique_function<void()> drained;
    unique_function<void()> closed;
    timer beat = timer::calling<&state::on_beat>(this);
    std::optional<std::stop_callback<end_at_stop>> on_stop;
    bool full = false;  // on_drained() is owed
    bool over = false;  // the connection has gone, or the server stops
};

std::optional<std::string_view> last_event_id(const request& r) noexcept {
    return r.header("Last-Event-ID");
}

event_writer::event_writer() noexcept = default;
event_writer::event_writer(event_writer&&) noexcept = default;

event_writer& event_writer::operator=(event_writer&& other) noexcept {
    event_writer old(std::move(*this));
    state_ = std::move(other.state_);
    return *this;
}

event_writer::event_writer(response res, const event_options& options) {
    res.set_header("Content-Type", "text/event-stream");
    if (!res.header("Cache-Control")) res.header("Cache-Control", "no-store");
    res.set_header("X-Accel-Buffering", "no");
    event_loop& loop = res.loop();
    const std::stop_token stopping = res.stop_token();
    // Nothing follows such a head, and the connection is free for its next request.
    const bool is_whole =
        res.request().method() == method::head || detail::is_bodiless(res.status());
    state_ =
        std::make_shared<state>(loop, res.start_body(), wire::detail::capped(options.heartbeat));
    if (is_whole) {
        state_->over = true;
        state_->out.finish();
    } else {
        state_->begin(stopping);
    }
}

event_writer::~event_writer() {
    if (state_ == nullptr) return;
    // What is on the stack may keep the state a little longer.
    state_->on_stop.reset();
    // Once it is over the loop may be gone.
    if (!std::exchange(state_->over, true)) state_->loop->disarm(state_->beat);
    state_->out = {};
}

bool event_writer::send(const server_event& e) {
    if (state_ == nullptr || state_->over) return false;  // the loop may be gone
    return append_event(state_->text, e) == errc::none && state_->flush();
}

bool event_writer::comment(std::string_view text) {
    if (state_ == nullptr || state_->over) return false;
    append_comment(state_->text, text);
    return state_->flush();
}

void event_writer::finish() {
    if (state_ == nullptr) return;
    // As when the server stops: this object may be gone afterwards.
    const event_writer ending(std::move(*this));
    ending.state_->out.finish();
}

bool event_writer::is_open() const noexcept { return state_ != nullptr && state_->out.is_open(); }

void event_writer::on_drained(unique_function<void()> call) {
    if (state_ != nullptr && !state_->over) state_->drained = std::move(call);
}

void event_writer::on_closed(unique_function<void()> call) {
    if (state_ == nullptr) return;
    if (state_->over) return call();
    state_->closed = std::move(call);
}

}  // namespace wire::http
