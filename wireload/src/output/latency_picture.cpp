#include "output/latency_picture.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/duration.hpp"
#include "base/percent.hpp"

namespace wireload {

std::vector<latency_class> latency_classes(const histogram& h, std::size_t rows) {
    if (h.count() < 2 || *h.min_ns() == *h.max_ns()) return {};
    const double low = std::log(static_cast<double>(std::max<std::uint64_t>(1, *h.min_ns())));
    const double high = std::log(static_cast<double>(std::max<std::uint64_t>(2, *h.max_ns())));
    const double width = (high - low) / static_cast<double>(rows);
    std::vector<latency_class> out;
    for (std::size_t i = 1; i <= rows; ++i)
        out.push_back({std::exp(low + width * static_cast<double>(i)), 0});
    for (std::size_t i = 0; i < h.used_buckets(); ++i) {
        if (h.count_at(i) == 0) continue;
        const double middle =
            static_cast<double>(histogram::lowest_of(i) + histogram::highest_of(i)) / 2;
        const double place = (std::log(std::max(1.0, middle)) - low) / width;
        out[static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(rows) - 1))]
            .count += h.count_at(i);
    }
    return out;
}

std::string latency_picture(const histogram& h, const painter& paint) {
    constexpr std::size_t rows = 10;
    constexpr std::size_t columns = 40;
    const std::vector<latency_class> classes = latency_classes(h, rows);
    std::uint64_t most = 0;
    for (const latency_class& c : classes) most = std::max(most, c.count);
    std::string out;
    for (const latency_class& c : classes) {
        if (c.count == 0) {
            out += fmt::format("  {} {:>8}\n", paint.at_most(), format_duration(c.upper_ns));
            continue;
        }
        const double share = static_cast<double>(c.count) / static_cast<double>(h.count());
        out += fmt::format("  {} {:>8} {} {:>6} {:>12}\n", paint.at_most(),
                           format_duration(c.upper_ns),
                           paint.cyan(paint.bar(
                               static_cast<double>(c.count) / static_cast<double>(most), columns)),
                           // One request in a million still shows.
                           format_percent_in_column(share * 100, 1), grouped(c.count));
    }
    return out;
}

}  // namespace wireload
