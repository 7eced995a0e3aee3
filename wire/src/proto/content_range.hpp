// The Content-Range field of a 206 response (RFC 9110 section 14.4).
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "char_tables.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http::detail {

struct content_range {
    std::uint64_t first = 0;             // the first byte
    std::uint64_t last = 0;              // and the last one
    std::optional<std::uint64_t> whole;  // the complete length; none where it says "*"
};

// "bytes first-last/whole". None where it is malformed, in another unit, unsatisfied ("*/whole"),
// or contradicts itself.
inline std::optional<content_range> parse_content_range(std::string_view text) noexcept {
    if (!equals_ignoring_case(text.substr(0, 6), "bytes ")) return std::nullopt;
    const char* at = text.data() + 6;
    const char* const end = text.data() + text.size();
    const auto number = [&](std::uint64_t& n, char behind) {
        const auto read = std::from_chars(at, end, n);
        if (read.ec != std::errc()) return false;
        at = read.ptr;
        if (behind == '\0') return at == end;
        return at != end && *at++ == behind;
    };
    content_range r;
    if (!number(r.first, '-') || !number(r.last, '/') || r.last < r.first) return std::nullopt;
    if (std::string_view(at, static_cast<std::size_t>(end - at)) == "*") return r;
    std::uint64_t whole = 0;
    if (!number(whole, '\0') || whole <= r.last) return std::nullopt;
    r.whole = whole;
    return r;
}

}  // namespace wire::http::detail
