// An HTTP/1.1 and WebSocket server.
//
//     namespace http = wire::http;
//     http::start_server(12345, [](http::response res) {
//         res.body() = "hello";
//         res.send();
//     });
//
// With options, and an end:
//
//     http::server_options options;
//     options.loops = 4;
//     auto server = http::server::listen(12345, std::move(routes), std::move(options));
//     if (!server) return complain(server.error().message);
//     server->run();  // returns after server->stop(), from another thread or a signal handler
//
// Every request goes to one handler, which may be a router. A loop serves its connections on one
// thread: a handler that blocks holds them all up (blocking_pool.hpp, coroutine.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/loop/network.hpp"
#include "wire/loop/socket.hpp"
#include "wire/server/access_log.hpp"
#include "wire/server/error_pages.hpp"
#include "wire/server/forwarding.hpp"
#include "wire/server/handler.hpp"
#include "wire/server/handshake_failure.hpp"
#include "wire/server/metrics.hpp"
#include "wire/server/response.hpp"
#include "wire/server/router.hpp"
#ifndef WIRE_WITHOUT_FILES
#include "wire/server/send_file.hpp"
#endif
#include "wire/tls/server_context.hpp"

namespace wire::http {

// What a server may be told besides its port and handler. The server keeps a copy: changes made
// after listen() have no effect.
struct server_options {
    // The address to listen on, IPv4 or IPv6, not a name. "::" takes IPv4 connections too where the
    // system is set up so.
    std::string host = "0.0.0.0";
    // Listen on a Unix socket instead, at this path or, where it begins with '@', at this abstract
    // name of Linux; empty: on `host` and a port. A file that was left there is replaced when
    // nobody listens on it, and the server removes its own when it stops accepting.
    std::string unix_socket = {};
    // The permissions of that file: who may write to it may connect. 0660 lets in a proxy that has
    // the file's group.
    unsigned unix_socket_mode = 0600;
    // Event loops, each on its own thread with its own listening socket (SO_REUSEPORT); where there
    // is only one socket, a Unix socket or one that was given to listen(), all accept from it. With
    // more than one loop the handler is called from several threads at once. 0 counts as 1.
    unsigned loops = 1;
    // Connections that the kernel queues for each loop until it accepts them (listen(2)).
    int backlog = 4096;
    // TCP's own probes, which find peers that vanished without a word while a response has nothing
    // to send, in two minutes; time limits find them everywhere else. They cost connections that
    // say nothing a packet a minute each way, and accepting nothing. Go's net/http begins after
    // 15 s. With 0 as `idle` the sockets stay as they are.
    tcp_keep_alive keep_alive{.idle = std::chrono::seconds(60)};
    // Bounds on what peers may send, hold and delay.
    wire::limits limits = {};
    // The engine of the loops, epoll or io_uring, and its settings.
    loop_options loop = {};
    // Certificates for https and wss; null: without TLS.
    std::shared_ptr<wire::tls::server_context> tls = {};
    // The reverse proxies and load balancers in front of this server: whose word is taken, by the
    // PROXY protocol or in fields, for whom they speak. See forwarding.hpp.
    std::vector<network> trusted_proxies = {};
    // Whether connections begin with a PROXY protocol header.
    http::proxy_protocol proxy_protocol = http::proxy_protocol::off;
    // The fields of requests that are believed of trusted proxies; none.
    http::forwarded_fields forwarded_fields = {};
    // The value of the Server field of responses that have none of their own; no such field when
    // empty.
    std::string server_name = {};
    // What the server's own refusals say instead of a line of plain text.
    http::error_pages error_pages = {};
    // Asked at the head of each request that has a body, on the loop's thread, with several loops
    // from several threads at once. A router that is given to listen() itself is asked for its
    // stream() routes; where it is wrapped in another handler, let this ask router::plan_body().
    // When it throws, the answer is 500 and the connection ends.
    std::function<body_plan(const request&)> plan_body = {};
    // Whether CONNECT requests reach the handler (a router: its otherwise()), which may then open a
    // tunnel: see tunnel.hpp. Else, and where they have a body, they are refused with 501.
    bool tunnels = false;
    // Called on the loop's thread, with several loops from several threads at once, when a request
    // has been dealt with; an upgraded one when the connection of its WebSocket has ended, one with
    // a tunnel when that has. It may destroy what the handler has kept of the request, such as its
    // response. It must not block, nor throw.
    std::function<void(const access_record&)> on_finished = {};
    // Called when a connection ends in its TLS handshake, on the loop's thread, with several loops
    // from several threads at once. Anybody who can connect can cause the call, up to
    // thousands of times a second: write no more of them than the log can take. It must not block,
    // nor throw.
    std::function<void(const handshake_failure&)> on_handshake_failure = {};
    // Called when an exception has left a handler, plain or coroutine, middleware, plan_body, or a
    // callback of a body: on the loop's thread, with several loops from several threads at once;
    // for a hook of response::on_send() on the thread that sends. std::rethrow_exception() tells
    // what was thrown.
    //
    // The response has status 500 and nothing else of what was set before, hooks apart. It may be
    // sent now or later, and answers 500 with the error page when it is dropped. It is empty when
    // the request has been answered already (with 500, where a handler behind next or a router ran
    // on another thread), or when the response is held elsewhere: where it was moved to before the
    // exception. Must not block; what it throws itself is dropped.
    //
    // Without this function such requests are answered with 500, and metrics count them.
    std::function<void(response, std::exception_ptr)> on_exception = {};
    // Counters to keep; null: nothing is counted.
    std::shared_ptr<http::metrics> metrics = {};
    // How long stop() lets requests in progress and WebSocket closing handshakes finish. Handlers
    // hear of the stop by response::stop_token().
    std::chrono::milliseconds drain_timeout{10'000};
};

// A listening server. Belongs to one thread, which runs it; stop() may be called from any.
class WIRE_EXPORT server {
public:
    // Binds and listens; connections queue in the kernel until run(). With port 0 the system
    // chooses one, which port() tells; options.unix_socket leaves the port out of account. Errors:
    // bad_argument for a host that is no address, a path that no Unix socket can have, a
    // server_name or error page that may not be sent, fewer limits::max_connections than loops,
    // proxy_protocol or forwarded_fields without trusted_proxies, and fields that exclude each
    // other; address_in_use and others of the system's; the message names the address.
    static result<server> listen(std::uint16_t port, handler h, server_options options = {});
    static result<server> listen(std::uint16_t port, router routes, server_options options = {});

