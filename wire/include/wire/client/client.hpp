// HTTP/1.1 clients for http and https: one that calls back on an event loop, and one that blocks,
// made of the first.
//
// Connections are kept and used again. A request that fails on a kept connection before anything of
// its response has come is sent again on a new one if its method is idempotent (RFC 9112
// section 9.3.1).
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

#include "wire/base/function.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/client/cookie_jar.hpp"
#include "wire/client/opening.hpp"
#include "wire/client/reply.hpp"
#include "wire/client/streaming.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire::http {

// Sending again what failed. Off unless max_retries is set.
//
// Retried are requests of idempotent methods (RFC 9110 section 9.2.2), and others whose
// client_request::repeatable says so: when no connection came about or it was lost, when a time
// limit passed, and when the answer has one of `statuses`. The pause before the n-th retry is
// random, evenly between 0 and first_pause * 2^(n-1) or max_pause if that is less (exponential
// backoff with full jitter: the retries of many clients do not meet again), and at least what the
// answer's Retry-After asks for.
struct retry_options {
    unsigned max_retries = 0;
    std::chrono::milliseconds first_pause{100};
    std::chrono::milliseconds max_pause{10'000};
    // An answer that asks for more is given to the caller instead.
    std::chrono::milliseconds max_retry_after{30'000};
    std::chrono::milliseconds max_total{60'000};  // from send(); no retry begins later
    std::vector<int> statuses{429, 502, 503, 504};
    // Of the random pauses; 0: another each time.
    std::uint64_t seed = 0;
};

struct client_options : open_options, client_timeouts {
    client_options() { limits.max_body_bytes = 64 << 20; }

    wire::limits limits;                        // the bounds on what a server sends
    std::string user_agent;                     // none when empty
    std::size_t max_connections_per_host = 64;  // requests beyond it wait
    std::size_t max_connections = 1024;         // to all hosts; idle ones make room for others
    std::size_t max_waiting = 10'000;           // requests; more end with errc::queue_full
    std::size_t max_idle_per_host = 16;         // kept connections
    // Requests under way on one connection at a time (pipelining, RFC 9112 section 9.3.2). 1: none
    // is sent before the one ahead of it is answered. With more, a request that would have to wait
    // for a connection goes out at once, behind others on one that has given an HTTP/1.1 answer: if
    // both are idempotent and have their bodies, and those of their answers, whole. Answers come in
    // order, so that a slow one holds up those behind it. When a connection ends before its time,
    // what it has not answered is sent again on another, and nothing to that host is pipelined any
    // more.
    std::size_t max_pipelined = 1;
    std::chrono::milliseconds idle_timeout{60'000};  // how long one is kept
    // The body of a response given in pieces; limits.max_body_bytes is for those that are kept
    // whole.
    std::uint64_t max_streamed_bytes = std::uint64_t{1} << 40;

    // Redirects followed for one request (RFC 9110 section 15.4); more end with
    // errc::too_many_redirects. 0: none is followed, and the caller gets the 3xx. As in Go's
    // net/http, POST becomes GET after 301 and 302, all but HEAD become GET after 303; 307 and 308
    // keep method and body. Authorization, Cookie, Proxy-Authorization and Host as given by the
    // caller do not go to another origin.
    unsigned max_redirects = 10;
    bool allow_https_to_http = false;  // otherwise such a redirect ends with errc::bad_redirect
    retry_options retry;
    // Kept and sent with every request that has no Cookie field of its own; may be shared with
    // others on the same thread.
    std::shared_ptr<cookie_jar> cookies;
    // Asks for "gzip, deflate" and decodes what comes so coded; see reply::decoded(). Requests with
    // an Accept-Encoding of their own are left alone. limits::max_body_bytes, for pieces
    // max_streamed_bytes, counts before and after, limits::max_decompression_ratio too. Off by
    // default: bodies are given as they were sent, and nobody pays for what he has not asked for.
    // Needs zlib; without it nothing is asked for.
    bool decompress = false;
};

class awaitable_reply;

// Belongs to its loop's thread.
class async_client {
public:
    using callback = unique_function<void(result<reply>)>;

    // The loop must outlive it.
    explicit async_client(event_loop& loop, client_options options = {});
    // Requests in progress end with errc::stopped. Not from inside a callback. Waits for name
    // look-ups under way.
    ~async_client();
    async_client(const async_client&) = delete;
    async_client& operator=(const async_client&) = delete;

    // `done` is called once, from the loop, never from inside this call.
    request_id send(client_request request, callback done);
    // The response in pieces.
    request_id send(client_request request, response_pieces to);
    // Ends the request, and with it its connection, unless that has others under way: then its
    // answer is received and dropped. errc::cancelled follows from the loop.
    void cancel(request_id id);
    // For a response in pieces. While it is paused body_timeout stands still.
    void pause(request_id id);
    void resume(request_id id);
    // The source that said `later` has something.
    void resume_body(request_id id);

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

    // The same for coroutines, as in `co_await client.get(url)`. Defined in
    // wire/client/coroutine.hpp, which must be included.
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

    std::uint64_t connections_opened() const noexcept;
    event_loop& loop() const noexcept;

private:
    friend class client;
    struct state;
    std::unique_ptr<state> state_;
};

// Belongs to the thread that uses it.
class client {
public:
    static result<client> create(client_options options = {});
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;
    ~client();

    result<reply> send(client_request request);
    // The body piece by piece, as it comes, to `sink`, which may take its time; false from it ends
    // the request with errc::cancelled.
    result<reply> send(client_request request,
                       const std::function<bool(std::string_view piece)>& sink);
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

    std::uint64_t connections_opened() const noexcept { return async_->connections_opened(); }

private:
    client(std::unique_ptr<event_loop> loop, std::unique_ptr<async_client> async) noexcept;
    std::unique_ptr<event_loop> loop_;
    std::unique_ptr<async_client> async_;
};

}  // namespace wire::http
