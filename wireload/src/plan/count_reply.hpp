// The reply of the counting exchange: {"c":7,"ts":1700000000.25}.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wireload {

// The value of "c", when `text` is one JSON object (RFC 8259) that has a "c" which is a whole
// number and a "ts" which is a number. Other members, white space and any order are allowed, as a
// server's JSON library may have it. The usual spellings are told by comparing bytes, and nothing
// is allocated for them; a JSON library reads all others.
std::optional<std::uint64_t> parse_count_reply(std::string_view text);

}  // namespace wireload
