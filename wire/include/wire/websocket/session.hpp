// One WebSocket connection after its handshake, as a server or as a client: messages in, messages
// out. Handlers get a session from a route, or from a client's dialer:
//
//     routes.websocket("/echo", [](ws::session& s, const http::request&) {
//         s.on_message([](ws::session& from, ws::message m) { from.send(m); });
//         s.on_close([](ws::session&, std::uint16_t code, std::string_view) { count(code); });
//     });
//
// wire owns the session: it lives from the opening of the WebSocket until on_close() has returned.
// All calls and callbacks belong to the thread of the session's loop. To reach a session from
// another thread, or after a while when it may be gone, keep a ws::handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/base/limits.hpp"
#include "wire/loop/stream.hpp"
#include "wire/proto/ws_deflate.hpp"
#include "wire/proto/ws_reader.hpp"

namespace wire::ws {

// One received message, all its fragments together, unmasked and decompressed. Its size is at most
// limits::max_message_bytes.
struct message {
    // text or binary, never a control frame.
    opcode op = opcode::text;
    // The payload; text has been checked to be UTF-8. Dies when the callback returns: copy what is
    // needed later.
    std::string_view data;
    // False for binary messages.
    bool is_text() const noexcept { return op == opcode::text; }
};

// How a server accepts a WebSocket.
struct accept_options {
    // Compresses messages with clients that offer permessage-deflate (RFC 7692). Without a value no
    // message is compressed. ws_deflate.hpp says what compression costs in memory.
    std::optional<deflate_options> deflate = {};
    // Whose pages may open this WebSocket, besides those of the server's own origin: origins as
    // browsers send them in Origin ("https://example.org", "http://localhost:3000"; "null" for
    // sandboxed frames of any site, which is as good as all), or "*" for all. Others are answered
    // with 403.
    //
    // A browser lets the page of any site open a WebSocket to any server, and sends the server's
    // cookies along: without this check a foreign page acts as the logged-in user (cross-site
    // WebSocket hijacking, RFC 6455 section 10.2). Clients that are no browsers send no Origin, and
    // are let in.
    //
    // The own origin is request::client_authority(), which is Host unless a trusted proxy says what
    // the browser asked for. Its scheme is https with TLS or where a trusted proxy says so, http
    // where one says that; else either, as a proxy may have taken TLS off. Behind a proxy that
    // hands on neither Host nor a field that is believed all pages are foreign: name the origin
    // here.
    std::vector<std::string> allowed_origins = {};
    // The subprotocols spoken here (RFC 6455 section 1.9), such as "graphql-transport-ws": tokens,
    // compared exactly, the preferred first. The first that the client offers is agreed on, and
    // session::protocol() tells it.
    std::vector<std::string> protocols = {};
    // What becomes of a client that offers none of `protocols`: true refuses it with 400; false
    // opens the session without a subprotocol (section 4.2.2). Browsers then fail a WebSocket that
    // was made with subprotocols, and its page is told 1006.
    bool require_protocol = false;
};

class handle;
namespace detail {
struct session_core;
struct session_link;
}  // namespace detail

// A WebSocket session in either role. wire makes and destroys sessions; users get references.
//
// Its life: open -> closing (our close frame is queued, the peer's has not come) -> finished
// (on_close() was called). A session that has lost its connection goes to finished directly.
class WIRE_EXPORT session {
public:
    // `from` is this session. The message dies when the handler returns.
    using message_handler = unique_function<void(session& from, message)>;
    // `code` and `reason` as the peer sent them; `reason` dies when the handler returns.
    using close_handler =
        unique_function<void(session&, std::uint16_t code, std::string_view reason)>;
    using drain_handler = unique_function<void(session&)>;
    // `payload`, at most 125 bytes of any value, dies when the handler returns.
    using control_handler = unique_function<void(session&, std::string_view payload)>;

    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // The handlers below run on the loop's thread and must not throw. Set them when the
    // session opens; none of them may be replaced from inside itself. Handlers may call anything
    // here, close() included.

    // Called for each message while the session is open. Messages that arrive after close() was
    // called are dropped.
    void on_message(message_handler h);
    // Called once, whatever ended the session. The code and reason are those of the peer's close
    // frame (none_given when it had no code); `abnormal` when the connection was lost without one,
    // or when the peer left our close or ping unanswered; or ours, when the peer broke a rule. The
    // session is destroyed after the handler has returned.
    void on_close(close_handler h);
    // Called when all queued bytes have gone after a send() had returned false.
    void on_drained(drain_handler h);
    // Called for each ping of the peer, when its pong has been queued; while the session is open.
    // With more than limits::max_unsent_bytes unsent a pong waits until they have gone, the last
    // ping's alone (RFC 6455 section 5.5.3).
    void on_ping(control_handler h);
    // Called for each pong, while the session is open: answers to ping() have its payload, those to
    // wire's own pings an empty one, and peers may send pongs unasked (RFC 6455 section 5.5.3).
    void on_pong(control_handler h);

