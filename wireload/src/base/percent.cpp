#include "base/percent.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace wireload {
namespace {

// Without an exponent, however small it is.
std::string with_digits(double value, int digits) {
    std::string out = fmt::format("{:.{}g}", value, digits);
    if (out.find('e') == std::string::npos) return out;
    const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
    return fmt::format("{:.{}f}", value, std::max(0, digits - before_point));
}

bool on_one_side(double a, double b, double of) {
    return (a < of) == (b < of) && (a > of) == (b > of);
}

}  // namespace

std::string format_percent(double percent, double limit) {
    constexpr int all_digits = 17;  // of a double
    for (int digits = 3;; ++digits) {
        const std::string text = with_digits(percent, digits);
        const double shown = std::strtod(text.c_str(), nullptr);
        if (digits == all_digits ||
            (on_one_side(shown, percent, 0) && on_one_side(shown, percent, 100) &&
             on_one_side(shown, percent, limit)))
            return text + "%";
    }
}

std::string format_percent_in_column(double percent, int decimals) {
    const double step = std::pow(10.0, -decimals);
    const auto text = [&](double value) { return fmt::format("{:.{}f}%", value, decimals); };
    std::string out = text(percent);
    if (percent > 0 && out == text(0)) return "<" + text(step);
    if (percent < 100 && out == text(100)) return ">" + text(100 - step);
    return out;
}

}  // namespace wireload
