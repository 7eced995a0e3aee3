#include "kept_time.hpp"

#include <algorithm>

#include "proto/char_tables.hpp"

namespace wire::http {

namespace {

constexpr std::chrono::seconds longest = std::chrono::hours(24 * 365 * 100);

// "timeout=5"; `longest` for anything else.
std::chrono::seconds timeout_of(std::string_view parameter) noexcept {
    const auto equals = parameter.find('=');
    if (equals == std::string_view::npos ||
        !equals_ignoring_case(detail::trim(parameter.substr(0, equals)), "timeout"))
        return longest;
    const std::string_view digits = detail::trim(parameter.substr(equals + 1));
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(), detail::is_digit))
        return longest;
    std::chrono::seconds out{0};
    for (const char c : digits) out = std::min(longest, out * 10 + std::chrono::seconds(c - '0'));
    return out;
}

}  // namespace

std::chrono::milliseconds kept_time(const header_list& fields) noexcept {
    std::chrono::milliseconds least = longest;
    for (const header& h : fields) {
        if (!equals_ignoring_case(h.name, "keep-alive")) continue;
        for (std::string_view rest = h.value; !rest.empty();) {
            const auto parameter = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(parameter.size() + 1, rest.size()));
            const std::chrono::milliseconds said = timeout_of(detail::trim(parameter));
            least = std::min(least, said - std::min<std::chrono::milliseconds>(
                                               std::chrono::seconds(1), said / 2));
        }
    }
    return least;
}

}  // namespace wire::http
