// A histogram as people look at one: a row for each class of latencies.
#pragma once

#include <string>
#include <vector>

#include "measure/histogram.hpp"
#include "output/screen.hpp"

namespace wireload {

struct latency_class {
    double upper_ns;  // the highest that falls into it
    std::uint64_t count;
};

// At most `rows` classes of equal width on a logarithmic scale, from the smallest value to the
// largest; empty when there is nothing to tell apart.
std::vector<latency_class> latency_classes(const histogram& h, std::size_t rows);

// A line for each class: its upper bound, a bar, its share and its count. At most 80 columns.
std::string latency_picture(const histogram& h, const painter& paint);

}  // namespace wireload
