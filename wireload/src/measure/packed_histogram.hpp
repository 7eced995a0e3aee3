// What a histogram holds, in some bytes for each bucket that is in use instead of 264 KiB: to keep
// thousands of them.
#pragma once

#include <cstdint>
#include <string>

#include "measure/histogram.hpp"

namespace wireload {

class packed_histogram {
public:
    explicit packed_histogram(const histogram& values);
    // The same again, exactly.
    histogram unpacked() const;

private:
    // By the histogram's own rules: of none the smallest is UINT64_MAX.
    std::uint64_t count_;
    std::uint64_t min_;
    std::uint64_t max_;
    __extension__ unsigned __int128 sum_;
    // Of each bucket in use, in ascending order: how many lie between it and the one before, and
    // its count. In groups of seven bits, the lowest first; the highest bit says that more follow.
    std::string buckets_;
};

}  // namespace wireload
