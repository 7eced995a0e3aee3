// WebSocket frames (RFC 6455 section 5), both roles: headers and masks. Close frames have more in
// wire/proto/ws_close.hpp; wire/proto/ws_reader.hpp assembles messages.
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
#include "wire/base/export.hpp"
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
WIRE_EXPORT void apply_mask(std::span<char> data, mask_key key, std::size_t offset = 0) noexcept;
// The same from `from` to `to`, which has room for as many bytes and does not overlap.
WIRE_EXPORT void copy_masked(char* to, std::string_view from, mask_key key,
                             std::size_t offset = 0) noexcept;

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
WIRE_EXPORT header_step read_frame_header(std::string_view in, role r,
                                          bool may_be_compressed = false) noexcept;

// Writes a header into `to` and returns its length. `length` is the payload's, which the caller
// appends, masked where `key` is given; `compressed` sets compressed_bit, which belongs on the
// first frame of a message only.
WIRE_EXPORT std::size_t write_frame_header(std::span<char, max_frame_header_bytes> to, opcode op,
                                           std::uint64_t length, bool fin,
                                           std::optional<mask_key> key,
                                           bool compressed = false) noexcept;

// Appends a whole frame. The payload is masked with `key` when given: a client must give one that
// its server cannot foresee (section 5.3), a server must give none.
WIRE_EXPORT void append_frame(buffer& out, opcode op, std::string_view payload,
                              std::optional<mask_key> key = {}, bool fin = true,
                              bool compressed = false);

}  // namespace wire::ws
