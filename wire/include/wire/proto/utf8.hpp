// UTF-8 validation in pieces (RFC 3629): WebSocket text may break anywhere (RFC 6455 section 8.1).
#pragma once

#include <cstdint>
#include <string_view>

namespace wire {

class utf8_validator {
public:
    // False as soon as the bytes so far cannot be the start of valid text; then for good, until
    // reset().
    bool feed(std::string_view piece) noexcept;
    // No character is left half done.
    bool complete() const noexcept { return needed_ == 0; }
    void reset() noexcept { *this = utf8_validator(); }

private:
    std::uint8_t needed_ = 0;  // continuation bytes still to come; 255 after a failure
    std::uint8_t low_ = 0x80;  // allowed range of the next one
    std::uint8_t high_ = 0xBF;
};

inline bool is_utf8(std::string_view text) noexcept {
    utf8_validator v;
    return v.feed(text) && v.complete();
}

}  // namespace wire
