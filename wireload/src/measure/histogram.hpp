// Latencies in bounded memory: an HdrHistogram of nanoseconds.
//
// The layout is the one of HdrHistogram (Gil Tene, http://hdrhistogram.org) for 1 ns to 1 hour at 3
// significant decimal digits, so that what we export is read by its many ports. Counts lie in
// buckets of 2048 sub-buckets; each further bucket doubles the width of a sub-bucket, so a value is
// kept to within one part in 1024.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace wireload {

class histogram {
public:
    static constexpr std::uint64_t lowest_ns = 1;
    // Values above are counted there; max_ns() stays exact.
    static constexpr std::uint64_t highest_ns = 3'600'000'000'000;
    static constexpr int significant_digits = 3;

    histogram();

    // The one call on the hot path: an index, two additions and two comparisons.
    void record(std::uint64_t ns) noexcept {
        ++counts_[index_of(ns < highest_ns ? ns : highest_ns)];
        ++count_;
        sum_ += ns;
        if (ns < min_) min_ = ns;
        if (ns > max_) max_ = ns;
    }

    // The same value `times` times; not 0.
    void record(std::uint64_t ns, std::uint64_t times) noexcept {
        counts_[index_of(ns < highest_ns ? ns : highest_ns)] += times - 1;
        count_ += times - 1;
        sum_ += static_cast<decltype(sum_)>(ns) * (times - 1);
        record(ns);
    }

    // Adds everything `other` has; nothing is lost, since both have the same buckets.
    void merge(const histogram& other) noexcept;
    // Touches only the part in use: cheap enough for once an interval.
    void clear() noexcept;

    std::uint64_t count() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    // Exact. Absent when nothing was recorded.
    std::optional<std::uint64_t> min_ns() const noexcept;
    std::optional<std::uint64_t> max_ns() const noexcept;
    // The exact sum over the count.
    std::optional<double> mean_ns() const noexcept;
    // Population standard deviation, from the middle of each sub-bucket, as HdrHistogram does.
    std::optional<double> stddev_ns() const noexcept;

    // The smallest recorded value that at least `percent` % of the values do not exceed, as the
    // highest value of its sub-bucket and never above max_ns(). Absent when nothing was recorded.
    std::optional<std::uint64_t> percentile_ns(double percent) const noexcept;
    // The same, but absent also when fewer than 10 samples lie beyond it, n(1-q) < 10: a figure
    // that rests on a handful of samples says nothing.
    std::optional<std::uint64_t> supported_percentile_ns(double percent) const noexcept;

    // For exporters and pictures: buckets in ascending order, [0, used_buckets()).
    std::size_t used_buckets() const noexcept {
        return count_ == 0 ? 0 : index_of(clamped(max_)) + 1;
    }
    // The first in use; 0 of none.
    std::size_t first_used() const noexcept { return count_ == 0 ? 0 : index_of(clamped(min_)); }
    std::uint64_t count_at(std::size_t index) const noexcept { return counts_[index]; }
    static std::uint64_t lowest_of(std::size_t index) noexcept;
    static std::uint64_t highest_of(std::size_t index) noexcept;

    static std::size_t index_of(std::uint64_t ns) noexcept {
        // 2048 sub-buckets: the lowest 11 bits select one in the first bucket, the bit length
        // selects the bucket.
        const int bucket = 64 - std::countl_zero(ns | (sub_buckets - 1)) - sub_bucket_bits;
        const std::uint64_t sub = ns >> bucket;
        return (static_cast<std::size_t>(bucket) << (sub_bucket_bits - 1)) +
               static_cast<std::size_t>(sub);
    }

private:
    friend class packed_histogram;

    static constexpr int sub_bucket_bits = 11;
    static constexpr std::uint64_t sub_buckets = 1U << sub_bucket_bits;
    static constexpr int buckets = 32;  // 2048 << 31 is the first power above one hour
    static constexpr std::size_t slots = (buckets + 1) * (sub_buckets / 2);

    static std::uint64_t clamped(std::uint64_t ns) noexcept {
        return ns < highest_ns ? ns : highest_ns;
    }

    struct release {
        void operator()(std::uint64_t* counts) const noexcept { std::free(counts); }
    };
    // From calloc: pages that no latency falls into are never touched, so the 264 KiB cost little
    // memory.
    std::unique_ptr<std::uint64_t[], release> counts_;
    std::uint64_t count_ = 0;
    std::uint64_t min_ = UINT64_MAX;
    std::uint64_t max_ = 0;
    __extension__ unsigned __int128 sum_ = 0;
};

// The percentiles that every output of wireload names.
inline constexpr double reported_percentiles[] = {50, 75, 90, 99, 99.9, 99.99};
// "50", "99.9": the name of a percentile in documents and tables.
std::string percentile_name(double percent);

}  // namespace wireload
