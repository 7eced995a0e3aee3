#include "base/duration.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace wireload {
namespace {

struct unit {
    std::string_view name;
    double ns;
};

constexpr unit units[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                          {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};

struct written_duration {
    std::string text;
    double ns;  // that the text says
};

// With so many decimals more than three digits leave.
written_duration written(double ns, int decimals) {
    const auto scaled = [&](const unit& in) {
        const double value = ns / in.ns;
        const int usual = in.ns == 1 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
        const std::string number = fmt::format("{:.{}f}", value, usual + decimals);
        return written_duration{fmt::format("{} {}", number, in.name),
                                std::strtod(number.c_str(), nullptr) * in.ns};
    };
    if (ns < 999.5) return scaled({"ns", 1});
    if (ns < 999.5e3) return scaled({"us", 1e3});
    if (ns < 999.5e6) return scaled({"ms", 1e6});
    return ns < 120e9 ? scaled({"s", 1e9}) : scaled({"min", 60e9});
}

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

std::string format_duration(double ns) { return written(ns, 0).text; }

std::string format_duration(double ns, double limit) {
    constexpr int most_decimals = 9;
    for (int decimals = 0;; ++decimals) {
        written_duration out = written(ns, decimals);
        const double beyond = out.ns - limit;
        // Nearer, and the difference is one of computing with fractions.
        const bool told = std::abs(beyond) > 1e-9 * limit && (beyond < 0) == (ns < limit);
        if (ns == limit || told || decimals == most_decimals) return std::move(out.text);
    }
}

}  // namespace wireload