    // Accepts from sockets that listen already, of TCP or Unix: those of socket activation, or a
    // predecessor's (inherited_sockets.hpp). They belong to the server from here on, also after an
    // error; `host`, `unix_socket` and `backlog` of the options are not used, and the file of a
    // Unix socket is left alone. Errors: bad_argument for an empty list and for what is no
    // listening stream socket; otherwise as above.
    static result<server> listen(std::vector<unique_fd> sockets, handler h,
                                 server_options options = {});
    static result<server> listen(std::vector<unique_fd> sockets, router routes,
                                 server_options options = {});

    server(server&&) noexcept;
    server& operator=(server&&) noexcept;
    // Closes what is still open, on the thread that served. Precondition: run() has returned, or
    // was never called; with run_once() at any time between two calls, also before the drain is
    // over. Responses and bodies that are still held elsewhere may be used and destroyed
    // afterwards: what they send is dropped.
    ~server();

    // The port that is listened on, of the first socket that has one; 0 where none has.
    std::uint16_t port() const noexcept;

    // Serves until stop() was called and the drain that follows it is over: on this thread and,
    // with several loops, on threads of its own, which have ended when it returns. Once only.
    // Throws std::system_error when a thread cannot be started; nobody serves then.
    void run();

    // ---- instead of run(), inside another loop; options.loops must be 1 ----
    //
    // Wait for descriptor() to be readable, for next_timeout() at most, then call
    // run_once(clock::duration::zero()), always on the same thread. See event_loop, whose three of
    // the same names these are, with the drain after stop() added.

    // Becomes readable when there is something to do. It stays the server's.
    int descriptor() noexcept;
    // The time until something is due without the descriptor; event_loop::forever when nothing is.
    clock::duration next_timeout() const noexcept;
    // Serves what is due, after waiting for it at most `longest`. False when it is over: stop() was
    // called, and all connections are gone or drain_timeout is.
    bool run_once(clock::duration longest);
    // The same. A hundred years are the most there is.
    template <typename Rep, typename Period>
    bool run_once(std::chrono::duration<Rep, Period> longest) {
        return run_once(wire::detail::to_wait(longest));
    }
    // The loop that all this is about, for timers, clients and post(). It lives as long as the
    // server.
    event_loop& loop() noexcept;

    // Any thread: copies of the listening sockets, close-on-exec, for the process that is to take
    // this one's place: pass them on, wait until that process serves, then stop(). Connections that
    // nobody has accepted wait in the sockets themselves, so that none is refused or lost. The file
    // of a Unix socket is then the successor's, and stays. Empty after stop(). Fails with
    // errc::system_error when the process may open no more descriptors.
    result<std::vector<unique_fd>> hand_over();

    // Any thread, and from signal handlers: accepts no more, closes idle connections, answers what
    // is in progress with "Connection: close", and makes run() return when all are gone or
    // drain_timeout is over. A connection that is new, or was answered within the last second, has
    // another second for a request that may be on its way; one whose answer had begun to leave has
    // it behind that answer.
    void stop() noexcept;

private:
    struct state;
    static result<std::unique_ptr<state>> prepare(handler h, server_options options);
    static result<void> share(state& s);
    explicit server(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

// Listens and serves until the process ends, on this thread and, with several loops, on threads of
// its own. Returns only when it cannot listen or start its threads, with the reason: see
// server::listen().
WIRE_EXPORT error start_server(std::uint16_t port, handler h, server_options options = {});
WIRE_EXPORT error start_server(std::uint16_t port, router routes, server_options options = {});

}  // namespace wire::http
