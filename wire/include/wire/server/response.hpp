// The answer to one request. A handler is given a response, fills it and sends it, at once or
// later:
//
//     [&pool](http::response res) {
//         if (res.request().path() == "/") return res.content_type("text/html").send(start_page);
//         pool.run([res = std::move(res)]() mutable { res.send(compute()); });
//     }
//
// A response may be sent from any thread. While one is neither sent nor destroyed, its connection
// waits: requests that the peer sends after it are not handled.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/base/parts.hpp"
#include "wire/server/body.hpp"
#include "wire/server/request.hpp"
#include "wire/websocket/session.hpp"

namespace wire::http {

struct set_cookie;
struct send_file_options;  // send_file.hpp
struct tunnel;             // tunnel.hpp
namespace detail {
struct exchange;
struct response_access;
}  // namespace detail

// The one right to answer a request, together with the request. Move-only.
//
// It may outlive the connection and the server; sending it then does nothing. One that is destroyed
// unsent, by an exception for instance, answers 500. Any thread may use it, one at a time; sending
// it hands it to the connection's loop.
class WIRE_EXPORT response {
public:
    response(response&& other) noexcept : exchange_(std::exchange(other.exchange_, nullptr)) {}
    response& operator=(response&& other) noexcept {
        std::swap(exchange_, other.exchange_);
        return *this;
    }
    response(const response&) = delete;
    response& operator=(const response&) = delete;
    ~response() {
        if (exchange_ != nullptr) end_unanswered();
    }

    // False when sent or moved from. Everything below has the precondition that it is true.
    explicit operator bool() const noexcept { return exchange_ != nullptr; }

    // The request. The reference, and all views into it, are valid until this response is sent or
    // destroyed; moving the response changes nothing.
    const http::request& request() const noexcept;

    // ---- status and fields ----

    using header_field = std::pair<std::string_view, std::string_view>;

    // 200 unless set. A code below 200 or above 999 turns the response into a 500.
    response& status(int code) noexcept;
    // Adds a field, also where there is one of that name. Content-Length, Transfer-Encoding,
    // Connection, Date and Upgrade are the library's own and ignored here. A name or value that may
    // not stand in a header (control characters: response splitting) turns the response into a 500.
    response& header(std::string_view name, std::string_view value);
    // Adds Set-Cookie. A cookie that may not be set (set_cookie::text()) turns the response into a
    // 500.
    WIRE_NEEDS_COOKIES response& cookie(const set_cookie& c);
    // Replaces all fields of that name; otherwise as header(). What these take may lie in this
    // response, as what header() and body() give does.
    response& set_header(std::string_view name, std::string_view value);
    // Removes all fields of that name that have been added so far.
    response& remove_header(std::string_view name);
    // Sets Content-Type; without it a response with a body says "text/plain; charset=utf-8".
    response& content_type(std::string_view type);
    // Ends the connection after this response, with "Connection: close".
    response& close_connection() noexcept;

    // The status, and the first field of that name, as set so far. The library's own fields are not
    // among them. The view dies with the next change.
    int status() const noexcept;
    std::optional<std::string_view> header(std::string_view name) const noexcept;

    // Sends 103 (Early Hints, RFC 8297) with these fields at once, ahead of the response, which is
    // not changed: what a browser may fetch meanwhile.
    //
    //     res.early_hints({{"Link", "</style.css>; rel=preload; as=style"}});
    //
    // May be repeated. To be called on the loop's thread. False, with nothing sent, on another, to
    // a client of HTTP/1.0, which knows no such responses, when the connection has gone, and for
    // fields that header() would not take. Some old clients take a 103 for the response itself:
    // browsers ask with "Sec-Fetch-Mode: navigate" where it is of use.
    bool early_hints(std::initializer_list<header_field> fields);

    // ---- a body that is there whole ----

    // The body that send() sends, empty at first. Content-Length follows from it. 204, 205 and
    // 304, and answers to HEAD, go without it.
    std::string& body() noexcept;

    // Hands the response over. On the loop's own thread its bytes leave at the end of the loop
    // iteration; from another the loop is woken up. Never blocks, and tells nothing of the peer:
    // see server_options::on_finished. Afterwards this object is empty. Where the connection's next
    // request has come already, its handler may run inside this call; so it may inside the calls
    // that end a body in pieces.
    void send();
    // The same with `body` as the body, which is moved or, by the second and third, copied: a view
    // need not outlive the call, and may point into the request.
    void send(std::string&& body) {
        if (&body != &this->body()) this->body() = std::move(body);
        send();
    }
    void send(std::string_view body) {
        this->body().assign(body);
        send();
    }
    void send(const char* body) { send(std::string_view(body)); }

