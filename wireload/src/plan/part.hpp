// One of several wireloads, on one host or on many, that load one server together.
//
// What is given for the whole is divided by counting: of what is numbered in the whole (due
// requests, connections), part K of N has those with the numbers K - 1, K - 1 + N, K - 1 + 2N, ...
// So the parts need not know how many threads or connections the others have.
#pragma once

#include <cstdint>

namespace wireload {

struct part_options {
    std::uint32_t number = 1;  // of this one, from 1 to `of`
    std::uint32_t of = 1;

    // The number in the whole of what has the number `own` in this part.
    std::uint32_t in_whole(std::uint32_t own) const { return own * of + (number - 1); }
    // How many of `total` belong to this part.
    std::uint64_t share_of(std::uint64_t total) const {
        return total / of + (number <= total % of ? 1 : 0);
    }
};

inline constexpr std::uint32_t most_parts = 1'000;

}  // namespace wireload
