// HTTP/1.1 clients for http:// and https:// URLs: async_client calls back on an event loop, client
// blocks the calling thread and needs no loop.
//
//     auto client = wire::http::client::create();
//     auto reply = client->get("http://127.0.0.1:12345/");
//     if (reply) use(reply->status(), reply->body());
//
//     wire::http::async_client async(loop);
//     async.get("http://127.0.0.1:12345/", [](wire::result<wire::http::reply> reply) { ... });
//     loop.run();
//
// wire/client/coroutine.hpp adds `co_await async.get(url)`.
//
// Both keep connections open and use them again. A request that fails on a kept connection before
// any byte of its response has come is sent again, once and on a new one, if its method is
// idempotent (RFC 9112 section 9.3.1) or it is `repeatable`, and no body_source was asked yet that
// cannot be rewound.
//
// Errors are values. errc::bad_url, bad_argument and queue_full are known before anything is sent;
// errors of connecting are refused, unreachable, not_resolved, timed_out, tls_failed and
// proxy_failed; later ones are reset, closed_early, truncated, timed_out, too_many_redirects,
// bad_redirect and those of the response's syntax and size. Messages name the URL.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/client/digest_login.hpp"
#include "wire/client/opening.hpp"
#include "wire/client/reply.hpp"
#include "wire/client/streaming.hpp"
#include "wire/loop/event_loop.hpp"
#ifndef WIRE_WITHOUT_COOKIES
#include "wire/client/cookie_jar.hpp"
#endif

