// Conditional requests and ranges (RFC 9110 sections 13 and 14): what a request's fields ask of a
// representation. No clock, no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/proto/http_types.hpp"

namespace wire::http {

// Seconds since 1970 from any of the three forms of RFC 9110 section 5.6.7; nothing for anything
// else. Two-digit years from 70 on are of the last century.
std::optional<std::int64_t> parse_date(std::string_view text) noexcept;

struct validators {
    std::string_view etag;        // with its quotes, and W/ when it is weak; empty: none
    std::int64_t modified = 0;    // seconds since 1970
    bool date_is_strong = false;  // it cannot have changed twice in that second (section 8.8.2.2)
};

enum class precondition { holds, not_modified, failed };  // 304, 412

// If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since, in the order of
// section 13.2.2.
precondition check_preconditions(const header_list& fields, method m, const validators& v) noexcept;

struct byte_range {
    std::uint64_t first = 0;
    std::uint64_t length = 0;
};

enum class range_kind {
    whole,          // none asked for, If-Range does not hold, or not understood: to be ignored
    partial,        // 206
    unsatisfiable,  // 416: beyond the end, more than `most` of them, or overlapping (section 17.15)
};

// Range and If-Range of a GET; the ranges asked for are put into `out`, in the order asked for.
range_kind check_ranges(const header_list& fields, const validators& v, std::uint64_t size,
                        std::size_t most, std::vector<byte_range>& out);

}  // namespace wire::http
