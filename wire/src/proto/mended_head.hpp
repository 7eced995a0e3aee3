// Heads of responses that break RFC 9112 as old servers do: written anew, so that the strict parser
// takes them. For client_options::risky_accept_malformed_heads, which lists what is mended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"

namespace wire::http::detail {

// How far a head was mended.
struct mending {
    enum class state : std::uint8_t { incomplete, complete, failed };
    state what = state::incomplete;
    errc error = errc::none;   // when failed
    std::size_t consumed = 0;  // bytes of `in` that the head took, when complete
};

// Reads the head at the begin of `in` and, once it is complete, writes it to `out` instead of what
// `out` held. Until then all bytes must be given again, with those that have come since. What is
// mended cannot change where the body ends: doubtful Content-Length and Transfer-Encoding lines
// fail with errc::bad_header_name, or are left for the parser to refuse. errc::bad_status_line as
// soon as this is no HTTP, header_too_large beyond limits::max_header_bytes.
mending mend_response_head(std::string_view in, const limits& l, buffer& out);

}  // namespace wire::http::detail
