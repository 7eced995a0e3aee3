// WebSocket clients for ws and wss: one that calls back on an event loop, and one that blocks, made
// of the first.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/function.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/client/cookie_jar.hpp"
#include "wire/client/opening.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/websocket/session.hpp"

namespace wire::ws {

struct dial_options : open_options, open_timeouts {
    wire::limits limits;
    // Further fields of the handshake, such as Origin.
    std::vector<std::pair<std::string, std::string>> headers;
    // Sent, unless `headers` has a Cookie, and kept; may be shared with HTTP clients.
    std::shared_ptr<http::cookie_jar> cookies;
    // Subprotocols offered, separated by commas.
    std::string protocols;
    // From the request to the end of the server's answer.
    std::chrono::milliseconds handshake_timeout{10'000};
    // Messages are compressed if the server agrees to it (permessage-deflate); none: never.
    std::optional<deflate_options> deflate;
    // Told, before the handshake, what getting there took.
    std::function<void(const open_times&)> connected;
};

// Opens sessions and owns their connections. Belongs to its loop's thread.
class dialer {
public:
    // Given the session, which lives until its on_close(), or why there is none. Handlers are best
    // set here: nothing that the server has sent is lost.
    using callback = unique_function<void(result<session*>)>;

    explicit dialer(event_loop& loop);  // the loop must outlive it
    // Waits for name look-ups under way. Drops all connections: sessions see close code `abnormal`,
    // dials under way end with errc::stopped. Not from inside a callback.
    ~dialer();
    dialer(const dialer&) = delete;
    dialer& operator=(const dialer&) = delete;

    // `opened` is called once, from the loop, never from inside this call.
    void dial(std::string_view url, dial_options options, callback opened);

    event_loop& loop() const noexcept;

private:
    friend class blocking_client;
    struct state;
    std::unique_ptr<state> state_;
};

// One session, for those who would rather wait. Belongs to the thread that uses it; pings are
// answered while it waits in receive().
class blocking_client {
public:
    static result<blocking_client> connect(std::string_view url, dial_options options = {});

    blocking_client(blocking_client&&) noexcept;
    blocking_client& operator=(blocking_client&&) noexcept;
    ~blocking_client();  // without a closing handshake, unless close() was called

    result<void> send(std::string_view data, opcode op = opcode::text);
    // The next message, at most `wait` later; `data` dies at the next call. errc::timed_out, or
    // closed_early with the close code in the message when there will be none.
    result<message> receive(std::chrono::milliseconds wait = std::chrono::hours(1));
    // Closing handshake: waits for the answer at most limits::close_timeout.
    void close(std::uint16_t code = close_code::normal, std::string_view reason = {});

    bool is_open() const noexcept;

private:
    struct state;
    explicit blocking_client(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

}  // namespace wire::ws
