// What the fuzz targets have in common.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pieces.hpp"
#include "wire/base/limits.hpp"

namespace wire::fuzz {

inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "fuzz: %s\n", what);
    std::abort();
}

// Small, so that inputs of a few hundred bytes reach every limit.
inline limits small_limits() {
    limits l;
    l.max_uri_bytes = 40;
    l.max_header_bytes = 200;
    l.max_headers = 6;
    l.max_body_bytes = 100;
    l.max_chunk_extension_bytes = 10;
    l.max_trailer_bytes = 40;
    l.max_interim_responses = 2;
    l.max_message_bytes = 150;
    l.max_parameters = 4;
    l.max_cookies = 4;
    l.max_parts = 3;
    l.max_part_header_bytes = 90;
    l.max_part_bytes = 30;
    return l;
}

// What precedes the first line end, and is removed with it.
inline std::string_view take_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    return line;
}

// The first byte chooses where to cut the rest.
template <typename Say> void compare_cuts(std::string_view input, Say say) {
    if (input.empty()) return;
    const std::size_t seed = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    const std::string whole = say(testing::pieces{input});
    const std::size_t cut = input.empty() ? 0 : seed % input.size();
    require(say(testing::pieces{input.substr(0, cut), input.substr(cut)}) == whole,
            "two pieces differ from the whole");
    testing::pieces bytes;
    for (std::size_t i = 0; i < input.size(); ++i) bytes.push_back(input.substr(i, 1));
    require(say(bytes) == whole, "single bytes differ from the whole");
}

}  // namespace wire::fuzz
