// A server's workers, one for each loop: made by listen(), run on a thread each.
#include "wire/server/server.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include "wire/proto/http_types.hpp"
#include "worker.hpp"

namespace wire::http {

struct server::state {
    state(server_options o, handler h) : options(std::move(o)), handle(std::move(h)) {}

    server_options options;
    handler handle;
    std::uint16_t port = 0;
    std::unique_ptr<detail::peer_counts> peers;  // null: no limit for each address
    std::vector<std::unique_ptr<detail::worker>> workers;
};

server::server(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
server::server(server&&) noexcept = default;
server& server::operator=(server&&) noexcept = default;
server::~server() = default;

result<server> server::listen(std::uint16_t port, handler h, server_options options) {
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
    auto at = address::parse(options.host, port);
    if (!at) return at.error();
    options.loops = std::max(options.loops, 1U);
    auto s = std::make_unique<state>(std::move(options), std::move(h));
    const auto& most = s->options.limits;
    if (most.max_connections_per_address < most.max_connections) {
        s->peers = std::make_unique<detail::peer_counts>(most.max_connections_per_address);
    }
    listen_options how;
    how.backlog = s->options.backlog;
    how.reuse_port = s->options.loops > 1;
    for (unsigned i = 0; i < s->options.loops; ++i) {
        auto listening = listen_tcp(*at, how);
        if (!listening) return listening.error();
        if (i == 0) {
            const auto bound = local_address(listening->get());
            if (!bound) return bound.error();
            at = *bound;
        }
        s->workers.push_back(
            std::make_unique<detail::worker>(s->options, s->handle, s->peers.get()));
        if (auto r = s->workers.back()->start(*std::move(listening)); !r) return r.error();
    }
    s->port = at->port();
    return server(std::move(s));
}

result<server> server::listen(std::uint16_t port, router routes, server_options options) {
    const auto shared = std::make_shared<router>(std::move(routes));
    if (!options.plan_body && shared->has_streams())
        options.plan_body = [shared](const request& r) { return shared->plan_body(r); };
    return listen(port, handler([shared](response res) { (*shared)(std::move(res)); }),
                  std::move(options));
}

std::uint16_t server::port() const noexcept { return state_->port; }

void server::run() {
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < state_->workers.size(); ++i) {
        others.emplace_back([w = state_->workers[i].get()] { w->run(); });
    }
    state_->workers[0]->run();
    for (std::thread& t : others) t.join();
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
    s->run();
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
