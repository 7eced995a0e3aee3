// WebSocket frames (RFC 6455 section 5), both roles.
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

enum class role : std::uint8_t { server, client };

enum class opcode : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10
};

constexpr bool is_control(opcode op) noexcept { return static_cast<std::uint8_t>(op) >= 8; }

// The four key bytes in the order of the wire.
using mask_key = std::array<std::uint8_t, 4>;

// XORs `data` with the key, whose first byte used is number `offset` % 4. In place, or into `to`.
void apply_mask(std::span<char> data, mask_key key, std::size_t offset = 0) noexcept;
void copy_masked(char* to, std::string_view from, mask_key key, std::size_t offset = 0) noexcept;

struct frame_header {
    bool fin = true;
    std::uint8_t reserved = 0;  // RSV1..3 as bits 4, 2, 1
    opcode op = opcode::text;
    bool masked = false;
    mask_key key{};
    std::uint64_t length = 0;  // of the payload
};

constexpr std::size_t max_frame_header_bytes = 14;

// Reads one header. `size` is its length in bytes, 0 when more is needed; `error` is set when no
// further byte could make it valid for a receiver in role `r`: reserved bits (but `compressed_bit`
// on the first frame of a message where `may_be_compressed`: permessage-deflate was agreed),
// unknown opcode, control frame fragmented or over 125 bytes, wrong masking, length not in its
// shortest form or beyond 2^63 - 1.
struct header_step {
    std::size_t size = 0;
    errc error = errc::none;
    frame_header header{};
};
constexpr std::uint8_t compressed_bit = 4;  // RSV1, RFC 7692 section 6
header_step read_frame_header(std::string_view in, role r, bool may_be_compressed = false) noexcept;

// Writes a header into `to` and returns its length. The mask bit is set when `key` is given.
std::size_t write_frame_header(std::span<char, max_frame_header_bytes> to, opcode op,
                               std::uint64_t length, bool fin, std::optional<mask_key> key,
                               bool compressed = false) noexcept;

// Appends a whole frame; the payload is masked with `key` when given (a client must, section 5.3).
void append_frame(buffer& out, opcode op, std::string_view payload,
                  std::optional<mask_key> key = {}, bool fin = true, bool compressed = false);

// Close codes (section 7.4).
namespace close_code {
constexpr std::uint16_t normal = 1000;
constexpr std::uint16_t going_away = 1001;
constexpr std::uint16_t protocol_error = 1002;
constexpr std::uint16_t unsupported = 1003;
constexpr std::uint16_t none_given = 1005;  // never on the wire
constexpr std::uint16_t abnormal = 1006;    // never on the wire
constexpr std::uint16_t bad_data = 1007;
constexpr std::uint16_t policy = 1008;
constexpr std::uint16_t too_big = 1009;
constexpr std::uint16_t internal_error = 1011;
constexpr std::uint16_t try_again_later = 1013;  // registered since, as 1012 and 1014
}  // namespace close_code

// May stand in a close frame: 1000-1003, 1007-1014 (those registered), 3000-4999.
bool is_valid_close_code(std::uint16_t code) noexcept;

// The code with which to close after a local refusal.
std::uint16_t close_code_for(errc error) noexcept;

// Appends a close frame; `none_given` gives one without a body. The reason is cut at 123 bytes, at
// a character.
void append_close(buffer& out, std::uint16_t code, std::string_view reason,
                  std::optional<mask_key> key = {});

}  // namespace wire::ws
