// Makes bytes of a peer or a user safe to show to a person.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wireload {

// At most `limit` bytes of `bytes`. Escapes everything that is not printable ASCII, as C does
// ("\r\n", "\x00").
std::string printable(std::string_view bytes, std::size_t limit = 512);

}  // namespace wireload
