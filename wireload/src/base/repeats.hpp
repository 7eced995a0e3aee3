// The same text several times, one behind the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace wireload {

// How often `in` begins with `text`, which is not empty; `most` times at most.
inline std::size_t count_repeats(std::string_view in, std::string_view text, std::size_t most) {
    const std::size_t size = text.size();
    const std::size_t fit = std::min(most, in.size() / size);
    if (fit == 0 || !in.starts_with(text)) return 0;
    // Usually all of them are the same: then each is what came before it.
    if (std::memcmp(in.data(), in.data() + size, (fit - 1) * size) == 0) return fit;
    std::size_t n = 1;
    while (in.substr(n * size, size) == text) ++n;  // one that differs is among them
    return n;
}

}  // namespace wireload
