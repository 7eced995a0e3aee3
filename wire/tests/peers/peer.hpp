// What the two halves of wire_peer share: bytes that both can make, checksums, and numbers.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"

namespace wire_peer {

constexpr std::size_t piece_bytes = 64 << 10;
constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;

// Byte i is (i * 7 + i / 251) % 256 of its 64 KiB block.
inline const std::array<char, piece_bytes>& block() {
    static const auto bytes = [] {
        std::array<char, piece_bytes> made;
        for (std::size_t i = 0; i < made.size(); ++i)
            made[i] = static_cast<char>((i * 7 + i / 251) % 256);
        return made;
    }();
    return bytes;
}

// The bytes from `at` to the end of their block or to `end`. The view never dies.
inline std::string_view piece_at(std::uint64_t at, std::uint64_t end) {
    const std::size_t inside = at % piece_bytes;
    return {block().data() + inside,
            static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes - inside, end - at))};
}

// The size and CRC-32 of what was added.
class checksum {
public:
    void add(std::string_view piece) {
        sum_ = crc32(sum_, reinterpret_cast<const Bytef*>(piece.data()),
                     static_cast<uInt>(piece.size()));
        bytes_ += piece.size();
    }
    std::string text() const { return std::to_string(bytes_) + " " + std::to_string(sum_); }

private:
    uLong sum_ = 0;
    std::uint64_t bytes_ = 0;
};

inline std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return std::min(value, most_bytes);
}

// Says what went wrong on standard error; the exit code.
inline int fail(const wire::error& why) {
    std::fprintf(stderr, "wire_peer: %s\n", why.message.c_str());
    return 1;
}

// Serves as `argv` says, from the argument behind "server", "activated" or "successor" on, until a
// signal ends the process. Returns the exit code; 64 for arguments that are not known.
int serve(int argc, char** argv);

}  // namespace wire_peer
