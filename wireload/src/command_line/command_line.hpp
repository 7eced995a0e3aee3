// From the arguments of the program to checked options. Nothing is opened or connected here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/options.hpp"

namespace wireload {

// Exit codes, as --help states them.
inline constexpr int exit_ok = 0;
inline constexpr int exit_with_errors = 1;
inline constexpr int exit_nothing_measured = 2;
inline constexpr int exit_threshold = 3;
inline constexpr int exit_usage = 64;

// The command line asked for text (--help, --version), or was wrong.
struct early_exit {
    int code = exit_ok;
    std::string text;  // for standard output when `code` is 0, else for standard error
};

// `allowed_cpus`: how many the process may run on, the default number of threads.
std::variant<options, early_exit> parse_command_line(const std::vector<std::string>& argv,
                                                     unsigned allowed_cpus);

// "0-2,5" as {0,1,2,5}; absent when malformed.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace wireload
