#include "plan/turns.hpp"

#include <array>
#include <numeric>
#include <utility>

#include "base/random.hpp"

namespace wireload {

std::uint32_t place_in_cycle(std::uint64_t cycle, std::uint32_t number, std::uint32_t of) {
    // Fisher and Yates; the remainder's bias is below 1e-17.
    std::array<std::uint32_t, most_turns> places{};
    std::iota(places.begin(), places.begin() + of, 0U);
    std::uint64_t state = mix(cycle);
    for (std::uint32_t left = of; left > 1; --left)
        std::swap(places[left - 1], places[next_random(state) % left]);
    return places[number - 1];
}

nanos next_turn(const turn_options& turns, nanos now) {
    const nanos period = turns.length.count() * turns.of;
    for (auto cycle = static_cast<std::uint64_t>(now / period);; ++cycle) {
        const nanos start = static_cast<nanos>(cycle) * period +
                            place_in_cycle(cycle, turns.number, turns.of) * turns.length.count();
        if (start >= now) return start;
    }
}

}  // namespace wireload
