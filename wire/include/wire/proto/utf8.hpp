// UTF-8 validation in pieces (RFC 3629): WebSocket text may be cut anywhere, also inside a
// character (RFC 6455 section 8.1).
//
//     wire::utf8_validator valid;
//     for (std::string_view piece : pieces) if (!valid.feed(piece)) return refuse();
//     if (!valid.complete()) return refuse();
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/base/export.hpp"

namespace wire {

// Three bytes of state, which say where inside a character the last piece ended.
class WIRE_EXPORT utf8_validator {
public:
    // False as soon as the bytes so far cannot be the beginning of valid text; then for good, until
    // reset().
    bool feed(std::string_view piece) noexcept;
    // No character is incomplete: the text may end here.
    bool complete() const noexcept { return needed_ == 0; }
    // Begins another text.
    void reset() noexcept { *this = utf8_validator(); }

private:
    std::uint8_t needed_ = 0;  // continuation bytes still to come; 255 after a failure
    std::uint8_t low_ = 0x80;  // allowed range of the next one
    std::uint8_t high_ = 0xBF;
};

// Whether `text` is valid as a whole.
inline bool is_utf8(std::string_view text) noexcept {
    utf8_validator v;
    return v.feed(text) && v.complete();
}

}  // namespace wire
