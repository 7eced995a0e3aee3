// SHA-1 (FIPS 180-4), here only because Sec-WebSocket-Accept is made of it (RFC 6455
// section 4.2.2). Collisions are easy to make: not for anything that has to be secure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wire/base/export.hpp"

namespace wire {

// The digest of `data`, in the order in which it is written.
WIRE_EXPORT std::array<std::uint8_t, 20> sha1(std::string_view data) noexcept;

}  // namespace wire
