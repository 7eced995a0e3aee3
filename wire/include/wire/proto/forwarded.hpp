// What proxies write of the requests that they pass on: Forwarded (RFC 7239) and the fields that
// preceded it. Only the syntax: whom to believe is server_options::trusted_proxies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/proto/ip_endpoint.hpp"

namespace wire::http {

// One element of Forwarded, which one proxy added: the parameters that RFC 7239 section 5 names,
// without quotes; "" for one that is not there. Views into the field; a quoted value that holds
// backslashes stays as it was sent.
struct forwarded_element {
    std::string_view by;
    std::string_view from;  // "for"
    std::string_view host;
    std::string_view proto;
};

// The elements of one Forwarded field, in their order, appended to `out`; empty ones are left out.
// White space around ';' is accepted besides what the grammar has. False, with any of them
// appended, when the field is malformed, a parameter comes twice in an element, or there are more
// than `most` elements. In a field to which proxies append, whoever wrote the beginning may have
// meant to swallow what they wrote, by a quote that does not end: take_last_forwarded() tells them
// apart.
WIRE_EXPORT bool parse_forwarded(std::string_view field, std::size_t most,
                                 std::vector<forwarded_element>& out);

// Takes the text of the last element off `field`, with the comma before it; "" for an empty one.
// Quotes are paired from the right, so that one which a client left open does not reach into what
// proxies appended. The text need not be an element: parse_forwarded() says.
WIRE_EXPORT std::string_view take_last_forwarded(std::string_view& field) noexcept;

// Whom a proxy had a request from (RFC 7239 section 6).
struct forwarded_node {
    enum class kind : std::uint8_t {
        address,  // an IP address, perhaps with a port
        unknown,  // "unknown"
        hidden,   // an obfuscated identifier: '_' and letters, digits, '.', '_', '-'
    };
    kind what = kind::unknown;
    ip_endpoint at;  // with kind::address; port 0 where none was given, or an obfuscated one
};

// A node of Forwarded, without quotes: "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]:80", "unknown",
// "_hidden", each with a port or without. nullopt for anything else.
WIRE_EXPORT std::optional<forwarded_node> parse_forwarded_node(std::string_view text) noexcept;
// An entry of X-Forwarded-For, which nobody specified: the same, and IPv6 without brackets.
WIRE_EXPORT std::optional<forwarded_node> parse_x_forwarded_for(std::string_view text) noexcept;

}  // namespace wire::http
