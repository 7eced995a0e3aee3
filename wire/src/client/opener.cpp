// Opens a stream phase by phase. The phases and their events are listed in opener.hpp.
#include "opener.hpp"

#include <algorithm>

namespace wire::detail {

namespace {

// A SOCKS5 proxy is asked for so many addresses of one server, each on a connection of its own: two
// of each family, where there are both.
constexpr std::size_t most_destinations = 4;

// RFC 6761 section 6.3, as browsers and curl have it: whatever the system's tables say.
std::vector<address> this_host(std::uint16_t port) {
    return {*address::parse("::1", port), address::loopback_v4(port)};
}

bool uses_proxy(const url& to, const open_options& options) {
    return options.unix_socket.empty() && !options.proxy.empty() &&
           !goes_direct(options.no_proxy, to);
}

}  // namespace

bool is_forwarded(const url& to, const open_options& options) {
    return !to.secure() && !to.websocket() && uses_proxy(to, options) &&
           options.proxy.starts_with("http");
}

result<route> route_to(const url& to, const open_options& options) {
    route out;
    out.host = to.host;
    out.port = to.port;
    out.secure = to.secure();
    if (!uses_proxy(to, options)) return out;
    auto proxy = parse_proxy(options.proxy);
    if (!proxy) return proxy.error();
    out.proxy = *std::move(proxy);
    out.tunnelled = !is_forwarded(to, options);
    return out;
}

result<std::shared_ptr<wire::tls::client_context>> opening_base::tls_of(
    const std::shared_ptr<wire::tls::client_context>& chosen) {
    if (chosen != nullptr) return chosen;
    if (tls == nullptr) {
        auto made = wire::tls::client_context::create();
        if (!made) return made;
        tls = *std::move(made);
    }
    return tls;
}

opener::opener(stream& s, opening_base& base, const open_options& options,
               const open_timeouts& timeouts, const limits& bounds, route to)
    : stream_(&s),
      base_(&base),
      options_(&options),
      timeouts_(timeouts),
      bounds_(&bounds),
      to_(std::move(to)) {}

void opener::start(callback done) {
    done_ = std::move(done);
    since_ = clock::now();
    if (!options_->unix_socket.empty()) {
        make_connector().start_unix(options_->unix_socket, [this](result<unique_fd> socket) {
            connected(std::move(socket));
        });
        return;
    }
    const bool gives_addresses = to_.proxy && to_.proxy->socks && !to_.proxy->looks_up_names;
    find(gives_addresses ? phase::destination : phase::resolve);
}

const std::string& opener::host(phase p) const noexcept {
    return to_.proxy && p != phase::destination ? to_.proxy->host : to_.host;
}

std::uint16_t opener::port(phase p) const noexcept {
    return to_.proxy && p != phase::destination ? to_.proxy->port : to_.port;
}

// At once for a literal, and for "localhost" unless the user looks names up.
void opener::find(phase p) {
    if (auto literal = address::parse(host(p), port(p))) return found(p, {*literal});
    if (!options_->resolve && http::equals_ignoring_case(host(p), "localhost"))
        return found(p, this_host(port(p)));
    look_up(p);
}

void opener::look_up(phase p) {
    looking_up_ = std::make_shared<char>();
    enter(p, timeouts_.resolve_timeout);
    const std::weak_ptr<char> alive = looking_up_;
    resolver::callback done = [this, p, alive](const resolver::answer& answer) {
        if (!alive.expired()) looked_up(p, answer);
    };
    const auto wanted = [alive] { return !alive.expired(); };
    if (!base_->cache)
        return base_->names.resolve(host(p), port(p), options_->resolve, wanted, std::move(done));
    const auto* const kept =
        base_->cache->resolve(host(p), port(p), options_->resolve, wanted, std::move(done));
    if (kept == nullptr) return;
    kept_ = p == phase::resolve;
    looked_up(p, *kept);
}

void opener::looked_up(phase p, const result<std::vector<address>>& answer) {
    times_.resolve += lap();
    looking_up_.reset();
    if (!answer) return fail({answer.code(), "name look-up: " + answer.error().message});
    if (answer->empty()) return fail({errc::not_resolved, "name look-up: no address"});
    found(p, *answer);
}

void opener::found(phase p, const std::vector<address>& addresses) {
    auto in_turn = interleave(addresses);
    if (p == phase::destination) {
        if (in_turn.size() > most_destinations) in_turn.resize(most_destinations);
        std::reverse(in_turn.begin(), in_turn.end());
        destinations_ = std::move(in_turn);
        return find(phase::resolve);
    }
    if (destinations_.size() > 1) proxies_ = in_turn;
    race(std::move(in_turn));
}

// For kept addresses to none of which a connection could be made; false for others.
bool opener::look_up_again() {
    if (!std::exchange(kept_, false)) return false;
    base_->cache->drop(host(phase::resolve), port(phase::resolve));
    look_up(phase::resolve);
    kept_ = false;  // another has looked up meanwhile, and that is new enough
    return true;
}

connector& opener::make_connector() {
    enter(phase::connect, timeouts_.connect_timeout);
    return connector_.emplace(*base_->loop, options_->connect, options_->attempt_delay,
                              base_->blocking);
}

void opener::race(std::vector<address> addresses) {
    make_connector().start(std::move(addresses),
                           [this](result<unique_fd> socket) { connected(std::move(socket)); });
}

result<std::unique_ptr<wire::tls::connection>> opener::tls_with_server() {
    auto context = base_->tls_of(options_->tls);
    if (!context) return context.error();
    return (*context)->connect(to_.host, to_.port);
}

result<std::unique_ptr<wire::tls::connection>> opener::tls_with_proxy() {
    auto context =
        base_->tls_of(options_->proxy_tls != nullptr ? options_->proxy_tls : options_->tls);
    if (!context) return context.error();
    return (*context)->connect(to_.proxy->host, to_.proxy->port);
}

void opener::connected(result<unique_fd> socket) {
    times_.connect += lap();
    if (!socket) {
        if (!look_up_again()) fail(socket.error());
        return;
    }
    const bool secure_proxy = to_.proxy && to_.proxy->secure;
    if (secure_proxy) {
        enter(phase::proxy_tls, timeouts_.tls_timeout);
        auto tls = tls_with_proxy();
        if (!tls) return fail(tls.error());
        auto filter = std::make_unique<proxy_filter>(*std::move(tls), to_.proxy->name());
        with_proxy_ = filter.get();
        stream_->set_filter(std::move(filter));
    } else if (!to_.tunnelled && to_.secure) {
        auto tls = tls_with_server();
        if (!tls) return fail(tls.error());
        stream_->set_filter(*std::move(tls));
        enter(phase::tls, timeouts_.tls_timeout);
    }
    if (auto attached = stream_->attach(*base_->loop, *std::move(socket)); !attached)
        return fail(attached.error());
    if (secure_proxy) return;  // on_open() goes on
    if (to_.tunnelled) {
        ask_for_tunnel();
    } else if (!to_.secure) {
        finish();
    }
}

void opener::ask_for_tunnel() {
    enter(phase::proxy, timeouts_.proxy_timeout);
    if (to_.proxy->socks) {
        const bool by_name = destinations_.empty();
        socks_.emplace(*to_.proxy, by_name ? to_.host : destinations_.back().host(),
                       by_name ? to_.port : destinations_.back().port());
        if (auto begun = socks_->begin(stream_->out()); !begun) return fail(begun.error());
    } else {
        tunnel_.emplace(*to_.proxy, to_.host, to_.port, *bounds_);
        tunnel_->ask(stream_->out());
    }
    stream_->flush_later();
}

// A proxy says no more on a connection on which it has refused.
bool opener::try_next_destination() {
    if (destinations_.size() < 2 || !socks_->is_unreachable()) return false;
    destinations_.pop_back();
    times_.proxy += lap();
    stream_->close();
    race(proxies_);
    return true;
}

int opener::refusal() const noexcept {
    if (tunnel_) return tunnel_->refusal();
    return socks_ && socks_->is_unreachable() ? 502 : 0;
}

void opener::on_data(std::span<char> bytes) {
    if (phase_ != phase::proxy)
        return fail({errc::bad_status_line, "the server speaks before it is asked"});
    const auto stands = socks_ ? socks_->receive(bytes, stream_->out()) : tunnel_->receive(bytes);
    if (!stands) {
        if (socks_ && try_next_destination()) return;
        return fail(stands.error());
    }
    if (!*stands) {
        if (socks_) stream_->flush_later();
        return;
    }
    times_.proxy += lap();
    if (!to_.secure) return finish();
    enter(phase::tls, timeouts_.tls_timeout);
    auto tls = tls_with_server();
    if (!tls) return fail(tls.error());
    result<void> begun;
    if (with_proxy_ != nullptr) {
        begun = with_proxy_->nest(*std::move(tls), stream_->out(), [this] { secured(); });
        stream_->flush_later();
    } else {
        begun = stream_->secure(*std::move(tls));
    }
    if (!begun) fail({begun.code(), "TLS handshake: " + begun.error().message});
}

void opener::on_open() {
    if (phase_ == phase::proxy_tls) {
        times_.proxy += lap();
        if (to_.tunnelled) return ask_for_tunnel();
    } else {
        times_.tls = lap();
    }
    finish();
}

// Called from inside the stream's filter, which finish() might destroy: the timer finishes instead.
void opener::secured() {
    times_.tls = lap();
    enter(phase::done, {});
}

void opener::on_end() {
    fail({errc::closed_early, "it closed the connection instead of answering"});
}

void opener::on_failure(const error& why) {
    if (phase_ == phase::proxy) return fail(why);
    // A wrong certificate will be as wrong at the next address, and behind a proxy there is only
    // one address.
    if ((!to_.tunnelled || phase_ == phase::proxy_tls) && why.code != errc::tls_failed) {
        lap();
        enter(phase::connect, timeouts_.connect_timeout);
        if (connector_->go_on([this](result<unique_fd> socket) { connected(std::move(socket)); }))
            return;
    }
    fail({why.code, why.code == errc::tls_failed ? why.message : "TLS handshake: " + why.message});
}

void opener::enter(phase p, std::chrono::milliseconds limit) {
    phase_ = p;
    base_->loop->arm(timer_, clock::now() + capped(limit));
}

std::chrono::nanoseconds opener::lap() noexcept {
    const time_point now = clock::now();
    return now - std::exchange(since_, now);
}

void opener::on_timer() {
    const auto within = [](std::chrono::milliseconds limit) {
        return " within " + std::to_string(limit.count()) + " ms";
    };
    switch (phase_) {
    case phase::destination:
    case phase::resolve:
        return fail(
            {errc::timed_out, "name look-up: no answer" + within(timeouts_.resolve_timeout)});
    case phase::connect:
        return fail({errc::timed_out, "connect: no connection" + within(timeouts_.connect_timeout) +
                                          " (" + connector_->describe_attempts() + ")"});
    case phase::proxy:
        return fail({errc::timed_out, "no answer" + within(timeouts_.proxy_timeout)});
    case phase::proxy_tls:
    case phase::tls:
        return fail(
            {errc::timed_out, "TLS handshake: not complete" + within(timeouts_.tls_timeout)});
    case phase::done: return finish();
    }
}

void opener::finish() {
    base_->loop->disarm(timer_);
    std::exchange(done_, nullptr)(times_);
}

// Addresses that were of no use are not kept: they may be those that the host had before.
//
// Where there is a proxy, the message says whether it or the server behind it has failed.
void opener::fail(error why) {
    const bool at_host = phase_ == phase::connect || phase_ == phase::proxy_tls ||
                         (phase_ == phase::tls && !to_.proxy);
    if (base_->cache && at_host) base_->cache->drop(host(phase::resolve), port(phase::resolve));
    if (base_->cache && phase_ == phase::proxy && !destinations_.empty())
        base_->cache->drop(to_.host, to_.port);
    if (to_.proxy && phase_ != phase::destination) {
        const std::string proxy = "proxy " + to_.proxy->name();
        if (phase_ == phase::tls || phase_ == phase::done) {
            if (!why.message.starts_with(proxy))
                why.message =
                    to_.host + ":" + std::to_string(to_.port) + " by " + proxy + ": " + why.message;
        } else if (!why.message.starts_with(proxy)) {
            why.message = proxy + ": " + why.message;
        }
    }
    base_->loop->disarm(timer_);
    if (connector_) connector_->stop();
    stream_->close();
    std::exchange(done_, nullptr)(std::move(why));
}

}  // namespace wire::detail
