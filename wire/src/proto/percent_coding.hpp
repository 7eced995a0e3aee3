// Percent-encoding undone (RFC 3986 section 2.1), for URLs and for forms.
#pragma once

#include <string>
#include <string_view>

#include "char_tables.hpp"

namespace wire::detail {

// Appends `text` to `out` with each "%41" as the byte it stands for, and each '+' as `plus` (' ' in
// a form, '+' elsewhere). False, with a part appended, when two hexadecimal digits are missing.
inline bool append_percent_decoded(std::string& out, std::string_view text, char plus) {
    out.reserve(out.size() + text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            const int high = text.size() - i > 2 ? http::detail::hex_digit(text[i + 1]) : -1;
            const int low = high >= 0 ? http::detail::hex_digit(text[i + 2]) : -1;
            if (low < 0) return false;
            out.push_back(static_cast<char>(high * 16 + low));
            i += 2;
        } else {
            out.push_back(text[i] == '+' ? plus : text[i]);
        }
    }
    return true;
}

}  // namespace wire::detail
