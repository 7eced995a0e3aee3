// What connecting begins with, for those who connect in another way.
#pragma once

#include "wire/loop/socket.hpp"

namespace wire::detail {

// The socket of connect_tcp(), bound as asked, not yet connecting.
result<unique_fd> open_tcp(const address& to, const connect_options& options);

}  // namespace wire::detail
