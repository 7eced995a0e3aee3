// How text looks on a terminal: colours, signs and bars, and what to do where there are none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plan/options.hpp"

namespace wireload {

struct screen_style {
    bool colour = false;
    bool utf8 = false;  // else ASCII
};

// Colours: on a terminal unless NO_COLOR (https://no-color.org) is set or the terminal is dumb;
// `choice` overrules both. UTF-8: where the locale (LC_ALL, LC_CTYPE, LANG) says so.
screen_style style_for(int fd, color_choice choice);

class painter {
public:
    explicit painter(screen_style style) : style_(style) {}
    std::string bold(std::string_view text) const { return paint("1", text); }
    std::string faint(std::string_view text) const { return paint("2", text); }
    std::string red(std::string_view text) const { return paint("1;31", text); }
    std::string green(std::string_view text) const { return paint("32", text); }
    std::string yellow(std::string_view text) const { return paint("33", text); }
    std::string cyan(std::string_view text) const { return paint("36", text); }

    std::string_view good() const { return style_.utf8 ? "✓" : "ok"; }
    std::string_view bad() const { return style_.utf8 ? "✗" : "FAIL"; }
    std::string_view at_most() const { return style_.utf8 ? "≤" : "<="; }

    // A bar of `share` (0 to 1) of `width` columns, filled up with spaces. What is not 0 shows.
    std::string bar(double share, std::size_t width) const;
    // One column of the height `share` (0 to 1).
    std::string_view column(double share) const;

private:
    std::string paint(std::string_view code, std::string_view text) const;
    screen_style style_;
};

std::string grouped(std::uint64_t n);  // "1,234,567"
std::string per_second(double rate);   // "21,419/s"; of a slow one three digits: "0.333/s"
// With one decimal, and as many more as it takes to stay on the same side of `limit`: "999.96/s".
std::string per_second(double rate, double limit);
std::string bytes_text(double n);  // "1.5 MiB"
std::string time_or_dash(const std::optional<std::uint64_t>& ns);

}  // namespace wireload
