// When received bytes came to this host, on the loop's clock. Not for users: stream::arrival() is.
#pragma once

#include <chrono>
#include <optional>

#include "wire/base/export.hpp"
#include "wire/loop/clock.hpp"

namespace wire::detail {

// The kernel stamps arrivals on CLOCK_REALTIME; loops count on clock. This converts, reading both
// clocks once for each loop iteration. One thread's.
class WIRE_EXPORT arrival_clock {
public:
    // Bytes were received in the iteration that began at `now`, with the kernel's stamp or, of
    // those that came before it was asked for stamps, without one: they had come by `now`.
    void note(std::optional<std::chrono::nanoseconds> wall, time_point now) noexcept;
    // Of the bytes received last.
    time_point arrived() const noexcept { return arrived_; }

private:
    time_point arrived_{};
    time_point read_at_{};          // the iteration in which wall_ahead_ was found
    clock::duration wall_ahead_{};  // of CLOCK_REALTIME before clock
};

}  // namespace wire::detail
