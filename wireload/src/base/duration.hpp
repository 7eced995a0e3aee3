// Durations as people write and read them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace wireload {

// "10s", "500ms", "1m30s", "1.5h", "20us", "100ns". Absent for anything else, including a number
// without a unit.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

// Three or four digits and a unit: "854 ns", "12.3 us", "1.50 s".
std::string format_duration(double ns);
// With as many more as it takes to tell it from `limit`: "20.004 ms".
std::string format_duration(double ns, double limit);

}  // namespace wireload
