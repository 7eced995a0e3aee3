// The clock that loops, timers and deadlines share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <type_traits>

namespace wire {

// CLOCK_MONOTONIC on Linux: nobody sets it, and it stands still while the machine sleeps.
using clock = std::chrono::steady_clock;
// A moment on that clock. Comparable among all loops and threads of the host, not between hosts.
using time_point = clock::time_point;

namespace detail {

// `wait`, but a hundred years at most: those are for ever here, and the sum of a moment and of what
// is longer could overflow, and lie in the past.
template <typename Rep, typename Period>
constexpr auto capped(std::chrono::duration<Rep, Period> wait) noexcept {
    using wide = std::chrono::duration<std::common_type_t<Rep, std::int64_t>, Period>;
    constexpr std::chrono::hours longest(24 * 365 * 100);
    return std::min<wide>(wait, std::chrono::duration_cast<wide>(longest));
}

// The longest time that a call is to wait, in the clock's own unit, which not all of what a wider
// one can say fits into.
template <typename Rep, typename Period>
constexpr clock::duration to_wait(std::chrono::duration<Rep, Period> longest) noexcept {
    const auto wait = capped(longest);
    return wait < wait.zero() ? clock::duration::zero()
                              : std::chrono::duration_cast<clock::duration>(wait);
}

}  // namespace detail

}  // namespace wire