    // Sends the client to `url`, a URI reference (RFC 9110 section 10.2.2), with an empty body.
    // `status`: 301, 302, 303, 307 or 308; with 303 it asks there with GET, with 307 and 308 as it
    // asked here, with 301 and 302 most turn POST into GET. Another status, and control characters
    // in `url`, turn the response into a 500. Nothing else is checked: a `url` of a peer's choosing
    // may lead to any site. Afterwards this object is empty.
    void redirect(std::string_view url, int status = 302);

    // Sends the regular file at `path`, as serve_files() sends its files: by parts, with ETag,
    // Last-Modified, conditions and ranges for GET and HEAD where the status is 200, whole
    // otherwise. `path` is the application's: it is opened as it is, symbolic links included. Do
    // not build it from what a peer sent: serve_files() is for that. A file that cannot be opened,
    // or is no regular one, is answered with 404, with 503 where descriptors or memory are short.
    // Opens the file on this thread. Afterwards this object is empty.
    WIRE_NEEDS_FILES void send_file(const std::string& path, const send_file_options& options);
    WIRE_NEEDS_FILES void send_file(const std::string& path);

    // ---- a body in pieces (body.hpp) ----

    // Sends the head now and the body as it is written: without a length in chunks to HTTP/1.1 and,
    // to HTTP/1.0, until the connection's end. body() is not sent. Answers to HEAD, and 204, 205
    // and 304, have no body: they end with the head, and the writer is closed as when the
    // connection is lost. Afterwards this object is empty. Until the writer is finished or
    // destroyed, the connection's next request waits: also where nothing is sent.
    body_writer start_body();
    // The same with Content-Length: `length` bytes, all of which must then be written.
    body_writer start_body(std::uint64_t length);
    // Whether the body comes in pieces or from a file, so that body() is not sent. For hooks of
    // on_send().
    bool is_streamed() const noexcept;

    // The request's body, once, in place of request().body(): as it comes where the route or
    // server_options::plan_body asked for that, else in one piece.
    body_reader take_body();

    // ---- hooks, WebSocket, loop ----

    // Calls `hook` when this response is sent, on the thread that sends it; the hook may still
    // change all of it. This object is empty by then, and may be destroyed. The hook added last is
    // called first. A hook may move the response away and send it later, after which those before
    // it are called. Not called for an upgrade. When it throws, the answer is 500, or what
    // server_options::on_exception makes of it.
    response& on_send(unique_function<void(response&)> hook);

    // Answers with 101 and goes on as a WebSocket; `open` sets up the session on the connection's
    // loop, and is given a request that dies when it returns. A request that asks for no WebSocket,
    // or wrongly, is answered with 426 or 400 instead, one of a page whose origin is not allowed
    // (accept_options) with 403, and `open` is not called. Fields set before, cookies included, go
    // with the 101, but for Sec-WebSocket-*. Afterwards this object is empty.
    using open_handler = unique_function<void(ws::session&, const http::request&)>;
    void upgrade(open_handler open, ws::accept_options options = {});

    // Answers a CONNECT with 200, or the status set before; what follows belongs to the tunnel. See
    // tunnel.hpp. Afterwards this object is empty.
    tunnel open_tunnel();

    // The server's loop that the request came by, for timers and clients of one's own. Call it on
    // that loop's thread, in handlers and coroutines, while the server is there.
    event_loop& loop() const noexcept;

    // Tells that the server stops: stop is requested on the loop's thread when the drain begins
    // (server::stop()), or when the server is destroyed without one. Work that has no end of its
    // own, such as a body of events, then ends itself, before server_options::drain_timeout does.
    //
    // The token may be kept beyond the response and the server, on any thread. A
    // std::stop_callback that is there already is called on the loop's thread, and may do what a
    // handler may. Coroutines: wire/loop/stop.hpp.
    std::stop_token stop_token() const noexcept;

private:
    friend struct detail::response_access;
    explicit response(detail::exchange* e) noexcept : exchange_(e) {}
    void end_unanswered() noexcept;

    // The request and what has been set of the response. Null once sent or moved from.
    detail::exchange* exchange_;
};

}  // namespace wire::http
