// Close frames: which codes may be sent, what a received payload says, and the frame to send.
#include "wire/proto/ws_close.hpp"

#include <algorithm>
#include <array>

#include "wire/proto/utf8.hpp"

namespace wire::ws {

bool is_valid_close_code(std::uint16_t code) noexcept {
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

std::uint16_t close_code_for(errc error) noexcept {
    switch (error) {
    case errc::none: return close_code::normal;
    case errc::bad_compressed_data:
    case errc::bad_utf8: return close_code::bad_data;
    case errc::expands_too_much:
    case errc::message_too_large: return close_code::too_big;
    case errc::bad_frame:
    case errc::bad_close_code: return close_code::protocol_error;
    case errc::timed_out:
    case errc::stopped: return close_code::going_away;
    default: return close_code::internal_error;
    }
}

void append_close(buffer& out, std::uint16_t code, std::string_view reason,
                  std::optional<mask_key> key) {
    if (code == close_code::none_given) {
        append_frame(out, opcode::close, {}, key);
        return;
    }
    std::array<char, 125> payload;
    payload[0] = static_cast<char>(code >> 8);
    payload[1] = static_cast<char>(code & 0xFF);
    std::size_t n = std::min<std::size_t>(reason.size(), 123);
    // Not in the middle of a character: back to before its lead byte.
    while (n < reason.size() && n > 0 && (static_cast<unsigned char>(reason[n]) & 0xC0) == 0x80)
        --n;
    std::copy_n(reason.data(), n, payload.data() + 2);
    append_frame(out, opcode::close, {payload.data(), n + 2}, key);
}

errc parse_close(std::string_view payload, close_payload& out) noexcept {
    if (payload.empty()) return errc::none;
    if (payload.size() == 1) return errc::bad_close_code;
    out.code = static_cast<std::uint16_t>(static_cast<unsigned char>(payload[0]) << 8 |
                                          static_cast<unsigned char>(payload[1]));
    if (!is_valid_close_code(out.code)) return errc::bad_close_code;
    out.reason = payload.substr(2);
    return is_utf8(out.reason) ? errc::none : errc::bad_utf8;
}

}  // namespace wire::ws
