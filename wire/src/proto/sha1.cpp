// SHA-1 by FIPS 180-4, a block of 64 bytes at a time.
#include "wire/proto/sha1.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wire {

namespace {

using words = std::array<std::uint32_t, 5>;

// FIPS 180-4 section 6.1.2.
void add_block(words& h, const unsigned char* block) noexcept {
    std::array<std::uint32_t, 80> w;
    for (std::size_t i = 0; i < 16; ++i) {
        w[i] = static_cast<std::uint32_t>(block[4 * i]) << 24 |
               static_cast<std::uint32_t>(block[4 * i + 1]) << 16 |
               static_cast<std::uint32_t>(block[4 * i + 2]) << 8 | block[4 * i + 3];
    }
    for (std::size_t i = 16; i < 80; ++i)
        w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    std::uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    // Five rounds at a time, so that the five variables are back in their places and none is ever
    // moved.
    const auto rounds = [&w](std::size_t from, std::uint32_t k, auto mix, auto&... v) {
        const auto one = [&](std::uint32_t p, std::uint32_t& q, std::uint32_t r, std::uint32_t s,
                             std::uint32_t& t, std::size_t i) {
            t += std::rotl(p, 5) + mix(q, r, s) + k + w[i];
            q = std::rotl(q, 30);
        };
        const auto five = [&](std::uint32_t& p, std::uint32_t& q, std::uint32_t& r,
                              std::uint32_t& s, std::uint32_t& t, std::size_t i) {
            one(p, q, r, s, t, i);
            one(t, p, q, r, s, i + 1);
            one(s, t, p, q, r, i + 2);
            one(r, s, t, p, q, i + 3);
            one(q, r, s, t, p, i + 4);
        };
        for (std::size_t i = from; i < from + 20; i += 5) five(v..., i);
    };
    const auto choose = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
        return z ^ (x & (y ^ z));
    };
    const auto parity = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) { return x ^ y ^ z; };
    const auto majority = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
        return (x & y) | (z & (x | y));
    };
    rounds(0, 0x5A827999, choose, a, b, c, d, e);
    rounds(20, 0x6ED9EBA1, parity, a, b, c, d, e);
    rounds(40, 0x8F1BBCDC, majority, a, b, c, d, e);
    rounds(60, 0xCA62C1D6, parity, a, b, c, d, e);
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

}  // namespace

std::array<std::uint8_t, 20> sha1(std::string_view data) noexcept {
    words h{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    const std::uint64_t bits = std::uint64_t{data.size()} * 8;
    while (data.size() >= 64) {
        add_block(h, reinterpret_cast<const unsigned char*>(data.data()));
        data.remove_prefix(64);
    }
    std::array<unsigned char, 128> tail{};
    std::copy(data.begin(), data.end(), tail.begin());
    tail[data.size()] = 0x80;
    const std::size_t size = data.size() < 56 ? 64 : 128;
    for (std::size_t i = 0; i < 8; ++i)
        tail[size - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
    add_block(h, tail.data());
    if (size == 128) add_block(h, tail.data() + 64);
    std::array<std::uint8_t, 20> digest;
    for (std::size_t i = 0; i < 20; ++i)
        digest[i] = static_cast<std::uint8_t>(h[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

}  // namespace wire
