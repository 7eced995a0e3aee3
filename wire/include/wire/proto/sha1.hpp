// SHA-1, only because Sec-WebSocket-Accept is made of it (RFC 6455 section 4.2.2). Not for
// security.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wire {

std::array<std::uint8_t, 20> sha1(std::string_view data) noexcept;

}  // namespace wire
