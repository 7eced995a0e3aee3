// Dates as servers really write them, for cookies and Retry-After. Strict ones are parse_date() of
// wire/proto/conditional.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/base/export.hpp"

namespace wire::http {

// Seconds since 1970 of a date in any of the forms that are met (RFC 6265 section 5.1.1), the three
// of RFC 9110 section 5.6.7 among them: day, month, year and time in any order, all else skipped,
// years of two digits between 1970 and 2069. None when a part is missing, or for a day or time that
// does not exist. The zone is taken to be GMT.
WIRE_EXPORT std::optional<std::int64_t> parse_lenient_date(std::string_view text) noexcept;

}  // namespace wire::http
