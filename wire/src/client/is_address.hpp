// Tells addresses from names.
#pragma once

#include <string_view>

namespace wire::detail {

// Whether a host is IPv6, without brackets, or of digits and dots alone, which the system takes for
// IPv4 in all its spellings ("127.1"). No name's last label is a number.
inline bool is_address(std::string_view host) noexcept {
    return host.find(':') != std::string_view::npos ||
           host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace wire::detail
