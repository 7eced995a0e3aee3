// WebSocket frames (RFC 6455 section 5), both roles: headers, masks, close codes. What assembles
// messages from them is wire/proto/ws_reader.hpp.
//
//     wire::ws::append_frame(out, wire::ws::opcode::text, "hello");       // as a server
//     wire::ws::append_frame(out, wire::ws::opcode::text, "hello", key);  // as a client
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"

namespace wire::ws {

// Which side of the connection one is: clients mask their frames, servers do not.
enum class role : std::uint8_t { server, client };

// What a frame is (section 5.2). Those from 8 on are control frames. Fragments of a message after
// the first are continuations.
enum class opcode : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10
};

// Control frames have at most 125 bytes of payload and are never fragmented (section 5.5).
constexpr bool is_control(opcode op) noexcept { return static_cast<std::uint8_t>(op) >= 8; }

// The four key bytes in the order in which they are sent.
using mask_key = std::array<std::uint8_t, 4>;

// XORs `data` with the key in place; its first byte is number `offset` of the payload. Masking
// twice with the same key gives the bytes back.
void apply_mask(std::span<char> data, mask_key key, std::size_t offset = 0) noexcept;
// The same from `from` to `to`, which has room for as many bytes and does not overlap.
void copy_masked(char* to, std::string_view from, mask_key key, std::size_t offset = 0) noexcept;

// The fields of a frame before its payload.
struct frame_header {
    bool fin = true;            // the last frame of its message
    std::uint8_t reserved = 0;  // RSV1..3 as bits 4, 2, 1
    opcode op = opcode::text;
    bool masked = false;
    mask_key key{};
    std::uint64_t length = 0;  // bytes of payload
};

// The longest header that there is.
constexpr std::size_t max_frame_header_bytes = 14;

// The answer of read_frame_header().
struct header_step {
    std::size_t size = 0;  // bytes of the header; 0: more are needed
    errc error = errc::none;
    frame_header header{};
};
// RSV1, the bit of frame_header::reserved that marks a compressed message (RFC 7692 section 6).
constexpr std::uint8_t compressed_bit = 4;
// Reads the header at the beginning of `in`, for a receiver in role `r`.
//
// errc::bad_frame as soon as no further byte could make it valid: reserved bits (but compressed_bit
// on the first frame of a message where `may_be_compressed`, when permessage-deflate was agreed),
// an unknown opcode, a control frame that is fragmented or over 125 bytes, wrong masking, a length
// that is not in its shortest form or beyond 2^63 - 1.
header_step read_frame_header(std::string_view in, role r, bool may_be_compressed = false) noexcept;

// Writes a header into `to` and returns its length. `length` is the payload's, which the caller
// appends, masked where `key` is given; `compressed` sets compressed_bit, which belongs on the
// first frame of a message only.
std::size_t write_frame_header(std::span<char, max_frame_header_bytes> to, opcode op,
                               std::uint64_t length, bool fin, std::optional<mask_key> key,
                               bool compressed = false) noexcept;

// Appends a whole frame. The payload is masked with `key` when given: a client must give one that
// its server cannot foresee (section 5.3), a server must give none.
void append_frame(buffer& out, opcode op, std::string_view payload,
                  std::optional<mask_key> key = {}, bool fin = true, bool compressed = false);

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
bool is_valid_close_code(std::uint16_t code) noexcept;

// The code with which to close after an error of one's own, such as message_reader's.
std::uint16_t close_code_for(errc error) noexcept;

// Appends a close frame; `none_given` makes one without a body. The reason is cut to 123 bytes, at
// a character's end.
void append_close(buffer& out, std::uint16_t code, std::string_view reason,
                  std::optional<mask_key> key = {});

}  // namespace wire::ws
