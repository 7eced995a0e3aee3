#include "record.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

namespace truth {
namespace {

using json = nlohmann::ordered_json;

json summarise(std::vector<nanos> values) {
    std::sort(values.begin(), values.end());
    constexpr std::pair<const char*, double> wanted[] = {
        {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};
    json out = json::object();
    for (const auto& [name, q] : wanted) {
        // The smallest value with at least a share q at or below it.
        const auto rank =
            static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
        out[name] =
            values.empty() ? json(nullptr) : json(values[std::max<std::size_t>(rank, 1) - 1]);
    }
    return out;
}

}  // namespace

json record::to_json() const {
    std::vector<nanos> delays, late;
    delays.reserve(samples_.size());
    late.reserve(samples_.size());
    for (const sample& s : samples_) {
        delays.push_back(s.really);
        late.push_back(s.really - s.law);
    }
    return {
        {"schema", "truth/1"},
        {"anchor_unix_ns", anchor_unix == 0 ? json(nullptr) : json(anchor_unix)},
        {"connections", count.connections},
        {"requests", count.requests},
        {"right", count.right},
        {"dropped", count.dropped},
        {"wrong_status", count.wrong_status},
        {"wrong_body", count.wrong_body},
        {"wrong_length", count.wrong_length},
        {"unanswered", count.unanswered},
        {"samples", samples_.size()},
        {"samples_left_out", left_out_},
        {"delay_ns", summarise(std::move(delays))},
        {"late_ns", summarise(std::move(late))},
    };
}

void record::write_samples(std::ostream& out) const {
    static_assert(std::endian::native == std::endian::little && sizeof(sample) == 24);
    out.write(reinterpret_cast<const char*>(samples_.data()),
              static_cast<std::streamsize>(samples_.size() * sizeof(sample)));
}

}  // namespace truth
