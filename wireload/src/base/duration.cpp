#include "base/duration.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace wireload {
namespace {

struct unit {
    std::string_view name;
    double ns;
};

constexpr unit units[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                          {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};

}  // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
    if (text.empty()) return std::nullopt;
    double total = 0;
    while (!text.empty()) {
        double value = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value,
                                                    std::chars_format::fixed);
        // "nan" is a number to from_chars(), and compares with nothing.
        if (failure != std::errc() || std::isnan(value) || value < 0 || std::isinf(value))
            return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        std::size_t letters = 0;
        while (letters < text.size() && text[letters] >= 'a' && text[letters] <= 'z') ++letters;
        const unit* found = nullptr;
        for (const unit& u : units) {
            if (u.name == text.substr(0, letters)) found = &u;
        }
        if (found == nullptr) return std::nullopt;
        total += value * found->ns;
        text.remove_prefix(letters);
    }
    // Ten years: far beyond any run, and safely inside 64 bits of nanoseconds.
    if (total > 10.0 * 365 * 24 * 3600e9) return std::nullopt;
    return std::chrono::nanoseconds(std::llround(total));
}

std::string format_duration(double ns) {
    const auto scaled = [](double value, std::string_view name) {
        const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
        return fmt::format("{:.{}f} {}", value, decimals, name);
    };
    if (ns < 999.5) return fmt::format("{:.0f} ns", ns);
    if (ns < 999.5e3) return scaled(ns / 1e3, "us");
    if (ns < 999.5e6) return scaled(ns / 1e6, "ms");
    if (ns < 120e9) return scaled(ns / 1e9, "s");
    return scaled(ns / 60e9, "min");
}

}  // namespace wireload
