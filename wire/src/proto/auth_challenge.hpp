// WWW-Authenticate and Proxy-Authenticate (RFC 9110 section 11.6.1): the challenges in one field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wire::http::detail {

struct auth_param {
    std::string_view name;
    std::string_view value;  // of a quoted string what is between the quotes: see unescape()
};

// One challenge. Views into the field.
struct auth_challenge {
    std::string_view scheme;
    std::vector<auth_param> params;  // none where a token68 stands in their place

    // The value of the parameter of that name, in any case of letters, without escapes. nullopt
    // where there is none.
    std::optional<std::string> param(std::string_view name) const;
};

// Appends the challenges of one field to `out`. False, with `out` unchanged, where the field is
// malformed, or a challenge has a parameter twice or more than 32 of them.
bool parse_auth_challenges(std::string_view field, std::vector<auth_challenge>& out);

// A quoted string's text: what the quotes hold, without the backslashes that escape.
std::string unescape(std::string_view quoted);
// `text` as a quoted string with its quotes.
std::string quote(std::string_view text);

}  // namespace wire::http::detail
