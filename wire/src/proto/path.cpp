// Checks the path of a request target, segment by segment, without decoding it anywhere.
#include "path.hpp"

#include "char_tables.hpp"

namespace wire::http::detail {

path_form check_path(std::string_view path) noexcept {
    path_form form = path_form::plain;
    std::size_t size = 0;  // of the segment, decoded
    bool only_dots = true;
    for (std::size_t i = 0;; ++i) {
        if (i == path.size() || path[i] == '/') {
            if (only_dots && (size == 1 || size == 2)) return path_form::refused;
            if (i == path.size()) return form;
            size = 0;
            only_dots = true;
            continue;
        }
        char c = path[i];
        if (c == '%') {
            const int high = path.size() - i > 2 ? hex_digit(path[i + 1]) : -1;
            const int low = high >= 0 ? hex_digit(path[i + 2]) : -1;
            if (low < 0) return path_form::refused;
            c = static_cast<char>(high * 16 + low);
            if (c == '/') return path_form::refused;
            form = path_form::escaped;
            i += 2;
        }
        if (c == '\0') return path_form::refused;
        ++size;
        only_dots = only_dots && c == '.';
    }
}

}  // namespace wire::http::detail
