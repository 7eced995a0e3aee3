// Bodies in br and zstd for tests, which link no library that could make them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "hex.hpp"

namespace wire::testing {

inline std::string bytes_of_hex(std::string_view digits) {
    const auto octets = from_hex(digits);
    return {octets.begin(), octets.end()};
}

// What the two below decode to.
constexpr std::string_view coded_text = "some text, some text, some other text";
inline std::string br_text() {
    return bytes_of_hex("13240000c4636c5d7df79a32186a10a132a0b4d958983e820911");
}
// With a checksum.
inline std::string zstd_text() {
    return bytes_of_hex(
        "28b52ffd2425dd0000a8736f6d6520746578742c206f7468657220746578740100468a1730b86c9e");
}
// The text with a "large window" of 2^26, which is no part of RFC 7932.
inline std::string br_large_window() {
    return bytes_of_hex("115a9000e0374e97d94f27b43548db1c9e66297ba353830895010001226629fbc005");
}
inline std::string br_1000() { return bytes_of_hex("13e7030024f0a2b1404203"); }  // times x
inline std::string br_1001() { return bytes_of_hex("13e8030024f0a2b1404403"); }
// 16 MiB of x in 389 bytes.
inline std::string br_bomb() {
    return bytes_of_hex(
        "a3ffff0340022f1e0b24f7fe40ffff078004401c1680eefd81feff0f000980382c00ddfb03fdff1f0012007158"
        "00baf707faff3f002400e2b00074ef0ff4ff7f004800c46101e8de1fe8ffff00900088c302d0bd3fd0ffff0120"
        "01108705a07b7fa0ffff034002200e0b40f7fe40ffff078004401c1680eefd81feff0f000980382c00ddfb03fd"
        "ff1f001200715800baf707faff3f002400e2b00074ef0ff4ff7f004800c46101e8de1fe8ffff00900088c302d0"
        "bd3fd0ffff012001108705a07b7fa0ffff034002200e0b40f7fe40ffff078004401c1680eefd81feff0f000980"
        "382c00ddfb03fdff1f001200715800baf707faff3f002400e2b00074ef0ff4ff7f004800c46101e8de1fe8ffff"
        "00900088c302d0bd3fd0ffff012001108705a07b7fa0ffff034002200e0b40f7fe40ffff078004401c1680eefd"
        "81feff0f000980382c00ddfb03fdff1f001200715800baf707faff3f002400e2b00074ef0ff4ff7f004800c461"
        "01e8de1fe8ffff00900088c302d0bd3fa8ffff032001108705a07b7f00");
}
// A frame of `size` times x in blocks of one repeated byte (RFC 8878 section 3.1.1), that asks for
// a window of 2^window_bits bytes.
inline std::string zstd_of_x(std::size_t size, unsigned window_bits = 17) {
    std::string out = bytes_of_hex("28b52ffd00");
    out.push_back(static_cast<char>((window_bits - 10) << 3));
    do {
        const std::size_t block = std::min<std::size_t>(size, 128 * 1024);
        size -= block;
        const std::size_t head = (block << 3) | (1U << 1) | (size == 0 ? 1U : 0U);
        for (const int shift : {0, 8, 16}) out.push_back(static_cast<char>((head >> shift) & 255U));
        out.push_back('x');
    } while (size > 0);
    return out;
}

}  // namespace wire::testing
