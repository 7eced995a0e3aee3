// WebSocket close frames (RFC 6455 sections 5.5.1 and 7.4): the codes, reading a close frame's
// payload, and writing a close frame.
//
//     ws::close_payload got;
//     if (ws::parse_close(payload, got) == errc::none) bye(got.code, got.reason);
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/ws_frame.hpp"

namespace wire::ws {

// Close codes (section 7.4). Applications have 3000 to 4999.
namespace close_code {
constexpr std::uint16_t normal = 1000;           // the purpose is fulfilled
constexpr std::uint16_t going_away = 1001;       // a server stops, or a page is left
constexpr std::uint16_t protocol_error = 1002;   // the peer broke the protocol
constexpr std::uint16_t unsupported = 1003;      // this type of message is not taken
constexpr std::uint16_t none_given = 1005;       // never sent: the close frame had no code
constexpr std::uint16_t abnormal = 1006;         // never sent: the connection broke without one
constexpr std::uint16_t bad_data = 1007;         // text that is not UTF-8, for example
constexpr std::uint16_t policy = 1008;           // refused for a reason that no other code names
constexpr std::uint16_t too_big = 1009;          // a message larger than is taken
constexpr std::uint16_t internal_error = 1011;   // the server cannot go on
constexpr std::uint16_t try_again_later = 1013;  // overload; registered later, as 1012 and 1014
}  // namespace close_code

// Whether the code may stand in a close frame: 1000-1003, 1007-1014 (those registered), 3000-4999.
WIRE_EXPORT bool is_valid_close_code(std::uint16_t code) noexcept;

// The code with which to close after an error of one's own, such as message_reader's.
WIRE_EXPORT std::uint16_t close_code_for(errc error) noexcept;

// Appends a close frame; `none_given` makes one without a body. The reason is cut to 123 bytes, at
// a character's end.
WIRE_EXPORT void append_close(buffer& out, std::uint16_t code, std::string_view reason,
                              std::optional<mask_key> key = {});

// What a close frame says. `reason` points into the payload that it was read from.
struct close_payload {
    std::uint16_t code = close_code::none_given;
    std::string_view reason;
};

// Reads a close frame's unmasked payload. Empty is allowed and leaves `none_given`. Returns
// errc::none, errc::bad_close_code (one byte, or a code that may not be sent), or errc::bad_utf8
// for the reason; `out` is complete only with errc::none.
WIRE_EXPORT errc parse_close(std::string_view payload, close_payload& out) noexcept;

}  // namespace wire::ws
