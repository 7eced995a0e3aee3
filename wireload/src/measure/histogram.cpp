#include "measure/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include <fmt/format.h>

namespace wireload {

histogram::histogram()
    : counts_(static_cast<std::uint64_t*>(std::calloc(slots, sizeof(std::uint64_t)))) {
    if (counts_ == nullptr) throw std::bad_alloc();
}

void histogram::merge(const histogram& other) noexcept {
    const std::size_t end = other.used_buckets();
    for (std::size_t i = other.first_used(); i < end; ++i) {
        // Writing a zero would touch the page.
        if (other.counts_[i] != 0) counts_[i] += other.counts_[i];
    }
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

void histogram::clear() noexcept {
    std::fill(&counts_[first_used()], &counts_[used_buckets()], 0);
    count_ = 0;
    sum_ = 0;
    min_ = UINT64_MAX;
    max_ = 0;
}

std::optional<std::uint64_t> histogram::min_ns() const noexcept {
    return empty() ? std::nullopt : std::optional(min_);
}

std::optional<std::uint64_t> histogram::max_ns() const noexcept {
    return empty() ? std::nullopt : std::optional(max_);
}

std::optional<double> histogram::mean_ns() const noexcept {
    if (empty()) return std::nullopt;
    return static_cast<double>(sum_) / static_cast<double>(count_);
}

std::optional<double> histogram::stddev_ns() const noexcept {
    if (empty()) return std::nullopt;
    const double mean = *mean_ns();
    double squares = 0;
    const std::size_t end = used_buckets();
    for (std::size_t i = first_used(); i < end; ++i) {
        if (counts_[i] == 0) continue;
        const double middle =
            (static_cast<double>(lowest_of(i)) + static_cast<double>(highest_of(i))) / 2;
        squares += static_cast<double>(counts_[i]) * (middle - mean) * (middle - mean);
    }
    return std::sqrt(squares / static_cast<double>(count_));
}

std::optional<std::uint64_t> histogram::percentile_ns(double percent) const noexcept {
    if (empty()) return std::nullopt;
    // A hair less than asked for, since 99.9 / 100 in binary is a hair more than 0.999: of 10,000
    // samples that would be the 9,991st.
    const double share = std::nextafter(std::clamp(percent, 0.0, 100.0), 0.0) / 100.0;
    const double wanted = std::ceil(share * static_cast<double>(count_));
    const std::uint64_t target = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    const std::size_t end = used_buckets();
    std::uint64_t seen = 0;
    for (std::size_t i = first_used(); i < end; ++i) {
        seen += counts_[i];
        if (seen >= target) return std::min(highest_of(i), max_);
    }
    return max_;
}

std::optional<std::uint64_t> histogram::supported_percentile_ns(double percent) const noexcept {
    // In millionths of a percent, so that n = 1000 at 99 % is exactly ten samples and not 9.9999.
    const auto beyond = static_cast<std::uint64_t>(std::llround((100.0 - percent) * 1e6));
    if (static_cast<double>(count_) * static_cast<double>(beyond) < 10.0 * 1e8) return std::nullopt;
    return percentile_ns(percent);
}

std::uint64_t histogram::lowest_of(std::size_t index) noexcept {
    constexpr std::size_t half = sub_buckets / 2;
    if (index < sub_buckets) return index;
    const std::size_t bucket = index / half - 1;
    return static_cast<std::uint64_t>(index % half + half) << bucket;
}

std::uint64_t histogram::highest_of(std::size_t index) noexcept {
    constexpr std::size_t half = sub_buckets / 2;
    const std::size_t bucket = index < sub_buckets ? 0 : index / half - 1;
    return lowest_of(index) + (std::uint64_t{1} << bucket) - 1;
}

std::string percentile_name(double percent) { return fmt::format("{:g}", percent); }

}  // namespace wireload
