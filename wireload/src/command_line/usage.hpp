// A wrong command line: how it is refused, and the readers of single values that refuse.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace wireload {

// Thrown by what reads options, caught by parse_command_line() alone: the text after "wireload: ".
struct usage_error {
    std::string text;
};

template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
    throw usage_error{fmt::format(format, std::forward<Args>(args)...)};
}

// Each reads the value `text` of `flag`, or refuses it.
std::uint64_t number(std::string_view flag, std::string_view text, std::uint64_t low,
                     std::uint64_t high);
std::uint32_t number32(std::string_view flag, std::string_view text, std::uint32_t low,
                       std::uint32_t high);
std::chrono::nanoseconds duration(std::string_view flag, const std::string& text,
                                  std::chrono::nanoseconds low);
std::string file_content(std::string_view flag, const std::string& path);

// Refuses what is not among the choices of the flag's row in the option table.
void one_of(std::string_view flag, const std::string& value);

}  // namespace wireload
