// Conditional requests and ranges (RFC 9110 sections 13 and 14): what a request's fields ask of a
// representation of known validators and size. No clock, no file.
//
//     const http::request& r = res.request();  // of a handler
//     const auto how = http::check_preconditions(r.headers(), r.method(), {.etag = "\"v7\""});
//     if (how == http::precondition::not_modified) return res.status(304).send();
//     if (how == http::precondition::failed) return res.status(412).send();
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// Seconds since 1970 of a date in any of the three forms of RFC 9110 section 5.6.7; none for
// anything else, including a day that does not exist. Years of two digits are of 1970 to 2069, as
// in cookies: none is more than 50 years ahead, which that section forbids.
WIRE_EXPORT std::optional<std::int64_t> parse_date(std::string_view text) noexcept;

// What identifies one version of a representation.
struct validators {
    // With its quotes, and W/ when it is weak; empty: there is none. Must outlive the call.
    std::string_view etag;
    // Last modification, in seconds since 1970; none where it is not known: dates are then ignored.
    std::optional<std::int64_t> modified = {};
    // It cannot have changed twice within that second, so the date may be compared strongly
    // (section 8.8.2.2).
    bool date_is_strong = false;
};

// What to do: answer as usual, answer 304, or answer 412.
enum class precondition { holds, not_modified, failed };

// Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order of
// section 13.2.2. Dates that are malformed or given twice are ignored. One in the future is not:
// a representation of `modified` was not modified since then (sections 13.1.3 and 13.1.4).
WIRE_EXPORT precondition check_preconditions(const header_list& fields, method m,
                                             const validators& v) noexcept;

// A part of a representation, in bytes from its beginning.
struct byte_range {
    std::uint64_t first = 0;
    std::uint64_t length = 0;
};

// How to answer a request with regard to its Range field.
enum class range_kind {
    // 200 with everything: no range is asked for, If-Range does not hold, the field is not
    // understood or given twice and to be ignored, or the last bytes are asked for where there are
    // none. Also for more than `most` ranges and for those that overlap (section 17.15): an honest
    // client may ask so for the first and the last bytes of a file that is smaller than it thinks.
    whole,
    // 206 with the ranges.
    partial,
    // 416: all are beyond the end.
    unsatisfiable,
};

// Reads Range and If-Range of a GET for a representation of `size` bytes. `out` is cleared; with
// `partial` it gets the ranges, cut to the size, in the order in which they were asked for.
WIRE_EXPORT range_kind check_ranges(const header_list& fields, const validators& v,
                                    std::uint64_t size, std::size_t most,
                                    std::vector<byte_range>& out);

}  // namespace wire::http
