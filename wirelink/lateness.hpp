// How much later than due a link delivered its packets: counts by microsecond.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace wirelink {

class lateness {
public:
    void note(std::chrono::nanoseconds late) {
        const auto micros = std::max<std::int64_t>(0, late.count() / 1000);
        ++counts_[std::min(static_cast<std::size_t>(micros), counts_.size() - 1)];
        ++total_;
    }

    // The microsecond below which at least this share of the packets was late; nothing without a
    // packet. From 100 ms on, 100 ms.
    std::optional<std::chrono::microseconds> quantile(double share) const {
        std::uint64_t below = 0;
        for (std::size_t micros = 0; micros < counts_.size(); ++micros) {
            below += counts_[micros];
            if (total_ > 0 && static_cast<double>(below) >= share * static_cast<double>(total_))
                return std::chrono::microseconds{micros};
        }
        return std::nullopt;
    }

private:
    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(100'001);
    std::uint64_t total_ = 0;
};

}  // namespace wirelink
