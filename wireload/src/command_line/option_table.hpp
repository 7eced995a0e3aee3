// Every option once: what the parser accepts, and what help, manual page and completion say of it,
// come from here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "command_line/raw_options.hpp"

namespace wireload {

// What a shell offers for an option's argument.
enum class completes : std::uint8_t { nothing, files };

struct option_row {
    std::string_view names;     // "-c,--connections": as CLI11 takes them
    std::string_view argument;  // what stands for it in the help; empty for a flag
    std::string_view text;      // one or more sentences, wrapped when shown
    // Where it goes. A list may be given several times; of a text given several times the last
    // holds.
    std::variant<std::string raw_options::*, bool raw_options::*,
                 std::vector<std::string> raw_options::*>
        into;
    // "echo,count,none": what shells offer; one_of() in usage.cpp refuses all else.
    std::string_view choices = {};
    completes offers = completes::nothing;
    bool common = false;  // among the few that -h shows

    std::string_view long_name() const;   // "--connections"
    std::string_view short_name() const;  // "-c", or empty
    std::vector<std::string> choice_list() const;
};

struct option_section {
    std::string_view title;
    std::string_view text;  // before its options; may be empty
    std::span<const option_row> rows;
};

std::span<const option_section> option_sections();

// The row of a long name; null when there is none.
const option_row* find_option(std::string_view long_name);

}  // namespace wireload
