// The clock that loops, timers and deadlines share.
#pragma once

#include <chrono>

namespace wire {

// CLOCK_MONOTONIC on Linux: nobody sets it, and it stands still while the machine sleeps.
using clock = std::chrono::steady_clock;
// A moment on that clock. Comparable among all loops and threads of the host, not between hosts.
using time_point = clock::time_point;

}  // namespace wire
