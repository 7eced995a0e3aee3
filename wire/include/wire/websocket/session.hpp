// One WebSocket connection, in either role, after its handshake: messages in, messages out.
//
// A session belongs to the thread of its loop. To reach it from elsewhere, or later, keep a handle.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/function.hpp"
#include "wire/base/limits.hpp"
#include "wire/loop/stream.hpp"
#include "wire/proto/ws_deflate.hpp"
#include "wire/proto/ws_reader.hpp"

namespace wire::ws {

// What was received; `data` dies when the callback returns.
struct message {
    opcode op = opcode::text;
    std::string_view data;
    bool is_text() const noexcept { return op == opcode::text; }
};

// How a server takes a WebSocket up.
struct accept_options {
    // Messages are compressed with clients that offer it (permessage-deflate); none: never.
    std::optional<deflate_options> deflate;
};

class handle;
class topics;
namespace detail {
struct subscription;
struct traffic;
}  // namespace detail

class session {
public:
    using message_handler = unique_function<void(session&, message)>;
    using close_handler =
        unique_function<void(session&, std::uint16_t code, std::string_view reason)>;
    using drain_handler = unique_function<void(session&)>;

    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // Handlers are set when the session opens, not from inside themselves.
    void on_message(message_handler h) { on_message_ = std::move(h); }
    // Once, whatever ended it: the code and reason of the peer's close frame (none_given when it
    // had none), or `abnormal` when the connection was lost without one.
    void on_close(close_handler h) { on_close_ = std::move(h); }
    // All bytes have gone after send() had returned false.
    void on_drained(drain_handler h) { on_drained_ = std::move(h); }

    // One message, sent at the end of the turn with whatever else there is. Text must be UTF-8.
    // False when the session is not open any more, or when more than limits::max_unsent_bytes now
    // wait: it was taken, but wait for on_drained().
    bool send(std::string_view data, opcode op = opcode::text);
    bool send(message m) { return send(m.data, m.op); }
    // As send(), but it leaves at once rather than with all else at the end of the turn.
    bool send_now(std::string_view data, opcode op = opcode::text);
    // More than limits::max_unsent_bytes wait.
    bool is_congested() const noexcept { return congested_; }
    // At most 125 bytes of payload.
    void ping(std::string_view payload = {});
    // Begins the closing handshake; on_close() follows when the peer has answered or
    // limits::close_timeout is over. A code that may not stand in a frame is sent as
    // internal_error.
    void close(std::uint16_t code = close_code::normal, std::string_view reason = {});

    bool is_open() const noexcept { return state_ == state::open; }
    // permessage-deflate was agreed on: send() compresses what is worth it.
    bool compresses() const noexcept { return deflate_ != nullptr; }
    std::size_t unsent() const noexcept { return stream_->unsent(); }
    event_loop& loop() const noexcept { return *loop_; }

    // For other threads and for later.
    ws::handle handle();

    // ---- for the owner of the connection: wire's server and client ----

    // Told when the connection is no longer needed; it then closes the stream and destroys the
    // session, not before the present callback has returned.
    class owner {
    public:
        virtual void session_finished() = 0;

    protected:
        ~owner() = default;
    };

    // All but `deflate` must outlive it.
    session(role r, stream& connection, owner& o, const limits& l,
            std::unique_ptr<permessage_deflate> deflate = {});
    ~session();

    // Received bytes; returns how many were used up. The rest, a part of a frame's header or of a
    // control frame, must be given again with what follows.
    std::size_t receive(std::span<char> bytes);
    // Messages are counted there, which must outlive it.
    void count(detail::traffic& where);
    // Nothing more will come.
    void lost();
    void drained();

private:
    friend class handle;
    friend class topics;
    enum class state : std::uint8_t { open, closing, finished };
    struct link;
    struct extras;
    struct mask_batch {
        std::array<mask_key, 64> keys;
        std::size_t next = 64;
    };

    bool flush();
    void finish(std::uint16_t code, std::string_view reason);
    void on_timer();
    void append_message(opcode op, std::string_view payload);
    void append_control(opcode op, std::string_view payload);
    // As send(), of a frame made already: as a server sends it, with its payload from `payload_at`.
    bool send_framed(std::string_view frame, std::size_t payload_at, opcode op);
    std::vector<std::unique_ptr<detail::subscription>>& subscriptions();
    void count_sent() noexcept;
    std::optional<mask_key> next_mask();

    stream* stream_;
    event_loop* loop_;
    owner* owner_;
    const limits* limits_;
    std::unique_ptr<permessage_deflate> deflate_;
    message_reader reader_;
    message_handler on_message_;
    close_handler on_close_;
    drain_handler on_drained_;
    std::shared_ptr<link> link_;         // made when the first handle is
    std::unique_ptr<mask_batch> masks_;  // client only
    std::unique_ptr<extras> extras_;     // what few sessions have
    timer timer_ = timer::calling<&session::on_timer>(this);
    time_point last_heard_;
    role role_;
    state state_ = state::open;
    bool pinged_ = false;  // by the idle timer, unanswered so far
    bool congested_ = false;
};

// Reaches a session from any thread and at any time; copies are cheap. When the session is gone,
// calls do nothing.
class handle {
public:
    handle() = default;

    void send(std::string data, opcode op = opcode::text) const;
    void close(std::uint16_t code = close_code::normal, std::string reason = {}) const;
    // Runs `work` on the session's thread, if the session is still open then.
    void post(unique_function<void(session&)> work) const;

private:
    friend class session;
    explicit handle(std::shared_ptr<session::link> link) : link_(std::move(link)) {}
    std::shared_ptr<session::link> link_;
};

}  // namespace wire::ws
