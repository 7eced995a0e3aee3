// An HTTP/1.1 and WebSocket server.
//
//     namespace http = wire::http;
//     http::start_server(12345, [](http::response res) {
//         res.body() = "hello";
//         res.send();
//     });
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/server/access_log.hpp"
#include "wire/server/error_pages.hpp"
#include "wire/server/handler.hpp"
#include "wire/server/metrics.hpp"
#include "wire/server/response.hpp"
#include "wire/server/router.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::http {

struct server_options {
    std::string host = "0.0.0.0";  // an address, not a name
    // Event loops, each on its own thread with its own listening socket (SO_REUSEPORT). With more
    // than one the handler is called from several threads at once.
    unsigned loops = 1;
    int backlog = 4096;
    wire::limits limits;
    loop_options loop;
    std::shared_ptr<wire::tls::server_context> tls;  // https and wss; null: without TLS
    std::string server_name;                         // the Server field; none when empty
    http::error_pages error_pages;  // what its own refusals say instead of a line of plain text
    // Asked at the head of each request that has a body, with several loops from several threads at
    // once. A router that is given to listen() itself is asked for its stream() routes; where it is
    // wrapped in another handler, let this ask router::plan_body().
    std::function<body_plan(const request&)> plan_body;
    // Called on the loop's thread, with several loops from several threads at once, when a request
    // has been dealt with; an upgraded one when its WebSocket begins. It must not block, nor throw.
    std::function<void(const access_record&)> on_finished;
    std::shared_ptr<http::metrics> metrics;  // what counts; null: nothing is counted
    // How long stop() lets requests in progress and WebSocket closing handshakes finish.
    std::chrono::milliseconds drain_timeout{10'000};
};

class server {
public:
    // Binds and listens; connections queue until run(). With port 0 the system chooses one.
    static result<server> listen(std::uint16_t port, handler h, server_options options = {});
    static result<server> listen(std::uint16_t port, router routes, server_options options = {});

    server(server&&) noexcept;
    server& operator=(server&&) noexcept;
    ~server();  // run() must have returned

    std::uint16_t port() const noexcept;

    // Serves until stop(), on this thread and, with several loops, on threads of its own. Once
    // only.
    void run();

    // ---- instead of run(), inside another loop; options.loops must be 1 ----
    //
    // Wait for descriptor() to be readable, for next_timeout() at most, then call
    // run_once(clock::duration::zero()), always on the same thread. See event_loop, whose three of
    // the same names these are, with the drain after stop() added.

    int descriptor() noexcept;
    clock::duration next_timeout() const noexcept;
    // False when it is over: stop() was called, and all connections are gone or drain_timeout is.
    bool run_once(clock::duration longest);
    // The loop that all this is about, for timers, clients and post().
    event_loop& loop() noexcept;

    // Any thread, and from signal handlers: accepts no more, closes idle connections, answers what
    // is in progress with "Connection: close", and makes run() return when all are gone or
    // drain_timeout is over.
    void stop() noexcept;

private:
    struct state;
    explicit server(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

// Listens and serves until the process ends; returns only when it cannot listen, with the reason.
error start_server(std::uint16_t port, handler h, server_options options = {});
error start_server(std::uint16_t port, router routes, server_options options = {});

}  // namespace wire::http
