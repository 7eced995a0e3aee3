// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014): its
// finalizer as a hash of one number, and the generator.
#pragma once

#include <cstdint>

namespace wireload {

// The generator's increment: 2^64 / the golden ratio.
inline constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15U;

// Maps each number to another one; neighbours come out unrelated.
constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

// The next number of the generator; `state` may begin with any value.
constexpr std::uint64_t next_random(std::uint64_t& state) { return mix(state += golden_gamma); }

}  // namespace wireload
