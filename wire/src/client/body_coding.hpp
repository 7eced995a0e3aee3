// Bodies out of their content coding.
#pragma once

#include <optional>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/limits.hpp"
#include "wire/proto/compression.hpp"

namespace wire::http {

// Of a Content-Encoding (RFC 9110 section 8.4.1); none for what is not decoded here: another coding, or several. "deflate" is zlib's
// format by the standard, and bare DEFLATE by some servers; the first bytes of the body tell.
std::optional<wire::coding> body_coding_of(std::string_view content_encoding, std::string_view body) noexcept;

// Appends to `out`. Errors: bad_compressed_data, also for a body that breaks off or goes on after its end; expands_too_much;
// body_too_large.
errc decode_body(std::string_view body, wire::coding c, const limits& l, buffer& out);

}  // namespace wire::http
