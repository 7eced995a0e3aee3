// Minimum rates on the average: how much time bytes buy whom they come from, or go to.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace wire::detail {

// `rate` in bytes a second, not 0.
inline std::chrono::milliseconds bought_time(std::uint64_t bytes, std::uint32_t rate) noexcept {
    // Bytes or milliseconds: beyond is no hurry, and no overflow.
    constexpr std::uint64_t most = 1ULL << 40;
    return std::chrono::milliseconds(std::min(std::min(bytes, most) * 1000 / rate, most));
}

}  // namespace wire::detail
