// HTTP/1.1 clients for http and https: one that calls back on an event loop, and one that blocks, made of the first.
//
// Connections are kept and used again. A request that fails on a kept connection before anything of its response has
// come is sent again on a new one if its method is idempotent (RFC 9112 section 9.3.1).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "wire/base/function.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/client/opening.hpp"
#include "wire/client/reply.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire::http {

struct client_options : open_options, client_timeouts {
    client_options() { limits.max_body_bytes = 64 << 20; }

    wire::limits limits;                                  // the bounds on what a server sends
    std::string user_agent;                               // none when empty
    std::size_t max_connections_per_host = 64;            // requests beyond it wait
    std::size_t max_idle_per_host = 16;                   // kept connections
    std::chrono::milliseconds idle_timeout{60'000};       // how long one is kept
};

// Belongs to its loop's thread.
class async_client {
public:
    using callback = unique_function<void(result<reply>)>;

    // The loop must outlive it.
    explicit async_client(event_loop& loop, client_options options = {});
    // Requests in progress end with errc::stopped. Not from inside a callback. Waits for name look-ups under way.
    ~async_client();
    async_client(const async_client&) = delete;
    async_client& operator=(const async_client&) = delete;

    // `done` is called once, from the loop, never from inside this call.
    void send(client_request request, callback done);
    void get(std::string url, callback done) {
        client_request r;
        r.url = std::move(url);
        send(std::move(r), std::move(done));
    }

    std::uint64_t connections_opened() const noexcept;

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
    result<reply> get(std::string url) {
        client_request r;
        r.url = std::move(url);
        return send(std::move(r));
    }
    result<reply> post(std::string url, std::string body, std::string content_type = "application/octet-stream") {
        client_request r;
        r.method = method::post;
        r.url = std::move(url);
        r.headers.emplace_back("Content-Type", std::move(content_type));
        r.body = std::move(body);
        return send(std::move(r));
    }

    std::uint64_t connections_opened() const noexcept { return async_->connections_opened(); }

private:
    client(std::unique_ptr<event_loop> loop, std::unique_ptr<async_client> async) noexcept;
    std::unique_ptr<event_loop> loop_;
    std::unique_ptr<async_client> async_;
};

}  // namespace wire::http
