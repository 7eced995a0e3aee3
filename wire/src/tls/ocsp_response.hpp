// OCSP responses (RFC 6960): whether one speaks of a certificate, what it says, and whether to
// believe it.
#pragma once

#include <cstddef>
#include <ctime>
#include <string_view>

#include "openssl.hpp"

namespace wire::tls::detail {

// TLS 1.2 sends a response in a message of its own, of which OpenSSL's clients take 16,384 bytes.
constexpr std::size_t max_ocsp_bytes = 16'000;

// The clocks of a responder and of who reads may differ by this much.
constexpr std::time_t ocsp_clock_skew_seconds = 5 * 60;

// From thisUpdate until nextUpdate, in seconds since 1970; the second may be before the first.
struct ocsp_times {
    std::time_t since = 0;
    std::time_t until = 0;
};

// False where OpenSSL was built without OCSP: all of the below then fails and says so.
bool ocsp_is_there() noexcept;

// The times of what `der` says of `certificate`, whatever that is: not whether it is good, nor who
// signed it. `issuer` is that of the certificate, or null where it is not known. Errors:
// tls_failed, with a message that goes on after "the OCSP response".
result<ocsp_times> read_ocsp(std::string_view der, const X509& certificate, const X509* issuer);

// The times of a response that a peer sent, and that says at `now` that the first certificate of
// its verified chain is good. The issuer has signed it, or a responder with a certificate from the
// issuer for that purpose, which is verified with `trusted` (RFC 6960 section 4.2.2.2). Errors are
// as above.
result<ocsp_times> check_ocsp(std::string_view der, STACK_OF(X509) & chain, X509_STORE& trusted,
                              std::time_t now);

}  // namespace wire::tls::detail
