// Which fields may follow a body, and those that did.
#include "wire/proto/trailers.hpp"

#include <algorithm>
#include <array>

#include "char_tables.hpp"

namespace wire::http {

bool may_be_trailer(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 33> others{
        "age",
        "authorization",
        "cache-control",
        "connection",
        "content-encoding",
        "content-length",
        "content-range",
        "content-type",
        "cookie",
        "date",
        "expect",
        "expires",
        "host",
        "keep-alive",
        "location",
        "max-forwards",
        "pragma",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "range",
        "retry-after",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "vary",
        "via",
        "warning",
        "www-authenticate",
        "x-forwarded-for",
    };
    if (!is_token(name) || equals_ignoring_case(name.substr(0, 3), "if-")) return false;
    return std::none_of(others.begin(), others.end(), [name](std::string_view other) {
        return equals_ignoring_case(name, other);
    });
}

void trailer_list::add(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !may_be_trailer(line.substr(0, colon))) return;
    const std::string_view kept = lines_.emplace_back(line);
    fields_.push_back({kept.substr(0, colon), detail::trim(kept.substr(colon + 1))});
}

}  // namespace wire::http
