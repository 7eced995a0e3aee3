#include "measure/omission.hpp"

#include <algorithm>

namespace wireload {

histogram corrected_for_omission(const histogram& measured, std::uint64_t expected_ns) {
    histogram out;
    out.merge(measured);
    for (std::size_t i = 0; i < measured.used_buckets(); ++i) {
        const std::uint64_t times = measured.count_at(i);
        const std::uint64_t value = std::min(histogram::highest_of(i), *measured.max_ns());
        if (times == 0 || value < 2 * expected_ns) continue;
        // The values wanted are value - k * expected, for k from 1 to `last`. They are taken bucket
        // by bucket rather than one by one, since a second's wait at an interval of a microsecond
        // has a million of them.
        const std::uint64_t last = value / expected_ns - 1;
        for (std::uint64_t k = 1; k <= last;) {
            const std::uint64_t first = value - k * expected_ns;
            const std::uint64_t lowest = std::max(
                histogram::lowest_of(histogram::index_of(std::min(first, histogram::highest_ns))),
                expected_ns);
            const std::uint64_t more = std::min((first - lowest) / expected_ns, last - k);
            // Their middle stands for all that fall into the bucket.
            out.record(first - more * expected_ns / 2, times * (more + 1));
            k += more + 1;
        }
    }
    return out;
}

}  // namespace wireload
