// The state of a WebSocket session, and the half of it that its connection's owner uses: wire's
// server (server/connection) and client (client/websocket). Users see ws::session, its base.
//
//   state     entered when                              then
//   open      made, after the handshake                 messages both ways; pings when idle
//   closing   close() was called                        arriving messages are dropped, pings not
//                                                       answered; waits for the peer's close frame,
//                                                       at most limits::close_timeout, or
//                                                       write_timeout while the peer goes on taking
//                                                       what was sent before
//   finished  the peer's close frame came (answered     on_close() was called and the owner told
//             first, when open); the peer broke a rule  (session_finished()); nothing more happens
//             (1002, 1007, 1008, 1009 is sent); the
//             loop's message_budget was exhausted
//             (1013); a close or ping went unanswered;
//             lost() was called
//
// No pong follows our close frame, although RFC 6455 section 5.5.2 asks for one until the peer's
// has come: Chromium takes any frame behind a close frame for an error. Beast keeps silent, too.
//
// Ownership: the owner of the connection owns the session, and destroys it with the connection,
// never inside a callback of the session. The session refers to the owner's stream and limits.
// Thread: the loop's, for everything but session_link, whose mutex guards `loop`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "message_budget.hpp"
#include "subscription.hpp"
#include "traffic.hpp"
#include "wire/websocket/session.hpp"

namespace wire::ws::detail {

// What a session tells the owner of its connection.
class session_owner {
public:
    // The connection is no longer needed. The owner then closes the stream, at once where the
    // session `gave_up`, and destroys the session, but not before the present callback has
    // returned.
    virtual void session_finished() = 0;
    // session_core::release() was called: give it what it left, and read again. Only for owners
    // whose sessions are held.
    virtual void session_released() {}
    // When bytes were last handed to the kernel.
    virtual time_point last_write() const noexcept = 0;

protected:
    ~session_owner() = default;
};

// What handles share with their session.
struct session_link {
    std::mutex mutex;
    event_loop* loop = nullptr;    // guarded by mutex; null once the session is gone
    session_core* self = nullptr;  // on the session's thread only
};

struct session_core final : session {
    enum class phase : std::uint8_t { open, closing, finished };

    // All but `compression`, which is null where messages are not compressed, must outlive it.
    session_core(role r, stream& connection, session_owner& o, const limits& l,
                 message_budget& unfinished_messages,
                 std::unique_ptr<permessage_deflate> compression = {});
    ~session_core();

    // ---- for the owner of the connection ----

    // Received bytes; returns how many were used up. The rest, a part of a frame's header or of a
    // control frame, must be given again with what follows.
    std::size_t receive(std::span<char> bytes);
    // The handshake's subprotocol, if any; before the session is handed to its user.
    void set_protocol(std::string_view name);
    // Messages are counted in `where`, which must outlive the session.
    void count(traffic& where);
    // The connection is gone.
    void lost();
    // The stream has sent all its bytes after some had to wait.
    void drained();

    // ---- for channels, which are clients' ----

    // Takes no more messages until release(), from the next one on: receive() leaves them, and the
    // owner, who looks at `held`, stops reading. Nothing is asked of a peer that is not heard: no
    // ping is sent and none is missed. Nothing happens when the session is not open.
    void hold() noexcept { held = state == phase::open; }
    // Goes on. What was left is taken inside this call; close() and the session's end call it too.
    void release();

    // ---- for topics ----

    // Like send(), of a frame made already: as a server sends it, unmasked, with its payload from
    // `payload_at`.
    bool send_framed(std::string_view frame, std::size_t payload_at, opcode op);
    std::vector<std::unique_ptr<subscription>>& subscriptions();

    // ---- for message_budget ----

    // Tells the peer `code`, gives back what its unfinished message holds, and ends the session.
    void refuse_message(std::uint16_t code, std::string_view reason);

    // ---- for ws::session and this class ----

    bool queue(std::string_view data, opcode op);
    bool send_now(std::string_view data, opcode op);
    bool flush();
    void yield();
    void begin_close(std::uint16_t code, std::string_view reason);
    void append_message(opcode op, std::string_view payload);
    void append_control(opcode op, std::string_view payload);
    void answer_ping(std::string_view payload);
    void answer_close(std::uint16_t code, std::string_view reason);
    void finish(std::uint16_t code, std::string_view reason);
    void give_up(std::string_view why);
    std::size_t take(std::span<char> bytes);
    bool makes_peer_wait();
    bool follows_message() const noexcept { return more != nullptr && more->unfinished.followed(); }
    void follow_message();
    void time_message();
    void forget_message() noexcept;
    time_point message_due() const noexcept;
    time_point last_taken() noexcept;
    void on_timer();
    void count_sent() noexcept;
    void count_received() noexcept;
    std::optional<mask_key> next_mask();

    // A client's masks, drawn from the kernel by the batch.
    struct mask_batch {
        std::array<mask_key, 64> keys;
        std::size_t next = 64;
    };
    // What few sessions have.
    struct extras {
        std::vector<std::unique_ptr<subscription>> subscriptions;
        traffic* counts = nullptr;
        unfinished_message unfinished;
        control_handler ping_call;
        control_handler pong_call;
        std::string protocol;
        std::optional<std::string> owed_pong;  // when the peer has taken what it was sent
        std::uint64_t answers = 0;  // bytes that a congested client has answered messages with
        time_point sent_at;         // when send_now() was last called: an iteration's time
        std::size_t sent_now = 0;   // bytes by send_now() since that iteration began, or a yield
        bool yields = false;        // on_drained() is owed when the loop has served others
    };
    extras& extra();
    void tell(control_handler extras::* call, std::string_view payload);

    stream* connection;
    event_loop* on;
    session_owner* owner;
    const limits* bounds;
    message_budget* budget;
    std::unique_ptr<permessage_deflate> deflate;  // null: messages are not compressed
    message_reader reader;
    message_handler message_call;
    close_handler close_call;
    drain_handler drain_call;
    std::shared_ptr<session_link> link;  // made when the first handle is
    std::unique_ptr<mask_batch> masks;   // clients only
    std::unique_ptr<extras> more;
    timer watch = timer::calling<&session_core::on_timer>(this);
    // The last byte came, the idle timer's ping was sent, or the peer went on taking what waits.
    time_point quiet_since;
    time_point closing_since;
    role side;
    phase state = phase::open;
    bool pinged = false;  // by the idle timer, unanswered so far
    bool congested = false;
    bool was_full = false;  // the socket, when the timer last looked
    bool held = false;
    bool gave_up = false;  // the peer has left our ping or close unanswered
};

// The state of a session that users hold: every session is the base of a session_core.
inline session_core& core_of(session& s) noexcept { return static_cast<session_core&>(s); }
inline const session_core& core_of(const session& s) noexcept {
    return static_cast<const session_core&>(s);
}

}  // namespace wire::ws::detail
