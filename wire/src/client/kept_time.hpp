// How long a server says that it keeps an idle connection.
#pragma once

#include <chrono>

#include "wire/proto/http_types.hpp"

namespace wire::http {

// How long after a response with these fields its connection may be used again, by "timeout" of
// Keep-Alive (RFC 2068 section 19.7.1.1): a second less than the server says, as it has counted
// since before the response came, and closes while a request is on its way; half of one second.
// The least where it is given several times. What is no number of seconds is passed over. A
// hundred years without any.
std::chrono::milliseconds kept_time(const header_list& fields) noexcept;

}  // namespace wire::http
