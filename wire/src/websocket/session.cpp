#include "wire/websocket/session.hpp"

#include <sys/random.h>

#include <mutex>

#include "subscription.hpp"
#include "traffic.hpp"

namespace wire::ws {

struct session::extras {
    std::vector<std::unique_ptr<detail::subscription>> subscriptions;
    detail::traffic* counts = nullptr;
};

// What handles share with their session. `self` is touched on the session's thread only.
struct session::link {
    std::mutex mutex;
    event_loop* loop = nullptr;  // guarded by mutex; null once the session is gone
    session* self = nullptr;
};

session::session(role r, stream& connection, owner& o, const limits& l,
                 std::unique_ptr<permessage_deflate> deflate)
    : stream_(&connection),
      loop_(connection.loop()),
      owner_(&o),
      limits_(&l),
      deflate_(std::move(deflate)),
      reader_(r, l, deflate_.get()),
      last_heard_(connection.loop()->now()),
      role_(r) {
    loop().arm(timer_, last_heard_ + limits_->idle_timeout);
}

session::~session() {
    if (link_ == nullptr) return;
    const std::lock_guard lock(link_->mutex);
    link_->loop = nullptr;
    link_->self = nullptr;
}

// RFC 6455 section 5.3 wants masks that the application's author cannot foresee; the kernel gives a
// batch at once.
std::optional<mask_key> session::next_mask() {
    if (role_ == role::server) return std::nullopt;
    const auto draw = [&](std::size_t from) {
        // Cannot fail or be cut short for up to 256 bytes, once the system has booted.
        [[maybe_unused]] const auto n =
            ::getrandom(&masks_->keys[from], sizeof(mask_key) * (masks_->keys.size() - from), 0);
        masks_->next = from;
    };
    if (masks_ == nullptr) {
        masks_ = std::make_unique_for_overwrite<mask_batch>();
        // 32 bytes cost the kernel least, and many a session sends no more.
        draw(masks_->keys.size() - 8);
    } else if (masks_->next == masks_->keys.size()) {
        draw(0);
    }
    return masks_->keys[masks_->next++];
}

void session::append_message(opcode op, std::string_view payload) {
    if (deflate_ == nullptr) {
        append_frame(stream_->out(), op, payload, next_mask());
    } else {
        deflate_->append_message(stream_->out(), op, payload, next_mask());
    }
}

void session::append_control(opcode op, std::string_view payload) {
    append_frame(stream_->out(), op, payload, next_mask());
    stream_->flush_later();
}

void session::count(detail::traffic& where) {
    if (extras_ == nullptr) extras_ = std::make_unique<extras>();
    extras_->counts = &where;
}

void session::count_sent() noexcept {
    if (extras_ != nullptr && extras_->counts != nullptr) extras_->counts->sent.add();
}

bool session::send(std::string_view data, opcode op) {
    if (state_ != state::open) return false;
    count_sent();
    append_message(op, data);
    stream_->flush_later();
    return stream_->unsent() <= limits_->max_unsent_bytes || flush();
}

bool session::send_now(std::string_view data, opcode op) {
    if (state_ != state::open) return false;
    count_sent();
    append_message(op, data);
    return flush();
}

bool session::flush() {
    if (!stream_->flush()) return false;
    congested_ = stream_->unsent() > limits_->max_unsent_bytes;
    return !congested_;
}

void session::ping(std::string_view payload) {
    if (state_ == state::open) append_control(opcode::ping, payload.substr(0, 125));
}

void session::close(std::uint16_t code, std::string_view reason) {
    if (state_ != state::open) return;
    state_ = state::closing;
    if (code != close_code::none_given && !is_valid_close_code(code))
        code = close_code::internal_error;
    append_close(stream_->out(), code, reason, next_mask());
    stream_->flush_later();
    loop().arm_after(timer_, limits_->close_timeout);
}

bool session::send_framed(std::string_view frame, std::size_t payload_at, opcode op) {
    if (role_ == role::client) return send(frame.substr(payload_at), op);
    if (state_ != state::open) return false;
    count_sent();
    stream_->write(frame);
    return stream_->unsent() <= limits_->max_unsent_bytes || flush();
}

std::vector<std::unique_ptr<detail::subscription>>& session::subscriptions() {
    if (extras_ == nullptr) extras_ = std::make_unique<extras>();
    return extras_->subscriptions;
}

void session::finish(std::uint16_t code, std::string_view reason) {
    if (state_ == state::finished) return;
    state_ = state::finished;
    if (extras_ != nullptr) extras_->subscriptions.clear();
    loop().disarm(timer_);
    if (on_close_) on_close_(*this, code, reason);
    owner_->session_finished();
}

void session::lost() { finish(close_code::abnormal, {}); }

void session::drained() {
    if (!congested_) return;
    congested_ = false;
    if (on_drained_ && state_ == state::open) on_drained_(*this);
}

std::size_t session::receive(std::span<char> bytes) {
    last_heard_ = loop().now();
    pinged_ = false;
    std::size_t at = 0;
    while (state_ != state::finished) {
        const step s = reader_.read(bytes.subspan(at));
        at += s.consumed;
        switch (s.what) {
        case event::need_more: return at;
        case event::message:
            if (extras_ != nullptr && extras_->counts != nullptr) extras_->counts->received.add();
            if (state_ == state::open && on_message_) on_message_(*this, {s.op, s.data});
            break;
        case event::ping:
            if (state_ == state::open) append_control(opcode::pong, s.data);
            break;
        case event::pong: break;
        case event::close:
            if (state_ == state::open) {
                append_close(stream_->out(), s.code, s.data, next_mask());
                stream_->flush_later();
            }
            finish(s.code, s.data);
            return bytes.size();
        case event::error: {
            const std::uint16_t code = close_code_for(s.error);
            const std::string_view reason = to_string(s.error);
            if (state_ == state::open) {
                append_close(stream_->out(), code, reason, next_mask());
                stream_->flush_later();
            }
            finish(code, reason);
            return bytes.size();
        }
        }
        if (stream_->is_closed()) return bytes.size();
        // A peer that sends without reading what it is sent has to wait.
        if (stream_->unsent() > limits_->max_unsent_bytes &&
            (!stream_->flush() || stream_->unsent() > limits_->max_unsent_bytes)) {
            return at;
        }
    }
    return bytes.size();
}

void session::on_timer() {
    if (state_ == state::closing) {
        finish(close_code::abnormal, "no answer to close");
        return;
    }
    const time_point due = last_heard_ + limits_->idle_timeout;
    if (due > loop().now()) {
        loop().arm(timer_, due);
    } else if (!pinged_) {
        pinged_ = true;
        append_control(opcode::ping, {});
        loop().arm_after(timer_, limits_->idle_timeout);
    } else {
        finish(close_code::abnormal, "no answer to ping");
    }
}

handle session::handle() {
    if (link_ == nullptr) {
        link_ = std::make_shared<link>();
        link_->loop = &loop();
        link_->self = this;
    }
    return ws::handle(link_);
}

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

}  // namespace wire::ws
