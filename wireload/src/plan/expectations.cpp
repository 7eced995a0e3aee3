#include "plan/expectations.hpp"

#include <algorithm>

namespace wireload {

std::optional<status_set> status_set::parse(std::string_view text) {
    status_set out;
    out.text_ = text;
    while (true) {
        const std::string_view item = text.substr(0, text.find(','));
        if (item.size() != 3 || item[0] < '1' || item[0] > '9') return std::nullopt;
        const std::size_t base = static_cast<std::size_t>(item[0] - '1') * 100;
        if (item.substr(1) == "xx") {
            std::fill_n(out.allowed_.begin() + static_cast<std::ptrdiff_t>(base), 100, true);
        } else if (item[1] >= '0' && item[1] <= '9' && item[2] >= '0' && item[2] <= '9') {
            out.allowed_[base + static_cast<std::size_t>((item[1] - '0') * 10 + (item[2] - '0'))] =
                true;
        } else {
            return std::nullopt;
        }
        if (item.size() == text.size()) return out;
        text.remove_prefix(4);
    }
}

json_expectation json_expectation::parse(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return {std::string(text), std::nullopt};
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace wireload
