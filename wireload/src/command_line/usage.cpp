#include "command_line/usage.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/duration.hpp"
#include "command_line/option_table.hpp"
#include "command_line/suggest.hpp"

namespace wireload {

using std::chrono::nanoseconds;

std::uint64_t number(std::string_view flag, std::string_view text, std::uint64_t low,
                     std::uint64_t high) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value < low || value > high) {
        refuse("{} {}: give a whole number from {} to {}", flag, text, low, high);
    }
    return value;
}

std::uint32_t number32(std::string_view flag, std::string_view text, std::uint32_t low,
                       std::uint32_t high) {
    return static_cast<std::uint32_t>(number(flag, text, low, high));
}

nanoseconds duration(std::string_view flag, const std::string& text, nanoseconds low) {
    const auto parsed = parse_duration(text);
    if (!parsed) {
        const bool bare =
            !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
        refuse("{} {}: give a time with its unit, such as {}", flag, text,
               bare ? text + "s or " + text + "ms" : "10s or 500ms");
    }
    if (*parsed < low)
        refuse("{} {}: give at least {}", flag, text,
               format_duration(static_cast<double>(low.count())));
    return *parsed;
}

std::string file_content(std::string_view flag, const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream content;
    if (!in || !(content << in.rdbuf()).good()) {
        // An empty file makes operator<< fail as well; that one is fine. A folder opens like a
        // file, and only reading from it fails.
        if (in.is_open() && content.str().empty() &&
            in.peek() == std::ifstream::traits_type::eof() && !in.bad())
            return {};
        refuse("{} {}: cannot read this file; check its name and permissions", flag, path);
    }
    return content.str();
}

void one_of(std::string_view flag, const std::string& value) {
    const std::vector<std::string> choices = find_option(flag)->choice_list();
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
    std::string all;
    for (std::size_t i = 0; i < choices.size(); ++i)
        all += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
    const std::string near = nearest(value, choices);
    if (near.empty()) refuse("{} {}: give {}", flag, value, all);
    refuse("{} {}: give {}; did you mean {}?", flag, value, all, near);
}

}  // namespace wireload
