// The protocol version, which ends a request line and begins a status line.
#pragma once

#include <string_view>

#include "char_tables.hpp"
#include "wire/base/result.hpp"

namespace wire::http::detail {

enum class version_scan { incomplete, complete, failed };

// "HTTP/1.x" at `p`. Minor versions above 1 are treated as 1 (RFC 9110 section 2.5).
inline version_scan scan_version(const char*& p, const char* end, int& minor, errc& error,
                                 errc otherwise) noexcept {
    constexpr std::string_view prefix = "HTTP/1.";
    if (end - p >= 8 && std::string_view(p, 7) == prefix && is_digit(p[7])) {
        minor = p[7] == '0' ? 0 : 1;
        p += 8;
        return version_scan::complete;
    }
    for (std::size_t i = 0; i < 8; ++i, ++p) {
        if (p == end) return version_scan::incomplete;
        if (i < prefix.size() ? *p == prefix[i] : is_digit(*p)) continue;
        error = i == 5 && is_digit(*p) ? errc::bad_version : otherwise;
        return version_scan::failed;
    }
    return version_scan::incomplete;  // not reached: all eight matching was dealt with above
}

}  // namespace wire::http::detail
