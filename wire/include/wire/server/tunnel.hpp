// Tunnels: what a handler makes of a CONNECT request (RFC 9110 section 9.3.6), as a proxy does.
//
//     options.tunnels = true;
//     auto server = http::server::listen(8080, [](http::response res) {
//         if (res.request().method() != http::method::connect) return routes(std::move(res));
//         const http::tunnel_target to = http::target_of(res.request());
//         if (!may_reach(to.host, to.port)) return res.status(403).send("not there\n");
//         http::tunnel t = res.open_tunnel();
//         t.from_peer.read([](std::string_view bytes) { ... }, [](wire::errc why) { ... });
//         t.to_peer.write("bytes");
//     }, options);
//
// Whoever may ask for tunnels may reach whatever this host reaches: check whom you let in, and
// where to. Connect first, then open the tunnel; a target that is not to be had is a 502 or 504.
#pragma once

#include <cstdint>
#include <string>

#include "wire/base/export.hpp"
#include "wire/server/body.hpp"
#include "wire/server/request.hpp"
#include "wire/server/response.hpp"

namespace wire::http {

// What response::open_tunnel() gives: the bytes of both directions, without any framing. The two
// handles are those of bodies, with their rules for threads, pauses and congestion.
//
// `from_peer` begins with what came right behind the request's head. Its end handler is given
// errc::none when the peer will send no more; the other direction goes on. When to_peer is
// finished, what was written is sent and the connection ends; one that is destroyed before that
// resets it. Neither handler of from_peer is called then.
//
// A tunnel in which no byte has moved either way for limits::idle_timeout ends: from_peer with
// errc::timed_out, to_peer with on_closed(). A peer that takes nothing for limits::write_timeout is
// dropped. While a server drains, tunnels go on until server_options::drain_timeout; see
// response::stop_token().
struct tunnel {
    body_reader from_peer;
    body_writer to_peer;
};

// Where a CONNECT asks to be connected to.
struct tunnel_target {
    std::string host;  // a name or an address, IPv6 without brackets
    std::uint16_t port = 0;
};
// Of the request's target, whose form the server has checked: neither part is missing, and the port
// is not 0. Empty for any other request.
WIRE_EXPORT tunnel_target target_of(const request& r);

}  // namespace wire::http
