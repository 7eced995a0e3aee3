// A WebSocket session's behaviour: framing, closing handshake, keep-alive, backpressure, handles.
// session_core.hpp has its states.
#include "session_core.hpp"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "base/bought_time.hpp"

namespace wire::ws {

using detail::core_of;
using detail::session_core;

// ---- ws::session ----

void session::on_message(message_handler h) { core_of(*this).message_call = std::move(h); }
void session::on_close(close_handler h) { core_of(*this).close_call = std::move(h); }
void session::on_drained(drain_handler h) { core_of(*this).drain_call = std::move(h); }

void session::on_ping(control_handler h) { core_of(*this).extra().ping_call = std::move(h); }
void session::on_pong(control_handler h) { core_of(*this).extra().pong_call = std::move(h); }

bool session::is_congested() const noexcept {
    const session_core& self = core_of(*this);
    return self.congested || (self.more != nullptr && self.more->yields);
}
bool session::is_open() const noexcept {
    const session_core& self = core_of(*this);
    return self.state == session_core::phase::open && !self.connection->is_closed();
}
bool session::compresses() const noexcept { return core_of(*this).deflate != nullptr; }
std::string_view session::protocol() const noexcept {
    const session_core& self = core_of(*this);
    return self.more != nullptr ? std::string_view(self.more->protocol) : std::string_view();
}
std::size_t session::unsent() const noexcept { return core_of(*this).connection->unsent(); }
event_loop& session::loop() const noexcept { return *core_of(*this).on; }

bool session::send(std::string_view data, opcode op) { return core_of(*this).queue(data, op); }

bool session::send_now(std::string_view data, opcode op) {
    return core_of(*this).send_now(data, op);
}

void session::ping(std::string_view payload) {
    if (is_open()) core_of(*this).append_control(opcode::ping, payload.substr(0, 125));
}

void session::close(std::uint16_t code, std::string_view reason) {
    core_of(*this).begin_close(code, reason);
}

handle session::handle() {
    session_core& self = core_of(*this);
    if (self.link == nullptr) {
        self.link = std::make_shared<detail::session_link>();
        self.link->loop = self.on;
        self.link->self = &self;
    }
    return ws::handle(self.link);
}

// ---- ws::handle ----

void handle::post(unique_function<void(session&)> work) const {
    if (link_ == nullptr) return;
    const std::lock_guard lock(link_->mutex);
    if (link_->loop == nullptr) return;
    // The loop outlives its sessions, and this one cannot go while the lock is held.
    link_->loop->post([link = link_, work = std::move(work)]() mutable {
        if (link->self != nullptr && link->self->is_open()) work(*link->self);
    });
}

void handle::send(std::string data, opcode op) const {
    post([data = std::move(data), op](session& s) { s.send(data, op); });
}

void handle::close(std::uint16_t code, std::string reason) const {
    post([code, reason = std::move(reason)](session& s) { s.close(code, reason); });
}

// ---- session_core ----

namespace detail {

session_core::session_core(role r, stream& c, session_owner& o, const limits& l,
                           message_budget& unfinished_messages,
                           std::unique_ptr<permessage_deflate> compression)
    : connection(&c),
      on(c.loop()),
      owner(&o),
      bounds(&l),
      budget(&unfinished_messages),
      deflate(std::move(compression)),
      reader(r, l, deflate.get()),
      quiet_since(c.loop()->now()),
      side(r) {
    on->arm(watch, quiet_since + bounds->idle_timeout);
}

session_core::~session_core() {
    forget_message();
    if (link == nullptr) return;
    const std::lock_guard lock(link->mutex);
    link->loop = nullptr;
    link->self = nullptr;
}

// RFC 6455 section 5.3 wants masks that the application's author cannot foresee; the kernel gives a
// batch at once.
std::optional<mask_key> session_core::next_mask() {
    if (side == role::server) return std::nullopt;
    const auto draw = [&](std::size_t from) {
        // Cannot fail or be cut short for up to 256 bytes, once the system has booted.
        [[maybe_unused]] const auto n =
            ::getrandom(&masks->keys[from], sizeof(mask_key) * (masks->keys.size() - from), 0);
        masks->next = from;
    };
    if (masks == nullptr) {
        masks = std::make_unique_for_overwrite<mask_batch>();
        // 32 bytes cost the kernel least, and many sessions send no more.
        draw(masks->keys.size() - 8);
    } else if (masks->next == masks->keys.size()) {
        draw(0);
    }
    return masks->keys[masks->next++];
}

void session_core::append_message(opcode op, std::string_view payload) {
    if (deflate != nullptr) {
        deflate->append_message(connection->out(), op, payload, next_mask());
    } else if (side == role::server) {
        append_frame(connection->out(), op, payload);
    } else {
        append_frame(connection->out(), op, payload, next_mask());
    }
}

void session_core::append_control(opcode op, std::string_view payload) {
    append_frame(connection->out(), op, payload, next_mask());
    connection->flush_later();
}

// A peer that takes no answers is owed the last one only (RFC 6455 section 5.5.3).
[[gnu::cold]] void session_core::answer_ping(std::string_view payload) {
    if (connection->unsent() > bounds->max_unsent_bytes && !flush() && congested) {
        extra().owed_pong = payload;
    } else {
        if (more != nullptr) more->owed_pong.reset();
        append_control(opcode::pong, payload);
    }
}

[[gnu::cold]] void session_core::answer_close(std::uint16_t code, std::string_view reason) {
    append_close(connection->out(), code, reason, next_mask());
    connection->flush_later();
}

[[gnu::cold]] session_core::extras& session_core::extra() {
    if (more == nullptr) more = std::make_unique<extras>();
    return *more;
}

[[gnu::cold]] void session_core::set_protocol(std::string_view name) {
    if (!name.empty()) extra().protocol = name;
}

void session_core::count(traffic& where) { extra().counts = &where; }

void session_core::count_sent() noexcept {
    if (more != nullptr && more->counts != nullptr) more->counts->sent.add();
}

void session_core::count_received() noexcept {
    if (more != nullptr && more->counts != nullptr) more->counts->received.add();
}

bool session_core::queue(std::string_view data, opcode op) {
    if (!is_open()) return false;
    count_sent();
    append_message(op, data);
    connection->flush_later();
    if (connection->unsent() <= bounds->max_unsent_bytes) return true;
    if (!flush()) return false;
    if (side == role::client) return true;
    yield();
    return false;
}

// Nothing stays queued here: what counts is how much was queued in this iteration.
bool session_core::send_now(std::string_view data, opcode op) {
    if (!is_open()) return false;
    count_sent();
    const std::size_t before = connection->out().size();
    append_message(op, data);
    const std::size_t bytes = connection->out().size() - before;
    if (!flush()) return false;
    if (side == role::client) return true;
    extras& e = extra();
    if (std::exchange(e.sent_at, on->now()) != on->now()) e.sent_now = 0;
    e.sent_now += bytes;
    if (e.sent_now <= bounds->max_unsent_bytes) return true;
    e.sent_now = 0;
    yield();
    return false;
}

// A peer that reads as fast as its session is written to would keep the loop from all others.
[[gnu::cold]] void session_core::yield() {
    if (std::exchange(extra().yields, true) || connection->unsent() > 0) return;
    handle().post([](session& s) {
        session_core& self = core_of(s);
        // Else it was told already, or the peer has to take what came after it first.
        if (self.more->yields && !self.congested) self.drained();
    });
}

bool session_core::flush() {
    if (!connection->flush()) return false;
    if (connection->unsent() <= bounds->max_unsent_bytes) return true;
    congested = true;  // until drained(): whoever was told so waits for that
    if (follows_message()) time_message();
    return false;
}

[[gnu::cold]] void session_core::begin_close(std::uint16_t code, std::string_view reason) {
    if (state != phase::open) return;
    state = phase::closing;
    if (code != close_code::none_given && !is_valid_close_code(code))
        code = close_code::internal_error;
    answer_close(code, reason);
    // Perhaps long after the last iteration, where the loop runs inside another.
    closing_since = clock::now();
    on->arm(watch, closing_since + bounds->close_timeout);
    release();
}

void session_core::release() {
    if (!std::exchange(held, false)) return;
    quiet_since = on->now();
    owner->session_released();
}

bool session_core::send_framed(std::string_view frame, std::size_t payload_at, opcode op) {
    if (side == role::client) return queue(frame.substr(payload_at), op);
    if (state != phase::open) return false;
    count_sent();
    connection->write(frame);
    return connection->unsent() <= bounds->max_unsent_bytes || flush();
}

std::vector<std::unique_ptr<subscription>>& session_core::subscriptions() {
    return extra().subscriptions;
}

void session_core::finish(std::uint16_t code, std::string_view reason) {
    if (state == phase::finished) return;
    state = phase::finished;
    held = false;
    forget_message();
    if (more != nullptr) more->subscriptions.clear();
    on->disarm(watch);
    if (close_call) close_call(*this, code, reason);
    owner->session_finished();
}

void session_core::lost() { finish(close_code::abnormal, {}); }

void session_core::give_up(std::string_view why) {
    gave_up = true;
    finish(close_code::abnormal, why);
}

void session_core::drained() {
    if (follows_message()) time_message();
    const bool yielded = more != nullptr && std::exchange(more->yields, false);
    if (!congested && !yielded) return;
    congested = false;
    if (more != nullptr) more->answers = 0;
    if (more != nullptr && more->owed_pong && state == phase::open)
        append_control(opcode::pong, *std::exchange(more->owed_pong, std::nullopt));
    if (drain_call && state == phase::open) drain_call(*this);
}

std::size_t session_core::receive(std::span<char> bytes) {
    quiet_since = on->now();
    pinged = false;
    const std::size_t used = take(bytes);
    if (reader.in_message() || follows_message()) follow_message();
    return used;
}

std::size_t session_core::take(std::span<char> bytes) {
    bool notes_answers = side == role::client && congested;
    std::size_t unsent = notes_answers ? connection->unsent() : 0;
    if (notes_answers) {
        if (unsent == 0) extra().answers = 0;
        if (makes_peer_wait()) return 0;
    }
    std::size_t at = 0;
    while (state != phase::finished) {
        if (held) return at;
        const step s = reader.read(bytes.subspan(at));
        at += s.consumed;
        switch (s.what) {
        case event::need_more: return at;
        case event::message:
            if (follows_message()) forget_message();
            count_received();
            if (state == phase::open && message_call) message_call(*this, {s.op, s.data});
            break;
        case event::ping:
            if (state == phase::open) answer_ping(s.data);
            tell(&extras::ping_call, s.data);
            break;
        case event::pong: tell(&extras::pong_call, s.data); break;
        case event::close:
            if (state == phase::open) answer_close(s.code, s.data);
            finish(s.code, s.data);
            return bytes.size();
        case event::error:
            refuse_message(close_code_for(s.error), to_string(s.error));
            return bytes.size();
        }
        if (notes_answers) {
            const std::size_t before = std::exchange(unsent, connection->unsent());
            if (unsent > before) extra().answers += unsent - before;
        } else if (side == role::client && congested) {  // since this message: the next ones count
            notes_answers = true;
            unsent = connection->unsent();
        }
        if (connection->unsent() > bounds->max_unsent_bytes && makes_peer_wait()) return at;
    }
    return bytes.size();
}

// A peer that sends without reading what it is sent has to wait. A client makes its server wait for
// answers only, not for what else it has sent: the server may not read before it is heard.
[[gnu::cold]] bool session_core::makes_peer_wait() {
    const std::size_t most = bounds->max_unsent_bytes;
    if (connection->unsent() <= most || (connection->flush() && connection->unsent() <= most))
        return false;
    return side == role::server || extra().answers > most;
}

void session_core::tell(control_handler extras::* call, std::string_view payload) {
    if (state == phase::open && more != nullptr && (*more).*call) ((*more).*call)(*this, payload);
}

// ---- a message that has begun ----

void session_core::refuse_message(std::uint16_t code, std::string_view reason) {
    reader.abandon();
    if (state == phase::open) answer_close(code, reason);
    finish(code, reason);
}

void session_core::forget_message() noexcept {
    if (!follows_message()) return;
    budget->forget(*this);
    more->unfinished = {};
}

// Called when all that came was taken in. In few sessions: most messages come whole.
void session_core::follow_message() {
    if (state == phase::finished || !reader.in_message()) return forget_message();
    unfinished_message& one = extra().unfinished;
    if (!one.followed()) one.began = on->now();
    budget->hold(*this, reader.held_bytes());
    if (follows_message()) time_message();
}

// While the peer is held back, because it does not read, its message takes no time.
[[gnu::cold]] void session_core::time_message() {
    unfinished_message& one = more->unfinished;
    if (one.held_back_since)
        one.began += on->now() - *std::exchange(one.held_back_since, std::nullopt);
    if (connection->unsent() > bounds->max_unsent_bytes) one.held_back_since = on->now();
    if (state != phase::open) return;
    if (const time_point due = message_due(); due < watch.deadline()) on->arm(watch, due);
}

// When it will have been too slow, if nothing more comes.
time_point session_core::message_due() const noexcept {
    if (side == role::client || bounds->min_message_rate == 0 || !follows_message() ||
        more->unfinished.held_back_since)
        return time_point::max();
    return more->unfinished.began + bounds->message_rate_grace +
           wire::detail::bought_time(reader.received_bytes(), bounds->min_message_rate);
}

// When the peer last took of what waits for room in the socket; long ago where nothing does. A peer
// that goes on taking lives, and has not come to our ping or close yet, which stand behind.
time_point session_core::last_taken() noexcept {
    const bool full = connection->is_full();
    return std::exchange(was_full, full) || full ? owner->last_write() : time_point();
}

[[gnu::cold]] void session_core::on_timer() {
    const time_point taken = last_taken();
    if (state == phase::closing) {
        // Longer for a peer that goes on taking what stands before our close frame, not for ever.
        const time_point due =
            std::min(taken + bounds->close_timeout, closing_since + bounds->write_timeout);
        if (due > on->now()) {
            on->arm(watch, due);
        } else {
            give_up("no answer to close");
        }
        return;
    }
    if (message_due() <= on->now()) {
        refuse_message(close_code::policy, "message too slow");
        return;
    }
    quiet_since = held ? on->now() : std::max(quiet_since, taken);
    if (quiet_since + bounds->idle_timeout <= on->now()) {
        if (pinged) {
            give_up("no answer to ping");
            return;
        }
        pinged = true;
        quiet_since = on->now();
        append_control(opcode::ping, {});
    }
    on->arm(watch, std::min(quiet_since + bounds->idle_timeout, message_due()));
}

}  // namespace detail

}  // namespace wire::ws
