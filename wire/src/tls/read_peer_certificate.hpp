// Reads what wire tells of a peer's certificate.
#pragma once

#include <memory>

#include "openssl.hpp"
#include "wire/tls/peer_certificate.hpp"

namespace wire::tls::detail {

// Never null.
std::shared_ptr<const peer_certificate> read_peer_certificate(X509& from);

}  // namespace wire::tls::detail
