#include "opener.hpp"

namespace wire::detail {

result<route> route_to(const url& to, const open_options& options) {
    route out;
    out.host = to.host;
    out.port = to.port;
    out.secure = to.secure();
    if (options.proxy.empty() || goes_direct(options.no_proxy, to)) return out;
    auto proxy = parse_proxy(options.proxy);
    if (!proxy) return proxy.error();
    out.proxy = *std::move(proxy);
    out.tunnelled = to.secure() || to.websocket();
    return out;
}

result<std::shared_ptr<wire::tls::client_context>> opening_base::tls_of(const open_options& options) {
    if (options.tls != nullptr) return options.tls;
    if (tls == nullptr) {
        auto made = wire::tls::client_context::create();
        if (!made) return made;
        tls = *std::move(made);
    }
    return tls;
}

opener::opener(stream& s, opening_base& base, const open_options& options, const open_timeouts& timeouts, const limits& bounds, route to)
    : stream_(&s), base_(&base), options_(&options), timeouts_(timeouts), bounds_(&bounds), to_(std::move(to)) {}

void opener::start(callback done) {
    done_ = std::move(done);
    since_ = clock::now();
    const std::string& host = to_.proxy ? to_.proxy->host : to_.host;
    const std::uint16_t port = to_.proxy ? to_.proxy->port : to_.port;
    if (auto literal = address::parse(host, port)) {
        race({*literal});
        return;
    }
    looking_up_ = std::make_shared<char>();
    enter(phase::resolve, timeouts_.resolve_timeout);
    base_->names.resolve(host, port, options_->resolve,
                         [this, alive = std::weak_ptr<char>(looking_up_)](result<std::vector<address>> found) {
                             if (alive.expired()) return;
                             times_.resolve = lap();
                             looking_up_.reset();
                             if (!found) return fail({found.code(), "name look-up: " + found.error().message});
                             if (found->empty()) return fail({errc::not_resolved, "name look-up: no address"});
                             race(interleave(*found));
                         });
}

void opener::race(std::vector<address> addresses) {
    enter(phase::connect, timeouts_.connect_timeout);
    connector_.emplace(*base_->loop, options_->connect, options_->attempt_delay);
    connector_->start(std::move(addresses), [this](result<unique_fd> socket) { connected(std::move(socket)); });
}

void opener::connected(result<unique_fd> socket) {
    times_.connect += lap();
    if (!socket) return fail(socket.error());
    if (!to_.tunnelled && to_.secure) {
        auto context = base_->tls_of(*options_);
        if (!context) return fail(context.error());
        auto tls = (*context)->connect(to_.host, to_.port);
        if (!tls) return fail(tls.error());
        stream_->set_filter(*std::move(tls));
        enter(phase::tls, timeouts_.tls_timeout);
    }
    if (auto attached = stream_->attach(*base_->loop, *std::move(socket)); !attached) return fail(attached.error());
    if (to_.tunnelled) {
        enter(phase::proxy, timeouts_.proxy_timeout);
        tunnel_.emplace(*to_.proxy, to_.host, to_.port, *bounds_);
        tunnel_->ask(stream_->out());
        stream_->flush_later();
    } else if (!to_.secure) {
        finish();
    }
}

void opener::on_data(std::span<char> bytes) {
    const auto stands = tunnel_->receive(bytes);
    if (!stands) return fail(stands.error());
    if (!*stands) return;
    times_.proxy = lap();
    if (!to_.secure) return finish();
    auto context = base_->tls_of(*options_);
    if (!context) return fail(context.error());
    auto tls = (*context)->connect(to_.host, to_.port);
    if (!tls) return fail(tls.error());
    enter(phase::tls, timeouts_.tls_timeout);
    if (auto begun = stream_->secure(*std::move(tls)); !begun) fail({begun.code(), "TLS handshake: " + begun.error().message});
}

void opener::on_open() {
    times_.tls = lap();
    finish();
}

void opener::on_end() {
    fail({errc::closed_early, "proxy " + to_.proxy->name() + ": it closed the connection instead of answering"});
}

void opener::on_failure(const error& why) {
    if (phase_ == phase::proxy) return fail({why.code, "proxy " + to_.proxy->name() + ": " + why.message});
    // Whom not to trust at one address is not to be trusted at another, and behind a proxy there is only one.
    if (!to_.tunnelled && why.code != errc::tls_failed) {
        lap();
        enter(phase::connect, timeouts_.connect_timeout);
        if (connector_->go_on([this](result<unique_fd> socket) { connected(std::move(socket)); })) return;
    }
    fail({why.code, why.code == errc::tls_failed ? why.message : "TLS handshake: " + why.message});
}

void opener::enter(phase p, std::chrono::milliseconds limit) {
    phase_ = p;
    base_->loop->arm(timer_, clock::now() + limit);
}

std::chrono::nanoseconds opener::lap() noexcept {
    const time_point now = clock::now();
    return now - std::exchange(since_, now);
}

void opener::on_timer() {
    const auto within = [](std::chrono::milliseconds limit) { return " within " + std::to_string(limit.count()) + " ms"; };
    switch (phase_) {
        case phase::resolve: return fail({errc::timed_out, "name look-up: no answer" + within(timeouts_.resolve_timeout)});
        case phase::connect:
            return fail({errc::timed_out, "connect: no connection" + within(timeouts_.connect_timeout) + " (" + connector_->story() + ")"});
        case phase::proxy: return fail({errc::timed_out, "proxy " + to_.proxy->name() + ": no answer" + within(timeouts_.proxy_timeout)});
        case phase::tls: return fail({errc::timed_out, "TLS handshake: not complete" + within(timeouts_.tls_timeout)});
    }
}

void opener::finish() {
    base_->loop->disarm(timer_);
    std::exchange(done_, nullptr)(times_);
}

void opener::fail(error why) {
    base_->loop->disarm(timer_);
    if (connector_) connector_->stop();
    stream_->close();
    std::exchange(done_, nullptr)(std::move(why));
}

}  // namespace wire::detail
