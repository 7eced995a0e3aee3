// Which content coding a client wants (RFC 9110 section 12.5.3).
//
//     switch (wire::http::preferred_coding(request.headers)) {
//     case wire::http::content_coding::gzip: ...
//     }
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/proto/http_types.hpp"

namespace wire::http {

// The codings that wire itself can make; identity is the body as it is.
enum class content_coding : std::uint8_t { identity, gzip, deflate };

// "gzip", "deflate"; "" for identity, which no Content-Encoding field names.
std::string_view to_string(content_coding c) noexcept;

// The coding with the greatest weight in all Accept-Encoding fields; of equal ones gzip before
// deflate before identity. Identity is also the answer when there is no such field, and when
// nothing that is left is acceptable. "*" stands for gzip and deflate where they are not named.
// Malformed elements count as not there.
content_coding preferred_coding(const header_list& fields) noexcept;

}  // namespace wire::http
