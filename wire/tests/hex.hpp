// Octets as specifications print them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wire::testing {

// Digits in pairs, with spaces where one likes.
inline std::vector<std::uint8_t> from_hex(std::string_view digits) {
    std::vector<std::uint8_t> out;
    std::string two;
    for (const char c : digits) {
        if (c != ' ') two += c;
        if (two.size() < 2) continue;
        out.push_back(static_cast<std::uint8_t>(std::stoi(two, nullptr, 16)));
        two.clear();
    }
    return out;
}

}  // namespace wire::testing
