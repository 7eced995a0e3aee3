#include "wire/proto/utf8.hpp"

#include <cstring>

namespace wire {

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
            while (p != end && static_cast<unsigned char>(*p) < 0x80) ++p;
            if (p == end) return true;
            // RFC 3629 section 4: the lead byte says how many follow and, against overlong forms, surrogates and
            // code points beyond U+10FFFF, narrows the range of the first of them.
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
