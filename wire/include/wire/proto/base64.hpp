// Base64 with padding (RFC 4648 section 4): the alphabet with '+' and '/'.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wire/base/export.hpp"

namespace wire {

// Four characters for every three bytes, the last four padded with '='; no line breaks.
WIRE_EXPORT std::string base64_encode(std::span<const std::uint8_t> data);

// The bytes that `text` encodes, as chars; none when it is malformed. Only canonical text is taken:
// right padding, no white space, zero spare bits. So what base64_encode() makes of the result is
// `text` again.
WIRE_EXPORT std::optional<std::string> base64_decode(std::string_view text);

}  // namespace wire
