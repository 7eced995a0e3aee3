// The names of alerts: OpenSSL knows some numbers only, each version others.
#pragma once

#include <cstdint>
#include <string_view>

namespace wire::tls::detail {

// As RFC 8446 section 6 and the registry of IANA write it: "certificate_required". "unknown" for a
// number that stands in neither. Static storage.
std::string_view alert_name(std::uint8_t number) noexcept;

}  // namespace wire::tls::detail
