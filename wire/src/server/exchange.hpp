// A request and its response, from the request's head to the response's last byte.
//
//   state           held by                       `from`        left by
//   spare           the worker: the next one,     null          take_head(): a head has come
//                   or its pool
//   being received  the connection (current_)     set           dispatch(): the handler is called
//   with a handler  a response, on any thread     set; null     send() or the response's end ->
//                   (`held`)                      once the      deliver() -> worker::complete(), on
//                                                 connection    the loop's thread
//                                                 has gone
//   being sent      the connection (current_),    set           finish_response(), or abandon() at
//                   while `out` or `file` lasts                 the connection's end -> recycle()
//
// A response that is sent after its connection has gone is recycled unsent; one that is sent after
// its loop has gone is destroyed where it is.
//
// Threads: while `held`, what a response can set is its holder's, on any thread; `from`, `ending`
// and all counts belong to the loop's thread at all times.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "body.hpp"
#include "file_body.hpp"
#include "received_request.hpp"
#include "wire/server/error_pages.hpp"
#include "wire/server/response.hpp"

namespace wire::http::detail {

class connection;
class worker;

// How responses and bodies reach their loop from any thread; it outlives the loop.
struct loop_handle {
    std::mutex mutex;
    event_loop* loop = nullptr;  // to post to; guarded by mutex; null once nothing may be posted
    worker* owner = nullptr;     // used where is_here(), and by what is posted
    std::size_t max_unsent_bytes = 0;         // of limits
    std::atomic<std::thread::id> thread{};    // while the loop runs; none once it is ending
    std::atomic<std::uint64_t> coroutines{};  // that have been numbered
    wire::limits limits;                      // does not change
    error_pages pages;                        // does not change
    // server_options::on_exception; does not change.
    std::function<void(response, std::exception_ptr)> on_exception;
    std::stop_source stopping;  // the drain has begun, or the worker is ending

    bool is_here() const noexcept {
        return thread.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
};

// The server's way into a response.
struct response_access {
    // A response that will answer `e`.
    static response holding(exchange* e) noexcept { return response(e); }
    // `r` is empty afterwards.
    static exchange* release(response& r) noexcept { return std::exchange(r.exchange_, nullptr); }
    // Precondition: `r` is neither sent nor moved from.
    static exchange& of(const response& r) noexcept { return *r.exchange_; }
};

// Responses that have no body, nor fields that speak of one (RFC 9110 sections 8.6 and 15).
constexpr bool is_bodiless(int status) noexcept { return status == 204 || status == 304; }

struct exchange {
    explicit exchange(std::shared_ptr<loop_handle> w) : handle(std::move(w)) {}
    [[gnu::cold]] ~exchange();  // rare: they are used again
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    // Takes `e` from its response back to the connection: on the loop's thread at once, from
    // another by post().
    static void deliver(exchange* e);
    void clear() noexcept;
    // Answers with one of the library's own refusals: the page that there is for it, else `text` or
    // the reason as plain text. say() keeps the fields that were added.
    void say(int code, std::string_view text = {});
    void fail(int code, std::string_view text = {});
    // Forgets what was set of the response, hooks apart.
    void start_afresh(int code) noexcept;

    std::shared_ptr<loop_handle> handle;
    connection* from = nullptr;  // loop's thread only; null when that is gone
    received_request req;

    int status = 200;
    std::string fields;  // whole lines
    std::string body;
    bool has_type = false;
    bool has_server = false;
    bool refused = false;  // a field was not fit to be sent
    bool close = false;
    response::open_handler open;                          // set: upgrade to WebSocket
    ws::accept_options accepting;                         // with `open`
    std::vector<unique_function<void(response&)>> hooks;  // of response::on_send()

    // Kept by the connection for the observer.
    time_point started{};  // only when there is one
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t head_bytes_out = 0;  // of bytes_out
    std::uint64_t upgraded_at = 0;     // taken() of the connection before the response

    // Of a request's body, for limits::min_body_rate.
    std::uint64_t body_bytes = 0;
    // Its beginning, moved on by the time in which it was held back.
    time_point body_from{};
    std::optional<time_point> held_back_since;

    std::uint64_t coroutine = 0;      // the handler's number, when it is one
    bool held = false;                // by a response: else by the connection
    bool ending = false;              // abandon() is telling of it, and has it back if it is sent
    bool threw = false;               // a hook did
    bool is_decoded = false;          // the request's body, by decompress_requests()
    bool instead = false;             // fail() was called: `body` is sent, whatever else was to be
    std::shared_ptr<body_source> in;  // set: the request's body is or was read as it came
    std::shared_ptr<body_channel> out;  // set: the response's body is written as it is made
    std::optional<std::uint64_t> out_length;
    std::shared_ptr<file_body> file;  // set: the response's body comes from there
    // Set: `in` and `out` are a tunnel's, which this begins.
    void (*tunnel)(connection&, exchange&) = nullptr;
};

}  // namespace wire::http::detail
