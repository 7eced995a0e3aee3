// Converts the kernel's stamps of received bytes from CLOCK_REALTIME to the loop's clock.
#include "wire/loop/detail/arrival_clock.hpp"

#include <algorithm>

namespace wire::detail {

void arrival_clock::note(std::optional<std::chrono::nanoseconds> wall, time_point now) noexcept {
    if (!wall) {
        arrived_ = now;
        return;
    }
    using wall_clock = std::chrono::system_clock;
    // Once an iteration both clocks are read, the one between two readings of the other: this
    // thread may lose its core between them.
    constexpr clock::duration close_enough = std::chrono::microseconds(1);
    constexpr int most_tries = 4;
    clock::duration nearest = clock::duration::max();
    for (int i = 0; i < most_tries && read_at_ != now && nearest > close_enough; ++i) {
        const auto before = clock::now();
        const auto wall_now = wall_clock::now().time_since_epoch();
        const auto after = clock::now();
        if (after - before >= nearest) continue;
        nearest = after - before;
        wall_ahead_ = wall_now - (before + nearest / 2).time_since_epoch();
    }
    read_at_ = now;
    arrived_ = time_point(*wall - wall_ahead_);
    // CLOCK_REALTIME may have been set meanwhile.
    if (arrived_ > now) arrived_ = std::min(arrived_, clock::now());
}

}  // namespace wire::detail
