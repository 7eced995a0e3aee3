// The clients for coroutines (wire/loop/task.hpp): requests, dials and messages that are awaited.
//
//     wire::task<void> fetch(wire::http::async_client& client) {
//         wire::result<wire::http::reply> got = co_await client.get("http://127.0.0.1:12345/");
//     }
//     wire::task<void> talk(wire::ws::dialer& dialer) {
//         auto joined = co_await wire::ws::dial(dialer, "ws://127.0.0.1:8080/chat");
//         if (joined) co_await joined->send("hello");
//     }
//
// Everything belongs to the loop's thread. Awaiting allocates nothing beyond the coroutine's own
// frame. A coroutine is resumed at the end of the loop iteration, outside the client's own code, so
// it may destroy the client or the dialer. When those are destroyed, coroutines that wait on them
// are resumed with errc::stopped; a coroutine that is destroyed while it waits cancels its request.
//
// GCC 12 destroys twice what is made with braces inside an expression with co_await, as in
// `co_await client.send({...})`: give it a name before.
#pragma once

#ifdef WIRE_WITHOUT_COROUTINES
#error "this wire was built without coroutines: build it with -D WIRE_WITH_COROUTINES=ON"
#endif

#include <coroutine>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/export.hpp"
#include "wire/client/client.hpp"
#include "wire/client/detail/awaited.hpp"
#include "wire/client/websocket.hpp"
#include "wire/loop/task.hpp"

namespace wire {

namespace http {

// What async_client::send() and its short forms give to co_await: the request is sent when it is
// awaited, and the result is a result<reply>.
class [[nodiscard]] awaitable_reply : public wire::detail::awaited<result<reply>> {
public:
    // `client` must outlive it, or end the wait by its own destruction.
    awaitable_reply(async_client& client, client_request request)
        : awaited(client.loop()), client_(&client), request_(std::move(request)) {}
    void await_suspend(std::coroutine_handle<> waiting) {
        waiting_ = waiting;
        id_ = client_->send(std::move(request_), callback(*this));
    }
    // Cancels the request if it is under way.
    ~awaitable_reply() {
        if (is_awaited() && id_ != 0) client_->cancel(id_);
    }

private:
    async_client* client_;
    client_request request_;
    request_id id_ = 0;
};

}  // namespace http

namespace ws {

namespace detail {
struct channel_state;
}  // namespace detail

// A WebSocket session for coroutines: one that receives and one that sends, which may be the same.
// Belongs to its loop's thread. It takes the session's handlers: set none of your own. It may be
// moved while a coroutine waits on it, and destroyed only when none does.
class WIRE_EXPORT channel {
public:
    class [[nodiscard]] receiving;
    class [[nodiscard]] sending;
    // A message that owns its bytes.
    struct received {
        opcode op = opcode::text;  // text or binary
        std::string data;
        bool is_text() const noexcept { return op == opcode::text; }
    };

    // Made by dial().
    explicit channel(std::unique_ptr<detail::channel_state> s) noexcept;
    channel(channel&&) noexcept;
    channel& operator=(channel&&) noexcept;
    // Begins the closing handshake, unless somebody has; the dialer completes it.
    ~channel();

    // `co_await channel.receive()` gives the next message as a result<received>, or
    // errc::closed_early, with the close code in its message, when there will be none. Messages
    // that nobody has received yet wait; with limits::max_message_bytes of them the channel stops
    // reading until half of that was received, so that TCP slows the server down. Meanwhile no ping
    // of the server is answered, and only who sends hears of its end: receive in time.
    receiving receive() noexcept;
    // Sends one message, of which nothing is needed after this call; text must be UTF-8.
    // `co_await channel.send(data)` resumes, with a result<void>, once no more than
    // limits::max_unsent_bytes wait to be sent: at once for most messages. errc::closed_early when
    // the session has ended. A peer that only reads what it is sent once its own messages are
    // received, as an echo does, makes a sender wait until somebody receives.
    sending send(std::string_view data, opcode op = opcode::text);
    // Begins the closing handshake and returns; receive() reports its end.
    void close(std::uint16_t code = close_code::normal, std::string_view reason = {});
    // Messages can be sent: neither side has begun to close.
    bool is_open() const noexcept;
    // The subprotocol that the server has chosen; empty: none. The view lives as long as the
    // channel's state, wherever the channel is moved to.
    std::string_view protocol() const noexcept;

private:
    std::unique_ptr<detail::channel_state> state_;
};

// What receive() gives to co_await. Await it at once, as in `co_await channel.receive()`: it refers
// to the channel's state.
class WIRE_EXPORT channel::receiving {
public:
    explicit receiving(detail::channel_state& s) noexcept : state_(&s) {}
    receiving(const receiving&) = delete;
    receiving& operator=(const receiving&) = delete;
    ~receiving();
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> waiting) noexcept;
    result<received> await_resume();

private:
    detail::channel_state* state_;
    bool waits_ = false;
};

// What send() gives to co_await. The message is on its way already; who does not care how fast it
// leaves need not await it, and casts it to void. Callers that never await let what waits to be
// sent grow without bound.
class WIRE_EXPORT channel::sending {
public:
    sending(detail::channel_state& s, result<void> how) noexcept
        : state_(&s), how_(std::move(how)) {}
    sending(const sending&) = delete;
    sending& operator=(const sending&) = delete;
    ~sending();
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> waiting) noexcept;
    result<void> await_resume();

private:
    detail::channel_state* state_;
    result<void> how_;
    bool waits_ = false;
};

// What dial() gives to co_await: a result<channel>, with the errors of dialer::callback.
class [[nodiscard]] WIRE_EXPORT dialing : public wire::detail::awaited<result<channel>> {
public:
    // `d` must outlive it, or end the wait by its own destruction.
    dialing(dialer& d, std::string url, dial_options options)
        : awaited(d.loop()), dialer_(&d), url_(std::move(url)), options_(std::move(options)) {}
    void await_suspend(std::coroutine_handle<> waiting);

private:
    dialer* dialer_;
    std::string url_;
    dial_options options_;
};

// Opens a session when awaited: `co_await dial(dialer, "ws://host/path")` gives a result<channel>.
inline dialing dial(dialer& d, std::string url, dial_options options) {
    return {d, std::move(url), std::move(options)};
}
inline dialing dial(dialer& d, std::string url) { return {d, std::move(url), dial_options()}; }

}  // namespace ws

// ---- the declarations of client.hpp ----

namespace http {

inline awaitable_reply async_client::send(client_request request) {
    return {*this, std::move(request)};
}
inline awaitable_reply async_client::get(std::string url) {
    return {*this, make_request(method::get, std::move(url))};
}
inline awaitable_reply async_client::head(std::string url) {
    return {*this, make_request(method::head, std::move(url))};
}
inline awaitable_reply async_client::del(std::string url) {
    return {*this, make_request(method::delete_, std::move(url))};
}
inline awaitable_reply async_client::post(std::string url, std::string body,
                                          std::string content_type) {
    return {*this,
            make_request(method::post, std::move(url), std::move(body), std::move(content_type))};
}
inline awaitable_reply async_client::put(std::string url, std::string body,
                                         std::string content_type) {
    return {*this,
            make_request(method::put, std::move(url), std::move(body), std::move(content_type))};
}
inline awaitable_reply async_client::patch(std::string url, std::string body,
                                           std::string content_type) {
    return {*this,
            make_request(method::patch, std::move(url), std::move(body), std::move(content_type))};
}

}  // namespace http

}  // namespace wire
