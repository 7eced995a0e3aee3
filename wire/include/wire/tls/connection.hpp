// TLS on one connection: what a context makes and a stream runs its bytes through.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/loop/stream_filter.hpp"

namespace wire::tls {

// TLS 1.0 and 1.1 are not offered (RFC 8996).
enum class version : std::uint8_t { tls_1_2, tls_1_3 };

// What was agreed on. Views live as long as the connection.
struct connection_info {
    std::string_view version;   // "TLSv1.3"
    std::string_view cipher;    // "TLS_AES_256_GCM_SHA384"
    std::string_view protocol;  // by ALPN; empty when none was agreed on
    std::string_view peer;      // the common name in the peer's certificate; empty without one
    bool resumed = false;  // an earlier session was taken up again: no certificates, no signature
};

class connection : public stream_filter {
public:
    // Only while is_open().
    virtual connection_info info() const = 0;
};

}  // namespace wire::tls
