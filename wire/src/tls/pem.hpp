// Certificates, keys and authorities in PEM, from files or memory, into contexts.
#pragma once

#include <string>

#include "openssl.hpp"
#include "wire/tls/certificate_source.hpp"

namespace wire::tls::detail {

// Errors name the file, or the option that has the text: bad_argument where neither is given or
// both are; tls_failed.
result<void> use_certificate(SSL_CTX& ctx, const certificate_source& from);

// These authorities, and a certificate among them itself. `file` or `text` is empty. With
// `name_them` a server names them to its clients.
result<void> trust(SSL_CTX& ctx, const std::string& file, const std::string& text,
                   bool name_them = false);

}  // namespace wire::tls::detail
