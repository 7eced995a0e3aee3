// WebSocket clients for ws:// and wss:// URLs: dialer opens sessions on an event loop,
// blocking_client is one session that blocks the calling thread and needs no loop.
//
//     auto peer = wire::ws::blocking_client::connect("ws://127.0.0.1:8080/chat");
//     if (peer && peer->send("hello")) {
//         wire::result<wire::ws::message> got = peer->receive();
//     }
//
//     wire::ws::dialer dialer(loop);
//     dialer.dial("ws://127.0.0.1:8080/chat", {}, [](wire::result<wire::ws::session*> opened) {
//         if (!opened) return;
//         (*opened)->on_message([](wire::ws::session& s, wire::ws::message m) { s.send(m); });
//     });
//     loop.run();
//
// wire/client/coroutine.hpp adds `co_await wire::ws::dial(dialer, url)`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/client/opening.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/websocket/session.hpp"
#ifndef WIRE_WITHOUT_COOKIES
#include "wire/client/cookie_jar.hpp"
#endif

namespace wire::http {
class cookie_jar;
}  // namespace wire::http

namespace wire::ws {

namespace detail {
class dialer_core;
}  // namespace detail

// How to open one session.
struct dial_options : open_options, open_timeouts {
    // Bounds on what the server sends, and the session's own time limits (idle_timeout,
    // write_timeout, close_timeout).
    wire::limits limits;
    // Names and values of further fields of the handshake, such as Origin or what
    // http::basic_auth() gives. Host replaces the one made from the URL; Connection, Upgrade, those
    // of a body and Sec-WebSocket-... end the dial with errc::bad_argument. Through a proxy no
    // Proxy-Authorization is sent to the server.
    std::vector<std::pair<std::string, std::string>> headers;
    // Those that match are sent, unless `headers` has a Cookie field, and those of the answer are
    // stored. May be shared with HTTP clients on the same thread.
    std::shared_ptr<http::cookie_jar> cookies;
    // Subprotocols offered, separated by commas. A server that chooses another ends the dial with
    // errc::bad_handshake; session::protocol() tells which one it has chosen, if any.
    std::string protocols;
    // From sending the handshake to the end of the server's answer.
    std::chrono::milliseconds handshake_timeout{10'000};
    // Offers to compress messages (permessage-deflate); they are compressed if the server agrees.
    // None: never.
    std::optional<deflate_options> deflate;
    // Called when the connection stands, before the handshake, with what opening it took. From the
    // loop.
    std::function<void(const open_times&)> connected;
    // Called with the head of the server's answer to the handshake, before it is checked: the
    // fields that go with a 101, or the status of a refusal, whose body is not read. Its views die
    // when it returns. From the loop.
    std::function<void(const http::response_head&)> answered;
};

// Opens sessions on an event loop and owns their connections. All calls and callbacks are on the
// loop's thread.
class WIRE_EXPORT dialer {
public:
    // Given the session, or why there is none: errors of opening the connection, bad_handshake when
    // the server does not accept, timed_out. The session lives until its on_close() handler has
    // been called. Set its handlers inside this callback: then no message is missed.
    using callback = unique_function<void(result<session*>)>;

    // `loop` must outlive the dialer.
    explicit dialer(event_loop& loop);
    // Drops all connections: sessions are told close code `abnormal`, dials under way end with
    // errc::stopped. Those that callbacks begin meanwhile end so too, from the loop: after
    // errc::stopped there is no dialer to dial with. Callbacks of dials and handlers of sessions
    // may destroy the dialer; the session that they were given is there until they return. What
    // tls::client_options holds is called by a handshake, and must not. Waits for calls of
    // open_options::resolve under way.
    ~dialer();
    dialer(const dialer&) = delete;
    dialer& operator=(const dialer&) = delete;

    // Opens a session. `opened` is called exactly once, from the loop and never from inside this
    // call; a URL that is not ws:// or wss:// gives errc::bad_url there.
    void dial(std::string_view url, dial_options options, callback opened);

    // The loop given to the constructor.
    event_loop& loop() const noexcept;

private:
    std::unique_ptr<detail::dialer_core> core_;
};

// One session that blocks the calling thread. Belongs to the thread that uses it. The peer's pings
// are answered, and its messages received, only while a call is waiting.
class WIRE_EXPORT blocking_client {
public:
    // Opens the connection and makes the handshake, within the time limits of `options`. Errors as
    // those of dialer::callback. What dial_options::connected or `answered` throws ends the dial,
    // and leaves this call.
    static result<blocking_client> connect(std::string_view url, dial_options options = {});

    blocking_client(blocking_client&&) noexcept;
    blocking_client& operator=(blocking_client&&) noexcept;
    // Closes the connection without a closing handshake, unless close() was called before.
    ~blocking_client();

    // Sends one message; text must be UTF-8. Returns when the kernel or, up to
    // limits::max_unsent_bytes, the session's buffer has taken it. errc::closed_early when the
    // session has ended before that; errc::timed_out when the server has taken nothing for
    // limits::write_timeout: the rest still waits then, and goes with later calls. Messages that
    // come meanwhile are kept for receive(): with limits::max_unfinished_message_bytes of them
    // nothing more is read until all were received.
    result<void> send(std::string_view data, opcode op = opcode::text);
    // Waits for the next message, at most for `wait`; `data` of the message dies at the next call.
    // errc::timed_out when none has come, errc::closed_early, with the close code in its message,
    // when there will be none.
    result<message> receive(std::chrono::milliseconds wait = std::chrono::hours(1));
    // Makes the closing handshake: waits for the server's answer, at most for
    // limits::close_timeout. Messages that come meanwhile are dropped; receive() still gives those
    // that came before.
    void close(std::uint16_t code = close_code::normal, std::string_view reason = {});

    // Messages can be sent: neither side has begun to close.
    bool is_open() const noexcept;
    // The subprotocol that the server has chosen; empty: none. The view lives as long as this
    // object.
    std::string_view protocol() const noexcept;

private:
    struct state;
    explicit blocking_client(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

}  // namespace wire::ws
