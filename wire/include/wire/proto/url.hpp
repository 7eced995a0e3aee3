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
    // The value of Host: with brackets where needed, and the port only when it is not the scheme's own.
    std::string authority() const;
};

// Refused: other schemes, user information (RFC 9110 section 4.2.4), empty hosts, bad ports, and
// characters that may not stand in a request target. A fragment is dropped.
result<url> parse_url(std::string_view text);

// "%41" becomes "A". Refused: "%" without two hexadecimal digits.
result<std::string> percent_decode(std::string_view text);

}  // namespace wire
