// A server's workers, one for each loop: made by listen(), run on a thread each.
#include "wire/server/server.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

#include "loop/cap_time_limits.hpp"
#include "loop/socket_parts.hpp"
#include "wire/loop/inherited_sockets.hpp"
#include "wire/proto/http_types.hpp"
#include "worker.hpp"

namespace wire::http {

struct server::state {
    state(server_options o, handler h) : options(std::move(o)), handle(std::move(h)) {}

    server_options options;
    handler handle;
    std::uint16_t port = 0;
    std::unique_ptr<detail::peer_counts> peers;  // null: no limit for each address
    detail::doors doors;
    std::vector<std::unique_ptr<detail::worker>> workers;
};

server::server(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
server::server(server&&) noexcept = default;
server& server::operator=(server&&) noexcept = default;
server::~server() = default;

namespace {

result<void> check(const server_options& options) {
    if (!is_field_value(options.server_name))
        return error(errc::bad_argument, "server_name may not hold control characters");
    for (const auto& [number, page] : options.error_pages) {
        const bool known = number == 4 || number == 5 || (number >= 400 && number <= 599);
        if (!known || !is_field_value(page.content_type)) {
            return error(errc::bad_argument,
                         "error page " + std::to_string(number) +
                             ": expected 4, 5 or 400 to 599 and a content type");
        }
    }
    if (options.limits.max_connections < std::max(options.loops, 1U))
        return error(errc::bad_argument, "max_connections: expected one for each loop at least");
    const forwarded_fields& fields = options.forwarded_fields;
    if ((fields.any() || options.proxy_protocol != proxy_protocol::off) &&
        options.trusted_proxies.empty())
        return error(errc::bad_argument,
                     "proxy_protocol and forwarded_fields need trusted_proxies");
    if (fields.forwarded &&
        (fields.x_forwarded_for || fields.x_forwarded_proto || fields.x_forwarded_host))
        return error(errc::bad_argument, "Forwarded and X-Forwarded-* exclude each other");
    return {};
}

// A handler that asks the router, and a plan of bodies that does.
handler asking(router routes, server_options& options) {
    const auto shared = std::make_shared<router>(std::move(routes));
    if (!options.plan_body && shared->has_streams())
        options.plan_body = [shared](const request& r) { return shared->plan_body(r); };
    return [shared](response res) { (*shared)(std::move(res)); };
}

}  // namespace

// The workers, which do not accept yet.
result<std::unique_ptr<server::state>> server::prepare(handler h, server_options options) {
    if (auto r = check(options); !r) return r.error();
    options.loops = std::max(options.loops, 1U);
    wire::detail::cap_time_limits(options.limits);
    options.drain_timeout = wire::detail::capped(options.drain_timeout);
    auto s = std::make_unique<state>(std::move(options), std::move(h));
    const auto& most = s->options.limits;
    if (most.max_connections_per_address < most.max_connections) {
        s->peers = std::make_unique<detail::peer_counts>(most.max_connections_per_address);
    }
    for (unsigned i = 0; i < s->options.loops; ++i) {
        s->workers.push_back(
            std::make_unique<detail::worker>(s->options, s->handle, s->peers.get(), s->doors));
        if (auto r = s->workers.back()->start(); !r) return r.error();
    }
    return s;
}

// Each loop accepts from all of the sockets.
result<void> server::share(state& s) {
    for (const unique_fd& listening : s.doors.sockets()) {
        for (const auto& w : s.workers) {
            auto copy = detail::copy_of(listening);
            if (!copy) return copy.error();
            if (auto r = w->accept_from(*std::move(copy), listener::use::shared); !r) return r;
        }
    }
    return {};
}

result<server> server::listen(std::uint16_t port, handler h, server_options options) {
    auto made = prepare(std::move(h), std::move(options));
    if (!made) return made.error();
    state& s = **made;
    if (!s.options.unix_socket.empty()) {
        auto listening = listen_unix(s.options.unix_socket, {.backlog = s.options.backlog,
                                                             .mode = s.options.unix_socket_mode});
        if (!listening) return listening.error();
        s.doors.add(std::move(listening->socket));
        s.doors.keep(std::move(listening->file));
        if (auto r = share(s); !r) return r.error();
        return server(*std::move(made));
    }
    auto at = address::parse(s.options.host, port);
    if (!at) return at.error();
    listen_options how;
    how.backlog = s.options.backlog;
    how.keep_alive = s.options.keep_alive;
    how.reuse_port = s.options.loops > 1;
    for (const auto& w : s.workers) {
        auto listening = listen_tcp(*at, how);
        if (!listening) return listening.error();
        if (s.port == 0) {
            const auto bound = local_address(listening->get());
            if (!bound) return bound.error();
            at = *bound;
            s.port = at->port();
        }
        auto copy = detail::copy_of(*listening);
        if (!copy) return copy.error();
        s.doors.add(*std::move(listening));
        if (auto r = w->accept_from(*std::move(copy), listener::use::alone); !r) return r.error();
    }
    return server(*std::move(made));
}

result<server> server::listen(std::vector<unique_fd> sockets, handler h, server_options options) {
    if (sockets.empty()) return error(errc::bad_argument, "no listening socket was given");
    for (const unique_fd& s : sockets) {
        if (auto r = prepare_inherited(s); !r) return r.error();
    }
    auto made = prepare(std::move(h), std::move(options));
    if (!made) return made.error();
    state& s = **made;
    for (unique_fd& listening : sockets) {
        const auto bound = local_address(listening.get());
        if (bound && s.port == 0) s.port = bound->port();
        if (bound && bound->family() != AF_UNIX &&
            !wire::detail::set_keep_alive(listening.get(), s.options.keep_alive))
            return system_failure(errno, "TCP keep-alive");
        s.doors.add(std::move(listening));
    }
    if (auto r = share(s); !r) return r.error();
    return server(*std::move(made));
}

result<server> server::listen(std::uint16_t port, router routes, server_options options) {
    auto h = asking(std::move(routes), options);
    return listen(port, std::move(h), std::move(options));
}

result<server> server::listen(std::vector<unique_fd> sockets, router routes,
                              server_options options) {
    auto h = asking(std::move(routes), options);
    return listen(std::move(sockets), std::move(h), std::move(options));
}

result<std::vector<unique_fd>> server::hand_over() { return state_->doors.hand_over(); }

std::uint16_t server::port() const noexcept { return state_->port; }

void server::run() {
    struct joining {
        ~joining() {
            if (!complete) all->stop();
            for (std::thread& t : threads) t.join();
        }
        server* all;
        std::vector<std::thread> threads = {};
        bool complete = false;
    } others{this};
    for (std::size_t i = 1; i < state_->workers.size(); ++i)
        others.threads.emplace_back([w = state_->workers[i].get()] { w->run(); });
    state_->workers[0]->run();
    others.complete = true;  // else one could not be started
}

int server::descriptor() noexcept { return state_->workers[0]->loop().descriptor(); }
clock::duration server::next_timeout() const noexcept { return state_->workers[0]->next_timeout(); }
bool server::run_once(clock::duration longest) { return state_->workers[0]->run_once(longest); }
event_loop& server::loop() noexcept { return state_->workers[0]->loop(); }

void server::stop() noexcept {
    for (const auto& w : state_->workers) w->stop();
}

namespace {

error serve(result<server> s) {
    if (!s) return s.error();
    try {
        s->run();
    } catch (const std::system_error& e) {
        return system_failure(e.code().value(), "cannot start a thread");
    }
    return {};
}

}  // namespace

error start_server(std::uint16_t port, handler h, server_options options) {
    return serve(server::listen(port, std::move(h), std::move(options)));
}

error start_server(std::uint16_t port, router routes, server_options options) {
    return serve(server::listen(port, std::move(routes), std::move(options)));
}

}  // namespace wire::http
