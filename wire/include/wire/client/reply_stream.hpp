// A response whose body is awaited piece by piece, for coroutines (wire/loop/task.hpp).
//
//     wire::task<void> fetch(wire::http::async_client& client, wire::http::client_request request)
//     {
//         auto got = co_await wire::http::stream(client, std::move(request));
//         if (!got || got->head().status() != 200) co_return;
//         for (;;) {
//             const auto piece = co_await got->next();
//             if (!piece || piece->empty()) co_return;  // broken off, or complete
//             use(*piece);
//         }
//     }
//
// The server is slowed down by TCP while nobody takes the pieces. Destroying the reply_stream, or a
// coroutine that waits for one, ends the request. Everything belongs to the loop's thread. What is
// said of coroutines in wire/client/coroutine.hpp holds here too.
#pragma once

#ifdef WIRE_WITHOUT_COROUTINES
#error "this wire was built without coroutines: build it with -D WIRE_WITH_COROUTINES=ON"
#endif

#include <coroutine>
#include <memory>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/client/client.hpp"

namespace wire::http {

namespace detail {
struct stream_state;
}  // namespace detail

// A response as it comes: made by `co_await stream(client, request)`. It may outlive the client;
// the response then breaks off with errc::stopped. It may be moved while a coroutine waits on it,
// and destroyed only when none does.
class WIRE_EXPORT reply_stream {
public:
    class [[nodiscard]] awaiting_piece;

    // Not for users: stream() makes them.
    explicit reply_stream(std::shared_ptr<detail::stream_state> s) noexcept;
    reply_stream(reply_stream&&) noexcept;
    reply_stream& operator=(reply_stream&& other) noexcept;
    // Ends the request, whose connection is closed, unless it is complete.
    ~reply_stream();

    // Status and fields, without body, URL, redirects and trailers, which end() has. Lives as long
    // as the stream's state, wherever the stream is moved to.
    const reply& head() const noexcept;
    // `co_await next()` gives the next bytes of the body as a result<std::string_view>: an empty
    // one when the body is complete, and an error, after what came before it, when it broke off;
    // from then on the same again. The bytes die at the next call, and with the stream. One
    // coroutine at a time may wait. At most 64 KiB and one piece of what the socket gives are kept
    // while none does.
    awaiting_piece next() noexcept;
    // The complete reply, with an empty body; null before next() has given the end. Lives as
    // head().
    const reply* end() const noexcept;

private:
    std::shared_ptr<detail::stream_state> state_;
};

// What next() gives to co_await. Await it at once: it refers to the stream's state.
class WIRE_EXPORT reply_stream::awaiting_piece {
public:
    explicit awaiting_piece(detail::stream_state& s) noexcept : state_(&s) {}
    awaiting_piece(const awaiting_piece&) = delete;
    awaiting_piece& operator=(const awaiting_piece&) = delete;
    ~awaiting_piece();
    bool await_ready() const noexcept;
    void await_suspend(std::coroutine_handle<> waiting) noexcept;
    result<std::string_view> await_resume();

private:
    detail::stream_state* state_;
    bool waits_ = false;
};

// What stream() gives to co_await: a result<reply_stream>.
class [[nodiscard]] WIRE_EXPORT opening_stream {
public:
    opening_stream(async_client& client, client_request request);
    opening_stream(const opening_stream&) = delete;
    opening_stream& operator=(const opening_stream&) = delete;
    // Cancels the request if it is under way.
    ~opening_stream();
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting);
    result<reply_stream> await_resume();

private:
    client_request request_;
    std::shared_ptr<detail::stream_state> state_;
};

// Sends the request when it is awaited: `co_await stream(client, std::move(request))` gives a
// result<reply_stream> once the response's head has come, or why none will, with the errors of
// async_client::callback. Redirects and retries are the client's affair before that, and none comes
// after it. `client` must outlive what this returns, or end the wait by its own destruction.
inline opening_stream stream(async_client& client, client_request request) {
    return {client, std::move(request)};
}

}  // namespace wire::http