namespace wire::http {

class cookie_jar;

namespace detail {
class client_core;
}  // namespace detail

// When a failed request is sent again. Off unless max_retries is set: retries multiply the load of
// a server that is already in trouble.
//
// Retried are requests whose method is idempotent (RFC 9110 section 9.2.2) or whose
// client_request::repeatable is set, when the connection could not be made or was lost, when a time
// limit passed, and when the response, or a proxy's refusal of a tunnel, has one of `statuses` (a
// SOCKS5 proxy that cannot reach the server: 502). The pause before the n-th retry is random,
// evenly between 0 and first_pause * 2^(n-1), or max_pause if that is less (exponential backoff
// with full jitter, so that many clients do not return at the same moment), and at least what the
// response's Retry-After asks for.
struct retry_options {
    // Retries of one request, not counting the first attempt. 0: none.
    unsigned max_retries = 0;
    // The upper end of the first random pause; it doubles with each retry.
    std::chrono::milliseconds first_pause{100};
    // The largest value that this upper end grows to.
    std::chrono::milliseconds max_pause{10'000};
    // A response whose Retry-After asks for more is given to the caller instead.
    std::chrono::milliseconds max_retry_after{30'000};
    // Counted from send(); no retry begins later than this.
    std::chrono::milliseconds max_total{60'000};
    // Response statuses that are retried.
    std::vector<int> statuses{429, 502, 503, 504};
    // Seeds the random pauses, for tests that must repeat. 0: a fresh seed from the system.
    std::uint64_t seed = 0;
};

// Everything that a client can be told when it is made. The time limits of client_timeouts apply to
// each request unless client_request::timeouts replaces them.
struct client_options : open_options, client_timeouts {
    client_options() { limits.max_body_bytes = 64 << 20; }

    // Bounds on what a server sends. limits.max_body_bytes, 64 MiB here, is for bodies that are
    // kept whole; responses in pieces have max_streamed_bytes instead.
    wire::limits limits;
    // The User-Agent field of every request that brings none of its own; empty: no such field.
    std::string user_agent;
    // Connections to one origin (scheme, host and port), or to the proxy. Requests beyond that
    // wait. With 0 here or for all together, requests end with errc::bad_argument.
    std::size_t max_connections_per_host = 64;
    // Connections to all origins together. When they are used up, an idle one to another origin is
    // closed to make room.
    std::size_t max_connections = 1024;
    // Requests that may wait for a connection; one more ends with errc::queue_full.
    std::size_t max_waiting = 10'000;
    // Idle connections kept for one origin; the one idle for longest is closed first.
    std::size_t max_idle_per_host = 16;
    // Requests under way on one connection at a time (pipelining, RFC 9112 section 9.3.2). 1: a
    // request is sent only when the one before it has been answered.
    //
    // With more, a request that would have to wait for a connection is sent at once behind others,
    // on a connection that has already given an HTTP/1.1 response, if both requests are idempotent
    // and neither their bodies nor their responses are given in pieces. Responses come in order, so
    // a slow one delays those behind it. When such a connection breaks, its unanswered requests are
    // sent again on another, and pipelining to that origin stops.
    std::size_t max_pipelined = 1;
    // How long an idle connection is kept, at most: where the last response has a Keep-Alive field
    // with "timeout=N", it is used for a second less than those N seconds (for half a second where
    // N is 1), as the server may be closing it by then.
    std::chrono::milliseconds idle_timeout{60'000};
    // Whether answers of name look-ups are kept; not by default.
    name_cache_options name_cache;
    // The largest body of a response that is given in pieces, in bytes.
    std::uint64_t max_streamed_bytes = std::uint64_t{1} << 40;

    // Redirects followed for one request (RFC 9110 section 15.4); one more ends with
    // errc::too_many_redirects. 0: none is followed, and the caller gets the 3xx response.
    //
    // As in browsers, POST becomes GET after 301 and 302, and every method but HEAD becomes
    // GET after 303; 307 and 308 keep method and body. Authorization, Cookie, Proxy-Authorization
    // and Host fields that the caller gave do not go to another origin (scheme, host or port), nor
    // do `credential_fields`. All other fields do, and so do a kept body and the URL's query, where
    // the Location has it.
    unsigned max_redirects = 10;
    // Names, in any case of letters, of further fields that redirects do not take to another
    // origin: those that hold a secret, such as "X-Api-Key". wire cannot know them.
    std::vector<std::string> credential_fields = {};
    // Follow redirects from https:// to http://. Otherwise they end with errc::bad_redirect.
    bool allow_https_to_http = false;
    // When failed requests are sent again; off by default.
    retry_options retry;
    // Users and passwords for servers that ask for Digest authentication (RFC 7616), by origin.
    // Without one for the origin the caller gets the 401. See digest_login.hpp.
    std::vector<digest_login> digest_logins = {};
    // Stores the cookies of all responses, and sends those that match with every request that has
    // no Cookie field of its own. Null: cookies are ignored. May be shared with other clients on
    // the same thread.
    std::shared_ptr<cookie_jar> cookies;
    // Asks for "gzip, deflate, br, zstd", or what wire was built with, and decodes such bodies;
    // reply::decoded() says when. Not for requests with an Accept-Encoding field of their own.
    // limits::max_body_bytes (for pieces, max_streamed_bytes) holds before and after decoding, and
    // limits::max_decompression_ratio. Off by default: bodies are given as they were sent.
    bool decompress = false;
    // Accept heads of responses that break RFC 9112 as old servers and devices do, and that
    // browsers or curl accept. A risk: whoever can put a line feed into a field of such a server's
    // response can add fields to it, and a proxy in between may read the response in another way.
    // Only for servers that you know, in a client of their own. Accepted are
    // - lines of the head that end in LF instead of CRLF;
    // - up to four bytes of CR and LF before the status line;
    // - several spaces or tabs between the parts of the status line, and "http" in small letters;
    // - white space between a field's name and its colon, which is removed;
    // - lines that are no field, which are skipped with their folds;
    // - control characters but NUL and CR in values and the reason phrase: they become spaces.
    // Never in or around Content-Length or Transfer-Encoding, nor in chunks and trailers. WebSocket
    // handshakes and the answers of proxies to CONNECT are read strictly.
    bool risky_accept_malformed_heads = false;
};

class awaitable_reply;

// A client on an event loop: any number of requests at once, each with a callback. All calls and
// all callbacks are on the loop's thread. Callbacks must not throw.
class WIRE_EXPORT async_client {
public:
    // Given the reply, or why there is none.
    using callback = unique_function<void(result<reply>)>;

    // `loop` must outlive the client.
    explicit async_client(event_loop& loop, client_options options = {});
    // Requests in progress end with errc::stopped before this returns. What their callbacks send
    // meanwhile ends so too, from the loop, and has the id 0. Callbacks of requests may destroy the
    // client; they, and what they were given, are there until they return. What tls::client_options
    // holds is called by a handshake, and must not. Waits for calls of open_options::resolve under
    // way; name look-ups of the system's go on, on threads of their own, and are of no interest any
    // more.
    ~async_client();
    async_client(const async_client&) = delete;
    async_client& operator=(const async_client&) = delete;

    // Sends a request and returns its id, which cancel() takes. `done` is called exactly once, from
    // the loop and never from inside this call, also when the request is refused at once. Inside
    // `done` new requests may be sent. An empty one is for who does not care.
    request_id send(client_request request, callback done);
    // The same with the response's body in pieces, for bodies that should not be in memory whole.
    request_id send(client_request request, response_pieces to);
    // Ends the request; its callback is called with errc::cancelled, later from the loop. Its
    // connection is closed, unless that has other requests under way: then the response is received
    // and dropped. Does nothing for a request that is over.
    void cancel(request_id id);
    // Stops giving pieces, and stops reading from the socket, so that TCP slows the server down.
    // body_timeout stands still meanwhile. Only for a response in pieces whose head has come.
    void pause(request_id id);
    // Goes on after pause(), from the loop.
    void resume(request_id id);
    // The body_source that answered source_state::later has more: it is asked again, from the loop.
    void resume_body(request_id id);

    // send() for the usual methods. `url` is absolute, "http://host[:port]/path?query"; an empty
    // `content_type` sends no Content-Type field.
    void get(std::string url, callback done) {
        send(make_request(method::get, std::move(url)), std::move(done));
    }
    void head(std::string url, callback done) {
        send(make_request(method::head, std::move(url)), std::move(done));
    }
    void del(std::string url, callback done) {
        send(make_request(method::delete_, std::move(url)), std::move(done));
    }
    void post(std::string url, std::string body, std::string content_type, callback done) {
        send(make_request(method::post, std::move(url), std::move(body), std::move(content_type)),
             std::move(done));
    }
    void put(std::string url, std::string body, std::string content_type, callback done) {
        send(make_request(method::put, std::move(url), std::move(body), std::move(content_type)),
             std::move(done));
    }
    void patch(std::string url, std::string body, std::string content_type, callback done) {
        send(make_request(method::patch, std::move(url), std::move(body), std::move(content_type)),
             std::move(done));
    }

    // The same for coroutines: `co_await client.get(url)` gives a result<reply>. The request is
    // sent when it is awaited, and cancelled when the coroutine is destroyed while it waits.
    // Defined in wire/client/coroutine.hpp, which must be included.
    awaitable_reply send(client_request request);
    awaitable_reply get(std::string url);
    awaitable_reply head(std::string url);
    awaitable_reply del(std::string url);
    awaitable_reply post(std::string url, std::string body,
                         std::string content_type = "application/octet-stream");
    awaitable_reply put(std::string url, std::string body,
                        std::string content_type = "application/octet-stream");
    awaitable_reply patch(std::string url, std::string body,
                          std::string content_type = "application/octet-stream");

    // Connections opened since the client was made, those since closed included.
    std::uint64_t connections_opened() const noexcept;
    // The loop given to the constructor.
    event_loop& loop() const noexcept;

private:
    std::unique_ptr<detail::client_core> core_;
};

// A client that blocks until the reply is there: one request at a time. Belongs to the thread that
// uses it; use one client for each thread, or the one of wire/client/shared_client.hpp. Between two
// calls it does nothing: idle connections that the server has closed meanwhile are found at the
// next call. From inside a call, by its `sink`, `source` or `on_interim`, another request ends with
// errc::bad_argument: ask with a client of its own there.
class WIRE_EXPORT client {
public:
    // Fails where the system gives no resources for a loop.
    static result<client> create(client_options options = {});
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;
    // Closes the kept connections.
    ~client();

    // Sends the request and waits for the whole reply, at most for the time limits in its options.
    // The reply owns its bytes and outlives the client.
    result<reply> send(client_request request);
    // The same with the body given to `sink` piece by piece as it comes; a piece dies when `sink`
    // returns, and the reply has no body. `sink` may take its time: nothing is read meanwhile.
    // Returning false ends the request with errc::cancelled. What `sink`, or the request's `source`
    // or `on_interim`, throws ends it, too, and leaves this call.
    result<reply> send(client_request request,
                       const std::function<bool(std::string_view piece)>& sink);
    // send() for the usual methods, with an absolute URL.
    result<reply> get(std::string url) { return send(make_request(method::get, std::move(url))); }
    result<reply> head(std::string url) { return send(make_request(method::head, std::move(url))); }
    result<reply> del(std::string url) {
        return send(make_request(method::delete_, std::move(url)));
    }
    result<reply> post(std::string url, std::string body,
                       std::string content_type = "application/octet-stream") {
        return send(
            make_request(method::post, std::move(url), std::move(body), std::move(content_type)));
    }
    result<reply> put(std::string url, std::string body,
                      std::string content_type = "application/octet-stream") {
        return send(
            make_request(method::put, std::move(url), std::move(body), std::move(content_type)));
    }
    result<reply> patch(std::string url, std::string body,
                        std::string content_type = "application/octet-stream") {
        return send(
            make_request(method::patch, std::move(url), std::move(body), std::move(content_type)));
    }

    // Connections opened since the client was made: 1 as long as every request used the same one.
    std::uint64_t connections_opened() const noexcept;

private:
    client(std::unique_ptr<event_loop> loop, std::unique_ptr<detail::client_core> core) noexcept;

    std::unique_ptr<event_loop> loop_;
    std::unique_ptr<detail::client_core> core_;
};

}  // namespace wire::http
