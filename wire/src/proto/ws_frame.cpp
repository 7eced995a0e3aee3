// Frame headers and masks, eight bytes at a time.
#include "wire/proto/ws_frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wire::ws {

namespace {

// The key beginning at its byte `offset` % 4, as it lies in memory.
std::uint32_t turned(mask_key key, std::size_t offset) noexcept {
    const auto word = std::bit_cast<std::uint32_t>(key);
    const int bits = 8 * static_cast<int>(offset % 4);
    return std::endian::native == std::endian::little ? std::rotr(word, bits)
                                                      : std::rotl(word, bits);
}

// A frame's header up to its mask, of whose presence it tells; returns its size.
std::size_t write_header(char* to, opcode op, std::uint64_t length, bool fin, bool masked,
                         bool compressed) noexcept {
    const unsigned mask_bit = masked ? 0x80 : 0;
    to[0] = static_cast<char>((fin ? 0x80U : 0U) | (compressed ? compressed_bit << 4U : 0U) |
                              static_cast<unsigned>(op));
    if (length < 126) {
        to[1] = static_cast<char>(mask_bit | static_cast<unsigned>(length));
        return 2;
    }
    const int bytes = length < 65536 ? 2 : 8;
    to[1] = static_cast<char>(mask_bit | (bytes == 2 ? 126U : 127U));
    std::size_t at = 2;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        to[at++] = static_cast<char>(length >> shift & 0xFF);
    return at;
}

// The mask behind the `at` bytes of its header; returns the size of both.
std::size_t put_key(char* to, std::size_t at, mask_key key) noexcept {
    std::memcpy(to + at, key.data(), key.size());
    return at + key.size();
}

}  // namespace

// Words of eight bytes through memcpy (alignment does not matter); compilers turn the loop of four
// into vectors.
void copy_masked(char* to, std::string_view from, mask_key key, std::size_t offset) noexcept {
    const std::uint32_t half = turned(key, offset);
    const std::uint64_t word = std::uint64_t{half} << 32 | half;
    const char* p = from.data();
    std::size_t left = from.size();
    while (left >= 32) {
        std::array<std::uint64_t, 4> block;
        std::memcpy(block.data(), p, 32);
        for (std::uint64_t& w : block) w ^= word;
        std::memcpy(to, block.data(), 32);
        p += 32;
        to += 32;
        left -= 32;
    }
    while (left >= 8) {
        std::uint64_t w;
        std::memcpy(&w, p, 8);
        w ^= word;
        std::memcpy(to, &w, 8);
        p += 8;
        to += 8;
        left -= 8;
    }
    if (left >= 4) {
        std::uint32_t w;
        std::memcpy(&w, p, 4);
        w ^= half;
        std::memcpy(to, &w, 4);
        p += 4;
        to += 4;
        left -= 4;
    }
    const auto bytes = std::bit_cast<std::array<char, 4>>(half);
    if (left > 0) to[0] = static_cast<char>(p[0] ^ bytes[0]);
    if (left > 1) to[1] = static_cast<char>(p[1] ^ bytes[1]);
    if (left > 2) to[2] = static_cast<char>(p[2] ^ bytes[2]);
}

void apply_mask(std::span<char> data, mask_key key, std::size_t offset) noexcept {
    copy_masked(data.data(), {data.data(), data.size()}, key, offset);
}

header_step read_frame_header(std::string_view in, role r, bool may_be_compressed) noexcept {
    header_step step;
    const auto byte = [in](std::size_t i) { return static_cast<std::uint8_t>(in[i]); };
    const auto refuse = [&step] {
        step.error = errc::bad_frame;
        return step;
    };
    if (in.empty()) return step;
    frame_header& h = step.header;
    h.fin = (byte(0) & 0x80) != 0;
    h.reserved = byte(0) >> 4 & 7;
    const std::uint8_t op = byte(0) & 15;
    if ((op > 2 && op < 8) || op > 10) return refuse();
    h.op = static_cast<opcode>(op);
    if (h.reserved != 0 && !(may_be_compressed && h.reserved == compressed_bit &&
                             (h.op == opcode::text || h.op == opcode::binary))) {
        return refuse();
    }
    if (is_control(h.op) && !h.fin) return refuse();
    if (in.size() < 2) return step;
    h.masked = (byte(1) & 0x80) != 0;
    if (h.masked != (r == role::server)) return refuse();
    const std::uint8_t length = byte(1) & 127;
    if (is_control(h.op) && length > 125) return refuse();
    const std::size_t extra = length < 126 ? 0 : length == 126 ? 2 : 8;
    const std::size_t size = 2 + extra + (h.masked ? 4 : 0);
    h.length = length;
    if (extra > 0) {
        // The topmost bits are decided by the first byte; refuse it as soon as it is seen.
        if (extra == 8 && in.size() > 2 && (byte(2) & 0x80) != 0) return refuse();
        if (in.size() < 2 + extra) return step;
        h.length = 0;
        for (std::size_t i = 0; i < extra; ++i) h.length = h.length << 8 | byte(2 + i);
        // Section 5.2: the minimal number of bytes.
        if (h.length < (extra == 2 ? 126U : 65536U)) return refuse();
    }
    if (in.size() < size) return step;
    if (h.masked) std::memcpy(h.key.data(), in.data() + size - 4, 4);
    step.size = size;
    return step;
}

std::size_t write_frame_header(std::span<char, max_frame_header_bytes> to, opcode op,
                               std::uint64_t length, bool fin, std::optional<mask_key> key,
                               bool compressed) noexcept {
    const std::size_t at = write_header(to.data(), op, length, fin, key.has_value(), compressed);
    return key ? put_key(to.data(), at, *key) : at;
}

void append_frame(buffer& out, opcode op, std::string_view payload, std::optional<mask_key> key,
                  bool fin, bool compressed) {
    char* const space = out.prepare(max_frame_header_bytes + payload.size()).data();
    std::size_t n = write_header(space, op, payload.size(), fin, key.has_value(), compressed);
    if (key) {
        n = put_key(space, n, *key);
        copy_masked(space + n, payload, *key);
    } else if (!payload.empty()) {
        std::memcpy(space + n, payload.data(), payload.size());
    }
    out.commit(n + payload.size());
}

}  // namespace wire::ws
