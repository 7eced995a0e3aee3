// Tunnels: a CONNECT's answer without framing. Its bytes go the way of bodies in pieces, by `in`
// and `out` of the exchange, and the connection is in its phase `body` until the peer's end, then
// in `handling`. The exchange ends with the tunnel. Programs that open none are linked without
// this.
#include "wire/server/tunnel.hpp"

#include <charconv>
#include <memory>
#include <utility>

#include "connection.hpp"
#include "exchange.hpp"
#include "worker.hpp"

namespace wire::http {

tunnel response::open_tunnel() {
    detail::exchange& e = *exchange_;
    if (e.req.method() != method::connect || e.status > 299) e.refused = true;
    e.hooks.clear();
    e.tunnel = &detail::connection::begin_tunnel;
    e.in = std::make_shared<detail::body_source>(e.handle);
    e.out = std::make_shared<detail::body_channel>(e.handle, e.handle->max_unsent_bytes);
    tunnel both{body_reader(e.in), body_writer(e.out)};
    send();
    return both;
}

tunnel_target target_of(const request& r) {
    if (r.method() != method::connect) return {};
    std::string_view host = r.target();
    const std::size_t colon = host.rfind(':');
    tunnel_target to;
    std::from_chars(host.data() + colon + 1, host.data() + host.size(), to.port);
    host = host.substr(0, colon);
    if (host.front() == '[') host = host.substr(1, host.size() - 2);
    to.host = host;
    return to;
}

namespace detail {

void connection::begin_tunnel(connection& c, exchange& e) {
    e.has_type = true;  // there is no content that could have one
    e.body.clear();
    c.write_response(e, true, framing::until_close, 0);
    e.close = true;
    e.in->at = &c;
    c.enter(phase::body);
    e.out->attach(c, framing::until_close, 0);
    c.go_on();
}

}  // namespace detail

}  // namespace wire::http
