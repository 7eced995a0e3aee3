// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): eight
// bytes of state, every seed is good, and every number of the sequence can be had directly. Not for
// users, and not for secrets: whoever sees one output knows all others.
#pragma once

#include <cstdint>

namespace wire::detail {

// What the state grows by from one number to the next: 2^64 divided by the golden ratio, odd.
inline constexpr std::uint64_t splitmix64_step = 0x9E3779B97F4A7C15;

// The finaliser: a bijection of 64-bit numbers whose outputs look random even for inputs that
// differ in one bit. `splitmix64_mix(seed + n * splitmix64_step)` is the n-th number of the
// sequence that begins with `seed`, n from 1.
constexpr std::uint64_t splitmix64_mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

// Advances `state`, which the caller seeds with any number, and returns the next number.
constexpr std::uint64_t splitmix64_next(std::uint64_t& state) noexcept {
    return splitmix64_mix(state += splitmix64_step);
}

}  // namespace wire::detail
