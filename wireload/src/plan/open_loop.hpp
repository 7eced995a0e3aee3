// The options of an open loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "plan/arrivals.hpp"

namespace wireload {

enum class spin_mode : std::uint8_t { automatic, always, never };

struct open_loop_options {
    arrival_plan arrivals;
    arrival_plan warm_up;  // at the rate that `arrivals` begins with
    std::string name;      // "constant", "poisson" or the file
    std::optional<std::uint64_t> max_in_flight;
    std::optional<std::chrono::nanoseconds> deadline;
    spin_mode spin = spin_mode::automatic;
};

}  // namespace wireload
