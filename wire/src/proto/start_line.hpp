// The protocol version, which ends a request line and begins a status line.
#pragma once

#include <string_view>

#include "char_tables.hpp"
#include "wire/base/result.hpp"

namespace wire::http::detail {

enum class version_scan { incomplete, complete, failed };

// "HTTP/1.x" at `p`. Minor versions above 1 are treated as 1 (RFC 9110 section 2.5). Another major
// version is errc::bad_version where it is one digit, a point and a digit, with `behind` next (RFC
// 9112 section 2.3), and whatever else is there `otherwise`.
inline version_scan scan_version(const char*& p, const char* end, char behind, int& minor,
                                 errc& error, errc otherwise) noexcept {
    constexpr std::string_view prefix = "HTTP/1.";
    if (end - p >= 8 && std::string_view(p, 7) == prefix && is_digit(p[7])) {
        minor = p[7] == '0' ? 0 : 1;
        p += 8;
        return version_scan::complete;
    }
    for (std::size_t i = 0; i < 9; ++i, ++p) {
        if (p == end) return version_scan::incomplete;
        if (i == 5 || i == 7 ? is_digit(*p) : *p == (i == 8 ? behind : prefix[i])) continue;
        error = otherwise;
        return version_scan::failed;
    }
    error = errc::bad_version;  // major version 1 was dealt with above
    return version_scan::failed;
}

}  // namespace wire::http::detail
