// http, https, ws and wss URLs (RFC 3986, RFC 9110 section 4.2, RFC 6455 section 3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"

namespace wire {

struct url {
    std::string scheme;      // lower case: http https ws wss
    std::string host;        // lower case; an IPv6 literal without its brackets
    std::uint16_t port = 0;  // given, or 80 / 443 by scheme
    std::string target;      // path and query for the request line; at least "/"

    bool secure() const noexcept { return scheme == "https" || scheme == "wss"; }
    bool websocket() const noexcept { return scheme == "ws" || scheme == "wss"; }
    bool ipv6() const noexcept { return host.find(':') != std::string::npos; }
    // The value of Host: with brackets where needed, and the port only when it is not the scheme's
    // own.
    std::string authority() const;
};

// Refused: other schemes, user information (RFC 9110 section 4.2.4), empty hosts, bad ports, and
// characters that may not stand in a request target. A fragment is dropped.
result<url> parse_url(std::string_view text);

// "%41" becomes "A". Refused: "%" without two hexadecimal digits.
result<std::string> percent_decode(std::string_view text);

// All but the unreserved characters of RFC 3986 section 2.3 as "%41": fit for one name or value of
// a query, or one segment of a path.
std::string percent_encode(std::string_view text);

// Adds name=value, both encoded, to the query of `url`, before its fragment if it has one:
// with_query("http://x/find", "q", "a&b") is "http://x/find?q=a%26b".
std::string with_query(std::string url, std::string_view name, std::string_view value);

// The absolute URL that `reference` means where `base`, an absolute URL, is read (RFC 3986
// section 5.2, strict). Any scheme; what is not a URL at all comes out as such, for parse_url() to
// refuse.
std::string resolve_reference(std::string_view base, std::string_view reference);

}  // namespace wire
