#include "output/screen.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "wire/proto/http_types.hpp"

namespace wireload {
namespace {

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : value;
}

bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const std::string_view value = variable(name);
        if (value.empty()) continue;
        const std::string_view charset = value.substr(std::min(value.find('.') + 1, value.size()));
        const std::string_view plain = charset.substr(0, charset.find('@'));
        return wire::http::equals_ignoring_case(plain, "utf-8") ||
               wire::http::equals_ignoring_case(plain, "utf8");
    }
    return false;
}

}  // namespace

screen_style style_for(int fd, color_choice choice) {
    const bool plain =
        isatty(fd) != 1 || !variable("NO_COLOR").empty() || variable("TERM") == "dumb";
    return {
        .colour = choice == color_choice::always || (choice == color_choice::automatic && !plain),
        .utf8 = locale_is_utf8()};
}

std::string painter::paint(std::string_view code, std::string_view text) const {
    return style_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string painter::bar(double share, std::size_t width) const {
    static constexpr std::array<std::string_view, 8> parts = {"",  "▏", "▎", "▍",
                                                              "▌", "▋", "▊", "▉"};
    const std::size_t steps = style_.utf8 ? parts.size() : 1;
    auto filled = static_cast<std::size_t>(
        std::llround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width * steps)));
    if (share > 0) filled = std::max<std::size_t>(filled, 1);
    std::string out;
    for (std::size_t i = 0; i < filled / steps; ++i) out += style_.utf8 ? "█" : "#";
    std::size_t columns = filled / steps;
    if (filled % steps != 0) {
        out += parts[filled % steps];
        ++columns;
    }
    return out + std::string(width - columns, ' ');
}

std::string_view painter::column(double share) const {
    static constexpr std::array<std::string_view, 8> blocks = {"▁", "▂", "▃", "▄",
                                                               "▅", "▆", "▇", "█"};
    static constexpr std::array<std::string_view, 8> marks = {"_", "_", ".", ".",
                                                              "-", "-", "=", "#"};
    const auto level = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * 7.999);
    return style_.utf8 ? blocks[level] : marks[level];
}

std::string grouped(std::uint64_t n) {
    std::string out = std::to_string(n);
    for (auto at = static_cast<std::ptrdiff_t>(out.size()) - 3; at > 0; at -= 3)
        out.insert(static_cast<std::size_t>(at), ",");
    return out;
}

std::string per_second(double rate) {
    if (rate > 0 && rate < 99.95) return fmt::format("{:.3g}/s", rate);
    return grouped(static_cast<std::uint64_t>(std::llround(rate))) + "/s";
}

std::string per_second(double rate, double limit) {
    constexpr int most_decimals = 12;
    for (int decimals = 1;; ++decimals) {
        const std::string text = fmt::format("{:.{}f}", rate, decimals);
        const double shown = std::strtod(text.c_str(), nullptr);
        if (decimals == most_decimals ||
            ((shown < limit) == (rate < limit) && (shown > limit) == (rate > limit)))
            return text + "/s";
    }
}

std::string bytes_text(double n) {
    static constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; n >= 1024 && unit + 1 < std::size(units); ++unit) n /= 1024;
    return fmt::format("{:.{}f} {}", n, unit == 0 || n >= 99.95 ? 0 : 1, units[unit]);
}

std::string time_or_dash(const std::optional<std::uint64_t>& ns) {
    return ns ? format_duration(static_cast<double>(*ns)) : "-";
}

}  // namespace wireload
