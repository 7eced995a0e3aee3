// The clients for coroutines (wire/loop/task.hpp):
//
//     wire::task<void> fetch(http::async_client& client) {
//         wire::result<http::reply> got = co_await client.get("http://127.0.0.1:12345/");
//     }
//     wire::task<void> talk(ws::dialer& dialer) {
//         wire::result<ws::channel> joined = co_await ws::dial(dialer, "ws://127.0.0.1:8080/chat");
//         if (joined) co_await joined->send("hello");
//     }
//
// No allocation but the coroutine's own frame is added. When the client or the dialer is destroyed,
// those who wait are resumed with errc::stopped; a coroutine that is destroyed while it waits
// cancels its request.
//
// GCC 12 destroys twice what is made with braces inside an expression with co_await, as in
// `co_await client.send({...})`: give it a name before.
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"
#include "wire/loop/task.hpp"

namespace wire {

namespace detail {

// Two that know each other, whatever moves and whichever goes first: an awaiter, which stays, and
// the callback that was given away. The coroutine goes on at the end of the turn, outside the
// callback, so that it may destroy the client that called back.
template <typename Value> class awaited : private iteration_hook {
public:
    explicit awaited(event_loop& loop) noexcept
        : iteration_hook(&awaited::on_iteration_end), loop_(&loop) {}
    awaited(const awaited&) = delete;
    awaited& operator=(const awaited&) = delete;
    ~awaited() {
        if (call_ != nullptr) call_->to_ = nullptr;
    }

    class callback {
    public:
        explicit callback(awaited& to) noexcept : to_(&to) { to.call_ = this; }
        callback(callback&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {
            if (to_ != nullptr) to_->call_ = this;
        }
        callback(const callback&) = delete;
        callback& operator=(const callback&) = delete;
        callback& operator=(callback&&) = delete;
        ~callback() {
            if (to_ != nullptr) to_->call_ = nullptr;
        }
        awaited* release() noexcept {
            if (to_ != nullptr) to_->call_ = nullptr;
            return std::exchange(to_, nullptr);
        }
        void operator()(Value value) {
            awaited* const to = release();
            if (to == nullptr) return;
            to->value_.emplace(std::move(value));
            to->loop_->at_iteration_end(*to);
        }

    private:
        friend class awaited;
        awaited* to_;
    };

    bool await_ready() const noexcept { return false; }
    Value await_resume() { return *std::move(value_); }

protected:
    bool is_awaited() const noexcept { return call_ != nullptr; }

    std::coroutine_handle<> waiting_;
    std::optional<Value> value_;

private:
    static void on_iteration_end(iteration_hook& hook) noexcept {
        static_cast<awaited&>(hook).waiting_.resume();
    }

    event_loop* loop_;
    callback* call_ = nullptr;
};

}  // namespace detail

namespace http {

class [[nodiscard]] awaitable_reply : public wire::detail::awaited<result<reply>> {
public:
    awaitable_reply(async_client& client, client_request request)
        : awaited(client.loop()), client_(&client), request_(std::move(request)) {}
    void await_suspend(std::coroutine_handle<> waiting) {
        waiting_ = waiting;
        id_ = client_->send(std::move(request_), callback(*this));
    }
    ~awaitable_reply() {
        if (is_awaited()) client_->cancel(id_);
    }

private:
    async_client* client_;
    client_request request_;
    request_id id_ = 0;
};

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

namespace ws {

// A session for one coroutine that receives and one that sends (they may be the same). Belongs to
// its loop's thread.
class channel {
public:
    class [[nodiscard]] receiving;
    class [[nodiscard]] sending;
    struct received {
        opcode op = opcode::text;
        std::string data;
        bool is_text() const noexcept { return op == opcode::text; }
    };

    channel(channel&&) noexcept;
    channel& operator=(channel&&) noexcept;
    ~channel();  // begins the closing handshake, if nobody has

    // The next message; errc::closed_early with the close code in the message when there will be
    // none. Messages that nobody has received wait up to limits::max_message_bytes together; beyond
    // it the session is closed with 1008 (RFC 6455 section 7.4.1).
    receiving receive() noexcept;
    // Resumes once no more than limits::max_unsent_bytes wait to be sent: at once for most
    // messages.
    sending send(std::string_view data, opcode op = opcode::text);
    // Begins the closing handshake; receive() tells of its end.
    void close(std::uint16_t code = close_code::normal, std::string_view reason = {});
    bool is_open() const noexcept;

private:
    friend class dialing;
    struct state;
    explicit channel(std::unique_ptr<state> s) noexcept;
    static channel over(session& s, std::uint64_t most_waiting);
    std::unique_ptr<state> state_;
};

class channel::receiving {
public:
    explicit receiving(state& s) noexcept : state_(&s) {}
    receiving(const receiving&) = delete;
    receiving& operator=(const receiving&) = delete;
    ~receiving();
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> waiting) noexcept;
    result<received> await_resume();

private:
    state* state_;
    bool waits_ = false;
};

class channel::sending {
public:
    sending(state& s, result<void> how) noexcept : state_(&s), how_(std::move(how)) {}
    sending(const sending&) = delete;
    sending& operator=(const sending&) = delete;
    ~sending();
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> waiting) noexcept;
    result<void> await_resume();

private:
    state* state_;
    result<void> how_;
    bool waits_ = false;
};

class [[nodiscard]] dialing : public wire::detail::awaited<result<channel>> {
public:
    dialing(dialer& d, std::string url, dial_options options)
        : awaited(d.loop()), dialer_(&d), url_(std::move(url)), options_(std::move(options)) {}
    void await_suspend(std::coroutine_handle<> waiting);

private:
    dialer* dialer_;
    std::string url_;
    dial_options options_;
};

inline dialing dial(dialer& d, std::string url, dial_options options) {
    return {d, std::move(url), std::move(options)};
}
inline dialing dial(dialer& d, std::string url) { return {d, std::move(url), dial_options()}; }

}  // namespace ws

}  // namespace wire
