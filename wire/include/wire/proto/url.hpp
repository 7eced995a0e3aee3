// http, https, ws and wss URLs (RFC 3986, RFC 9110 section 4.2, RFC 6455 section 3): taken apart,
// percent-encoded, resolved against a base.
//
//     auto where = wire::parse_url("https://example.org/find?q=1");
//     if (where) connect(where->host, where->port);  // "example.org", 443
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"

namespace wire {

// The parts that a client needs. Owns its text.
struct WIRE_EXPORT url {
    std::string scheme;      // lower case: http https ws wss
    std::string host;        // lower case; an IPv6 literal without its brackets
    std::uint16_t port = 0;  // as given, or 80 / 443 by scheme
    std::string target;      // path and query for the request line; at least "/"

    // TLS: https or wss.
    bool secure() const noexcept { return scheme == "https" || scheme == "wss"; }
    // ws or wss.
    bool websocket() const noexcept { return scheme == "ws" || scheme == "wss"; }
    // The host is an IPv6 literal.
    bool ipv6() const noexcept { return host.find(':') != std::string::npos; }
    // The value of Host: with brackets where needed, and the port only when it is not the scheme's
    // own.
    std::string authority() const;
};

// Takes an absolute URL apart. errc::bad_url, with the reason, for other schemes, user information
// (RFC 9110 section 4.2.4), empty hosts, bad ports, and characters that may not stand in a request
// target. A fragment is dropped.
WIRE_EXPORT result<url> parse_url(std::string_view text);

// "%41" becomes "A"; '+' stays. errc::bad_url for '%' without two hexadecimal digits.
WIRE_EXPORT result<std::string> percent_decode(std::string_view text);

// What the path of a request target means: each segment percent-decoded, once, so that "/ech%6F" is
// "/echo" (RFC 3986 section 6.2.2.2, RFC 9110 section 4.2.3) and "/a%252Fb" is "/a%2Fb". Paths that
// two readers could take for different ones are errc::bad_target: '%' without two hexadecimal
// digits, an encoded '/' or NUL, and the segments "." and "..", also encoded. Empty segments stay.
// The result may hold any byte but NUL.
WIRE_EXPORT result<std::string> canonical_path(std::string_view path);

// Encodes everything but the unreserved characters of RFC 3986 section 2.3, as in "%41": fit for
// one name or value of a query, or for one segment of a path.
WIRE_EXPORT std::string percent_encode(std::string_view text);

// Adds name=value, both encoded, to the query of `url`, before its fragment if it has one:
// with_query("http://x/find", "q", "a&b") is "http://x/find?q=a%26b".
WIRE_EXPORT std::string with_query(std::string url, std::string_view name, std::string_view value);

// The absolute URL that `reference` means where `base`, an absolute URL, is read (RFC 3986
// section 5.2, strict). Of any scheme. Cannot fail: what is no URL at all comes out as such, and
// parse_url() refuses it.
WIRE_EXPORT std::string resolve_reference(std::string_view base, std::string_view reference);

// parse_url() as a client does: without the path's dot segments (RFC 3986 section 5.2.4), so that
// "http://a/b/../c" is of "/c".
WIRE_EXPORT result<url> parse_url_to_request(std::string_view text);

}  // namespace wire
