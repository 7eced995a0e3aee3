// UTF-8 by words of ASCII, then whole characters, then single bytes where a piece ends.
#include "wire/proto/utf8.hpp"

#include <cstring>

namespace wire {

namespace {

// How many bytes at `p` are one character of several bytes, 0 when they are none; precondition:
// four bytes are there.
std::size_t whole_character(const char* p) noexcept {
    const auto byte = [p](int i) { return std::uint32_t{static_cast<unsigned char>(p[i])}; };
    const auto follows = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
    if (byte(0) < 0xE0) return byte(0) >= 0xC2 && follows(1) ? 2 : 0;
    if (byte(0) < 0xF0) {
        // The code point without its last six bits.
        const std::uint32_t begin = (byte(0) & 0x0F) << 6 | (byte(1) & 0x3F);
        // Neither overlong nor a surrogate.
        return follows(1) && follows(2) && begin >= 0x20 && begin >> 5 != 0x1B ? 3 : 0;
    }
    const std::uint32_t begin = (byte(0) & 0x0F) << 6 | (byte(1) & 0x3F);
    return follows(1) && follows(2) && follows(3) && begin >= 0x10 && begin <= 0x10F ? 4 : 0;
}

}  // namespace

bool utf8_validator::feed(std::string_view piece) noexcept {
    constexpr std::uint8_t broken = 255;
    if (needed_ == broken) return false;
    const char* p = piece.data();
    const char* const end = p + piece.size();
    while (p != end) {
        if (needed_ == 0) {
            // Runs of ASCII, 16 bytes at a time.
            while (end - p >= 16) {
                std::uint64_t a;
                std::uint64_t b;
                std::memcpy(&a, p, 8);
                std::memcpy(&b, p + 8, 8);
                if (((a | b) & 0x8080808080808080U) != 0) break;
                p += 16;
            }
            if (const auto left = static_cast<std::size_t>(end - p);
                left < 16 && piece.size() >= 8) {
                // The last bytes in words that may overlap those checked already.
                std::uint64_t a = 0;
                std::uint64_t b;
                if (left > 8) std::memcpy(&a, p, 8);
                std::memcpy(&b, end - 8, 8);
                if (((a | b) & 0x8080808080808080U) == 0) return true;
            }
            while (p != end && static_cast<unsigned char>(*p) < 0x80) ++p;
            if (p == end) return true;
            const char* const run = p;
            for (std::size_t n = 1; end - p >= 4 && n != 0; p += n) n = whole_character(p);
            if (p != run) continue;
            // Characters that are cut off here, or wrong, are read a byte at a time. RFC 3629
            // section 4: the lead byte says how many follow and, against overlong forms, surrogates
            // and code points beyond U+10FFFF, narrows the range of the first of them.
            const auto lead = static_cast<unsigned char>(*p++);
            low_ = 0x80;
            high_ = 0xBF;
            if (lead >= 0xC2 && lead <= 0xDF) {
                needed_ = 1;
            } else if (lead >= 0xE0 && lead <= 0xEF) {
                needed_ = 2;
                if (lead == 0xE0) low_ = 0xA0;
                if (lead == 0xED) high_ = 0x9F;
            } else if (lead >= 0xF0 && lead <= 0xF4) {
                needed_ = 3;
                if (lead == 0xF0) low_ = 0x90;
                if (lead == 0xF4) high_ = 0x8F;
            } else {
                needed_ = broken;
                return false;
            }
            continue;
        }
        const auto c = static_cast<unsigned char>(*p++);
        if (c < low_ || c > high_) {
            needed_ = broken;
            return false;
        }
        low_ = 0x80;
        high_ = 0xBF;
        --needed_;
    }
    return true;
}

}  // namespace wire
