// Moments as whole nanoseconds of the steady clock: one number to store for each request in flight.
#pragma once

#include <chrono>
#include <cstdint>

#include "wire/loop/event_loop.hpp"

namespace wireload {

using nanos = std::int64_t;
inline constexpr nanos never = INT64_MAX;

inline nanos to_nanos(wire::time_point t) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}
inline wire::time_point to_time_point(nanos t) {
    return wire::time_point(std::chrono::nanoseconds(t));
}
inline nanos clock_now() { return to_nanos(wire::clock::now()); }

}  // namespace wireload
