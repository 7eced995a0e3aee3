// Feeds the same bytes in every way in which a network may cut them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace wire::testing {

// A copy in heap memory of exactly its size, so that reading beyond its end is seen by
// AddressSanitizer.
class exact_copy {
public:
    explicit exact_copy(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
        std::copy(text.begin(), text.end(), bytes_);
    }
    exact_copy(const exact_copy&) = delete;
    exact_copy& operator=(const exact_copy&) = delete;
    ~exact_copy() { delete[] bytes_; }
    char* data() { return bytes_; }
    std::size_t size() const { return size_; }
    operator std::string_view() const { return {bytes_, size_}; }  // NOLINT

private:
    char* bytes_;
    std::size_t size_;
};

using pieces = std::vector<std::string_view>;

// Whole; cut in two at every place; byte by byte.
inline std::vector<pieces> all_cuts(std::string_view text) {
    std::vector<pieces> out{{text}};
    for (std::size_t i = 1; i < text.size(); ++i)
        out.push_back({text.substr(0, i), text.substr(i)});
    pieces bytes;
    for (std::size_t i = 0; i < text.size(); ++i) bytes.push_back(text.substr(i, 1));
    out.push_back(bytes);
    return out;
}

}  // namespace wire::testing
