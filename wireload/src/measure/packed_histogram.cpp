#include "measure/packed_histogram.hpp"

#include <cstddef>
#include <string_view>

namespace wireload {
namespace {

void append(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
    out.push_back(static_cast<char>(value));
}

std::uint64_t take(std::string_view& from) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(from.front());
        from.remove_prefix(1);
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

}  // namespace

packed_histogram::packed_histogram(const histogram& values)
    : count_(values.count_), min_(values.min_), max_(values.max_), sum_(values.sum_) {
    std::size_t next = 0;
    const std::size_t end = values.used_buckets();
    for (std::size_t i = values.first_used(); i < end; ++i) {
        if (values.counts_[i] == 0) continue;
        append(buckets_, i - next);
        append(buckets_, values.counts_[i]);
        next = i + 1;
    }
    buckets_.shrink_to_fit();
}

histogram packed_histogram::unpacked() const {
    histogram out;
    std::size_t next = 0;
    for (std::string_view rest = buckets_; !rest.empty(); ++next) {
        next += static_cast<std::size_t>(take(rest));
        out.counts_[next] = take(rest);
    }
    out.count_ = count_;
    out.min_ = min_;
    out.max_ = max_;
    out.sum_ = sum_;
    return out;
}

}  // namespace wireload
