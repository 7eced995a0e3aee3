// Makes bytes of a peer or a user safe to show to a person.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wireload {

// At most `limit` bytes of `bytes`, and how many there are if there are more. Escapes everything
// that is not printable ASCII, as C does ("\r\n", "\x00").
std::string printable(std::string_view bytes, std::size_t limit = 512);

// For a text that says more than these bytes, and that printable() is to take whole: their
// beginning, and how many there are if there are more. Escapes nothing.
std::string excerpt(std::string_view bytes);

}  // namespace wireload
