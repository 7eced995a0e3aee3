// Servers behind proxies: whom to believe, and what, about the client that a proxy speaks for.
//
//     for (const char* where : {"10.0.0.0/8", "unix:"})
//         options.trusted_proxies.push_back(*wire::network::parse(where));
//     options.forwarded_fields.x_forwarded_for = true;
//     options.forwarded_fields.x_forwarded_proto = true;
//
// request::client_address(), client_scheme() and client_authority() then tell of the client.
// Nothing is believed of peers that are not trusted.
#pragma once

#include <cstdint>

namespace wire::http {

// Whether connections begin with a PROXY protocol header, version 1 or 2 (proto/proxy_header.hpp).
enum class proxy_protocol : std::uint8_t {
    off,
    // Each does, before TLS too, within limits::header_timeout. request::peer() is then the client,
    // and request::proxied_by() the proxy. A connection of a peer that is not trusted is closed, as
    // is one with anything else. Where a header names nobody (LOCAL, UNKNOWN) peer() is the proxy;
    // where it says that it speaks for somebody all the same (UNKNOWN), proxied_by() is, too, and
    // no forwarded field is believed.
    required,
};

// Fields by which proxies say for whom a request is. Set only what your outermost proxy sets or
// removes in every request: what it hands on unseen is the client's own word.
//
// The fields are read from the right, where the nearest proxy wrote last: an entry is believed when
// the one who added it is trusted, first the connection's peer, then each one in turn, and the
// first that is not trusted is the client. An entry without an address ("unknown", "_hidden", or
// malformed) ends that, and the last one known counts.
struct forwarded_fields {
    // Forwarded (RFC 7239): for, proto and host. Not together with any of the others, because a
    // proxy that writes the one kind hands on the other unseen.
    bool forwarded = false;
    bool x_forwarded_for = false;
    // The scheme and the authority. Where proxies append to them, the entry beside the client's in
    // X-Forwarded-For counts; else the only one.
    bool x_forwarded_proto = false;
    bool x_forwarded_host = false;

    // Whether there is any.
    bool any() const noexcept {
        return forwarded || x_forwarded_for || x_forwarded_proto || x_forwarded_host;
    }
};

}  // namespace wire::http
