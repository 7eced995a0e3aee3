// OpenSSL's objects with an owner, and its errors as ours.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

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

struct algorithms;

// The oldest entry of this thread's error queue as text, which is emptied; "unknown reason" when
// there is none.
std::string take_reason();

// "<what>: <take_reason()>".
error failure(std::string_view what);

// With the settings that both roles share.
result<ctx_ptr> new_context(const SSL_METHOD* method, const algorithms& wanted);
// RFC 9525: names stand in the subjectAltName alone (section 6.1), and a wildcard for a whole label
// (section 6.3).
constexpr unsigned name_check_flags =
    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
// The form in which ALPN travels: each name behind its length.
result<std::string> protocol_list(const std::vector<std::string>& protocols);

}  // namespace wire::tls::detail
