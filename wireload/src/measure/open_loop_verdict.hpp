// Whether an open loop's load was the one that was asked for; and if not, who is to blame.
//
// A server that cannot keep up is a finding. A generator that cannot makes the window void, and so
// does one that was late in a way that can change what is printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "measure/run_result.hpp"

namespace wireload {

enum class load_limit : std::uint8_t { none, server, generator };

struct open_loop_verdict {
    // Who kept the rate from being what was asked for; none when it was.
    load_limit limit = load_limit::none;
    // Why the window is void, for a person to read; absent when it is not.
    std::optional<std::string> why_void;

    bool rate_kept() const { return limit == load_limit::none; }
};

// Precondition: r.open_loop.
open_loop_verdict judge_open_loop(const run_result& r);

}  // namespace wireload
