// The path of a request target: which ones name one resource only, and what they mean decoded.
#pragma once

#include <cstdint>
#include <string_view>

namespace wire::http::detail {

enum class path_form : std::uint8_t {
    plain,    // means itself
    escaped,  // has percent-encoded bytes, all of them well-formed
    refused,
};

// Refused are paths that two readers could take for different ones, once they are decoded: '%'
// without two hexadecimal digits, an encoded '/', NUL, and dot segments ("." and "..", plain or
// encoded; RFC 3986 section 5.2.4 has clients remove them). All else may be decoded once.
path_form check_path(std::string_view path) noexcept;

}  // namespace wire::http::detail
