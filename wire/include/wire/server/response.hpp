// The answer to one request, and the way to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/function.hpp"
#include "wire/server/body.hpp"
#include "wire/server/request.hpp"
#include "wire/websocket/session.hpp"

namespace wire::http {

class response;
class router;
struct set_cookie;
namespace detail {
class compressors;
std::shared_ptr<loop_handle> loop_handle_of(const response& r) noexcept;
}  // namespace detail

// Given to the handler of a request. It may be moved away and sent later, from any thread; it may
// outlive the connection and the server (sending it then does nothing). One that is destroyed
// unsent answers 500.
class response {
public:
    response(response&& other) noexcept : exchange_(std::exchange(other.exchange_, nullptr)) {}
    response& operator=(response&& other) noexcept {
        std::swap(exchange_, other.exchange_);
        return *this;
    }
    response(const response&) = delete;
    response& operator=(const response&) = delete;
    ~response();

    // Preconditions of all below: not yet sent, nor moved from.

    const http::request& request() const noexcept;

    response& status(int code) noexcept;  // 200 unless set
    // Adds a field. Content-Length, Transfer-Encoding, Connection, Date and Upgrade are the
    // library's own and ignored here. A name or value that may not stand in a header (control
    // characters: response splitting) turns the response into a 500.
    response& header(std::string_view name, std::string_view value);
    // Set-Cookie. A cookie that may not be set (set_cookie::text()) turns the response into a 500.
    response& cookie(const set_cookie& c);
    // Instead of all fields of that name, as header() would add it; the value must not lie in this
    // response.
    response& set_header(std::string_view name, std::string_view value);
    response& remove_header(std::string_view name);
    // Content-Type; without it a response with a body says "text/plain; charset=utf-8".
    response& content_type(std::string_view type);
    // Ends the connection after this response.
    response& close_connection() noexcept;

    std::string& body() noexcept;

    // What has been set so far. The field is the first of that name, but for those of the library's
    // own; it dies with the next change.
    int status() const noexcept;
    std::optional<std::string_view> header(std::string_view name) const noexcept;
    // start_body() was called: body() is not what is sent.
    bool is_streamed() const noexcept;

    // Called when this response is sent, on the thread that sends it, and may still change all of
    // it: the one added last comes first. It may move the response away and send it later, after
    // which those before it are called. Not called for an upgrade. When it throws, the answer is
    // 500.
    response& on_send(unique_function<void(response&)> hook);

    void send();
    void send(std::string body) {
        this->body() = std::move(body);
        send();
    }

    // Sends the head now and the body as it is made: of `length` bytes, or of unknown length, which
    // HTTP/1.1 sends in chunks and HTTP/1.0 until the connection's end. body() is not sent. Answers
    // to HEAD, and 204 and 304, have no body: what is written is dropped.
    body_writer start_body();
    body_writer start_body(std::uint64_t length);

    // The request's body, once, in place of request().body(): as it comes where the route or
    // server_options::plan_body asked for that, else in one piece.
    body_reader take_body();

    // Answers with 101 and goes on as a WebSocket; `open` sets up the session on the connection's
    // loop. A request that asks for no WebSocket, or wrongly, is answered with 426 or 400 instead,
    // and `open` is not called.
    using open_handler = unique_function<void(ws::session&, const http::request&)>;
    void upgrade(open_handler open, ws::accept_options options = {});

    // The server's loop that the request came by, for timers and clients of one's own. To be asked
    // on its thread: in handlers and coroutines.
    event_loop& loop() const noexcept;

    // False when sent or moved from.
    explicit operator bool() const noexcept { return exchange_ != nullptr; }

private:
    friend class detail::compressors;
    friend std::shared_ptr<detail::loop_handle> detail::loop_handle_of(const response& r) noexcept;
    friend class detail::connection;
    friend class router;
    // Calls the hooks of on_send(); false when one has taken the response over.
    bool run_hooks();
    explicit response(detail::exchange* e) noexcept : exchange_(e) {}

    detail::exchange* exchange_;
};

}  // namespace wire::http
