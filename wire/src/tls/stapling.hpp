// OCSP responses in the handshake (RFC 6066 section 8, RFC 8446 section 4.4.2.1): a server's own,
// and a client's check of one.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "ocsp_response.hpp"
#include "openssl.hpp"
#include "wire/tls/certificate_source.hpp"
#include "wire/tls/client_context.hpp"

namespace wire::tls::detail {

// Clients of `ctx` that ask get the response of `from`, if it has one, for as long as that holds by
// `clock`. The context has its certificate already. Errors: bad_argument where two responses are
// given; tls_failed. They name the file, or the option.
result<void> staple(SSL_CTX& ctx, const certificate_source& from,
                    std::function<std::chrono::system_clock::time_point()> clock);

// Connections of a client's context ask for a response, and fail where it is not in order. Errors:
// tls_failed.
result<void> ask_for_staples(SSL_CTX& ctx, ocsp_response wanted);

// Until when the response holds that the server of this session has shown, in seconds since 1970;
// 0 where it has shown none.
std::time_t ocsp_until(const SSL_SESSION& session) noexcept;
// False when memory is short.
bool set_ocsp_until(SSL_SESSION& session, std::time_t until) noexcept;

// For people: why this side ended a handshake with the alert bad_certificate_status_response.
// Reads the thread's oldest error in OpenSSL's queue, and leaves it there.
std::string staple_problem();

}  // namespace wire::tls::detail
