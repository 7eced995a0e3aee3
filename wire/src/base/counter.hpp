// A number that one thread counts and any may read: no locked instruction, no lost update.
#pragma once

#include <atomic>
#include <cstdint>

namespace wire::detail {

class counter {
public:
    void add(std::uint64_t n = 1) noexcept { value_.store(read() + n, std::memory_order_relaxed); }
    std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace wire::detail
