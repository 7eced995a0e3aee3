// OpenSSL's objects with an owner, and its errors as ours.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/tls/connection.hpp"

namespace wire::tls::detail {

template <auto Free> struct freed_by {
    template <typename T> void operator()(T* object) const noexcept { Free(object); }
};

using ssl_ptr = std::unique_ptr<SSL, freed_by<&SSL_free>>;
using ctx_ptr = std::unique_ptr<SSL_CTX, freed_by<&SSL_CTX_free>>;
using session_ptr = std::unique_ptr<SSL_SESSION, freed_by<&SSL_SESSION_free>>;

// The oldest entry of this thread's error queue as text, which is emptied; "unknown reason" when
// there is none.
std::string take_reason();

// "<what>: <take_reason()>".
error failure(std::string_view what);

// With the settings that both roles share.
result<ctx_ptr> new_context(const SSL_METHOD* method, version low, version high);
result<void> use_certificate(SSL_CTX& ctx, const std::string& certificate_file,
                             const std::string& key_file);
// These authorities, and a certificate in the file itself.
result<void> trust(SSL_CTX& ctx, const std::string& ca_file);
// The form in which ALPN travels: each name behind its length.
result<std::string> protocol_list(const std::vector<std::string>& protocols);

}  // namespace wire::tls::detail
