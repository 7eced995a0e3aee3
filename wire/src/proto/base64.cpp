// Base64 by a table in each direction.
#include "wire/proto/base64.hpp"

#include <array>

namespace wire {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (std::size_t i = 0; i < alphabet.size(); ++i) {
        values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
    }
    return values;
}
constexpr auto values = make_values();

}  // namespace

std::string base64_encode(std::span<const std::uint8_t> data) {
    std::string out;
    out.reserve((data.size() + 2) / 3 * 4);
    std::size_t i = 0;
    for (; i + 3 <= data.size(); i += 3) {
        const unsigned v = static_cast<unsigned>(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
        for (int shift = 18; shift >= 0; shift -= 6) out.push_back(alphabet[v >> shift & 63]);
    }
    if (const std::size_t left = data.size() - i; left > 0) {
        const unsigned v =
            static_cast<unsigned>(data[i] << 16 | (left == 2 ? data[i + 1] << 8 : 0));
        out.push_back(alphabet[v >> 18 & 63]);
        out.push_back(alphabet[v >> 12 & 63]);
        out.push_back(left == 2 ? alphabet[v >> 6 & 63] : '=');
        out.push_back('=');
    }
    return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) return std::nullopt;
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
        ++padding;
    std::string out;
    out.reserve(text.size() / 4 * 3);
    unsigned bits = 0;
    int count = 0;
    for (const char c : text.substr(0, text.size() - padding)) {
        const int v = values[static_cast<unsigned char>(c)];
        if (v < 0) return std::nullopt;
        bits = bits << 6 | static_cast<unsigned>(v);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out.push_back(static_cast<char>(bits >> count & 0xFF));
        }
    }
    // A single character encodes no byte, and spare bits must be zero.
    if (count == 6 || (bits & ((1U << count) - 1)) != 0) return std::nullopt;
    return out;
}

}  // namespace wire
