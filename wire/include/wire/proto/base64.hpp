// Base64 with padding (RFC 4648 section 4).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wire {

std::string base64_encode(std::span<const std::uint8_t> data);
// Canonical text only: right padding, no white space, zero spare bits.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace wire
