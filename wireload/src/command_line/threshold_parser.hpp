// "--fail-if 'p99>20ms'": conditions under which a run has failed.
//
//   condition = metric operator value
//   operator  = > | >= | < | <=
//   metric    = pN (0 < N < 100, such as p50 or p99.99), min, mean or max: of the latency; the
//               value is a time
//             | lag_ or service_ before one of these: of an open loop's lag (the generator's own
//               lateness) or service time
//             | errors: a count, or a share with %
//             | ok: a count
//             | rate: right replies a second
//             | generator: its share of its CPUs; the value with %
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "plan/threshold.hpp"

namespace wireload {

// The string says what is wrong, where, and what would be right.
std::variant<threshold, std::string> parse_threshold(std::string_view text);

}  // namespace wireload
