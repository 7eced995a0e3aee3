// Reads what wire tells of a peer's certificate.
#pragma once

#include <memory>

#include "openssl.hpp"
#include "wire/tls/peer_certificate.hpp"

namespace wire::tls::detail {

// Never null. `ocsp_good`: whether its server has proved that it was not revoked.
std::shared_ptr<const peer_certificate> read_peer_certificate(X509& from, bool ocsp_good);

}  // namespace wire::tls::detail