    // Queues one message; it leaves at the end of the loop iteration, in one system call with
    // whatever else this session has queued by then.
    //
    // `data` is copied (and compressed where that was agreed on) before the call returns. Text must
    // be UTF-8, which is not checked: a strict peer ends the connection over anything else. `op` is
    // text or binary.
    //
    // Returns false when the session is not open, in which case nothing is queued; or when more
    // than limits::max_unsent_bytes were queued with it, in a server even if the peer takes them at
    // once: this message was taken, but wait for on_drained() before the next, so that the loop
    // serves others meanwhile. Callers that ignore `false` grow the queue without bound.
    bool send(std::string_view data, opcode op = opcode::text);
    // Sends a received message back; of a message's own handler, for example.
    bool send(message m) { return send(m.data, m.op); }
    // The same as send(), but passes all queued bytes to the kernel before it returns. Saves
    // latency where more work follows in the same callback; costs a system call for each message.
    // In a server it is false, and on_drained() follows, also where more than
    // limits::max_unsent_bytes were sent so in one loop iteration.
    bool send_now(std::string_view data, opcode op = opcode::text);
    // Whether more than limits::max_unsent_bytes were queued when the session last looked, so that
    // on_drained() will follow.
    bool is_congested() const noexcept;
    // Queues a ping frame; what exceeds 125 bytes of payload is cut off. on_pong() tells of the
    // answer. Does nothing when the session is not open.
    //
    // Sessions ping by themselves after limits::idle_timeout without a byte from the peer, and end
    // when as much time again brings none.
    void ping(std::string_view payload = {});
    // Begins the closing handshake (RFC 6455 section 7). on_close() follows when the peer has
    // answered, or when limits::close_timeout is over. Pings that come meanwhile are not answered.
    // Does nothing when the session is not open. A code that may not stand in a frame is sent as
    // internal_error. `reason` is UTF-8, and cut to 123 bytes, between characters.
    void close(std::uint16_t code = close_code::normal, std::string_view reason = {});

    // False once close() was called, or the peer's close frame came, or the connection was lost.
    bool is_open() const noexcept;
    // Whether permessage-deflate was agreed on. send() then compresses messages of at least
    // deflate_options::min_bytes.
    bool compresses() const noexcept;
    // The subprotocol that the handshake agreed on; empty: none. The view lives as long as the
    // session.
    std::string_view protocol() const noexcept;
    // Bytes that are queued here and not yet taken by the kernel.
    std::size_t unsent() const noexcept;
    // The loop that the session lives on, for timers and posted work. It outlives the session.
    event_loop& loop() const noexcept;

    // Makes a handle, which other threads and later callbacks may keep. The first one allocates.
    ws::handle handle();

protected:
    // A session is always the base of a detail::session_core, which holds its state. Code of wire
    // that owns connections includes src/websocket/session_core.hpp.
    session() noexcept = default;
    ~session() = default;
};

// Reaches a session from any thread and at any time. Copies are cheap and refer to the same
// session. A handle does not keep its session alive: when the session is gone, or no longer open by
// the time its loop runs the call, nothing happens and nobody is told.
//
//     room.members.push_back(s.handle());                        // on the session's thread
//     for (const ws::handle& h : room.members) h.send("hello");  // on any thread
class WIRE_EXPORT handle {
public:
    // Refers to no session; all calls do nothing.
    handle() = default;
    // For wire: users get handles from session::handle().
    explicit handle(std::shared_ptr<detail::session_link> link) noexcept : link_(std::move(link)) {}

    // The three calls below may be made on any thread. They queue work for the session's loop and
    // return at once; calls of one thread run in the order in which they were made. There is no
    // limit on what is queued: for backpressure use post() and look at session::send().

    // session::send() on the session's thread. `data` is moved along, not copied.
    void send(std::string data, opcode op = opcode::text) const;
    // session::close() on the session's thread.
    void close(std::uint16_t code = close_code::normal, std::string reason = {}) const;
    // Runs `work` on the session's thread if the session is still open then; else `work` is
    // destroyed without having been called, perhaps on this thread. It must not throw.
    void post(unique_function<void(session&)> work) const;

private:
    std::shared_ptr<detail::session_link> link_;
};

}  // namespace wire::ws
