// What server_options::on_handshake_failure is told.
//
//     options.on_handshake_failure = [](const http::handshake_failure& f) {
//         log(f.peer.to_string(), f.reason, f.alert.name);
//     };
//
// The call is made on the loop's thread, with several loops from several threads at once.
#pragma once

#include <string_view>

#include "wire/base/result.hpp"
#include "wire/loop/address.hpp"
#include "wire/tls/connection.hpp"

namespace wire::http {

// A connection that ended before its TLS handshake was complete, except by server::stop(). Valid
// during the call.
struct handshake_failure {
    // The other end of the connection, as request::peer() would give it.
    address peer;
    // tls_failed; truncated where the peer closed the connection, as clients do that only look
    // whether the port is open; timed_out; reset and others of the socket's.
    errc code = errc::none;
    // Why, in a line of less than 300 bytes, none of them chosen by the peer.
    std::string_view reason;
    // What the peer said of it, or was told.
    wire::tls::handshake_alert alert;
};

}  // namespace wire::http
