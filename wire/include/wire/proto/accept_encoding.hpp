// Which content coding a client wants (RFC 9110 section 12.5.3).
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/proto/http_types.hpp"

namespace wire::http {

enum class content_coding : std::uint8_t { identity, gzip, deflate };

// "gzip", "deflate"; "" for identity.
std::string_view to_string(content_coding c) noexcept;

// Of gzip, deflate and identity that with the greatest weight in all Accept-Encoding fields, of
// equals the first in that order. Identity, where it is not named, comes last; it is also the
// answer where there is no such field, or where nothing acceptable is left. Malformed elements
// count as not there.
content_coding preferred_coding(const header_list& fields) noexcept;

}  // namespace wire::http
