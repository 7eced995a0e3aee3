// Keeps a server's response with the context of its certificate, and a client's verdict with the
// session.
#include "stapling.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace wire::tls::detail {

namespace {

using bio_ptr = std::unique_ptr<BIO, freed_by<&BIO_free_all>>;
using features_ptr = std::unique_ptr<TLS_FEATURE, freed_by<&TLS_FEATURE_free>>;

struct own_response {
    std::string der;
    ocsp_times times;
    std::function<std::chrono::system_clock::time_point()> clock;
};

// Of each context: which one a connection has, its server's name decides.
int response_index() noexcept {
    static const int index = SSL_CTX_get_ex_new_index(
        0, nullptr, nullptr, nullptr, [](void*, void* held, CRYPTO_EX_DATA*, int, long, void*) {
            delete static_cast<own_response*>(held);
        });
    return index;
}

// The value is the time itself. OpenSSL's copies of a session, of which each ticket makes one, have
// it too.
int until_index() noexcept {
    static const int index = SSL_SESSION_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

int send_response(SSL* ssl, void*) noexcept {
    const auto* const ours = static_cast<const own_response*>(
        SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), response_index()));
    if (ours == nullptr) return SSL_TLSEXT_ERR_NOACK;
    // Clients refuse one that is out of its time, and most of them do without.
    const std::time_t now = std::chrono::system_clock::to_time_t(ours->clock());
    if (now < ours->times.since || now >= ours->times.until) return SSL_TLSEXT_ERR_NOACK;
    void* const copy = OPENSSL_memdup(ours->der.data(), ours->der.size());
    if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(ours->der.size()));
    return SSL_TLSEXT_ERR_OK;
}

result<std::string> read_file(const std::string& file) {
    ERR_clear_error();
    const bio_ptr in(BIO_new_file(file.c_str(), "rb"));
    if (in == nullptr) return failure("the OCSP response in " + file + " cannot be read");
    std::string out(max_ocsp_bytes + 1, '\0');
    std::size_t got = 0;
    for (std::size_t n = 0; got < out.size(); got += n)
        if (BIO_read_ex(in.get(), out.data() + got, out.size() - got, &n) != 1) break;
    out.resize(got);
    return out;
}

// The issuer of the context's certificate where it is in the chain, else null.
const X509* issuer_in(SSL_CTX& ctx, X509* certificate) noexcept {
    STACK_OF(X509)* chain = nullptr;
    SSL_CTX_get0_chain_certs(&ctx, &chain);
    for (int i = 0; i < sk_X509_num(chain); ++i) {
        X509* const one = sk_X509_value(chain, i);
        if (X509_check_issued(one, certificate) == X509_V_OK) return one;
    }
    return X509_check_issued(certificate, certificate) == X509_V_OK ? certificate : nullptr;
}

// OpenSSL sends the alert bad_certificate_status_response, whatever the reason: RFC 6066 section 8
// wants that one.
int refuse(const std::string& why) noexcept {
    ERR_clear_error();
    ERR_raise_data(ERR_LIB_SSL, SSL_R_INVALID_STATUS_RESPONSE, "%s", why.c_str());
    return 0;
}

// Whether the certificate is marked "must-staple": a response comes with it (RFC 7633). Also where
// that mark is malformed.
bool is_must_staple(const X509& certificate) noexcept {
    int found = 0;
    const features_ptr features(
        static_cast<TLS_FEATURE*>(X509_get_ext_d2i(&certificate, NID_tlsfeature, &found, nullptr)));
    constexpr int absent = -1;
    if (features == nullptr) return found != absent;
    for (int i = 0; i < sk_ASN1_INTEGER_num(features.get()); ++i) {
        if (ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features.get(), i)) ==
            TLSEXT_TYPE_status_request)
            return true;
    }
    return false;
}

// `required`: not null where each server has to send a response.
int judge_response(SSL* ssl, void* required) noexcept {
    // The server shows none; that of the session's first handshake was checked.
    if (SSL_session_reused(ssl) == 1) return 1;
    STACK_OF(X509)* const chain = SSL_get0_verified_chain(ssl);
    if (sk_X509_num(chain) < 1) return refuse("an OCSP response is for no certificate");
    const char* der = nullptr;
    const long size = SSL_get_tlsext_status_ocsp_resp(ssl, &der);
    if (der == nullptr || size <= 0) {
        if (required != nullptr)
            return refuse("the server sent no OCSP response, which is required");
        return is_must_staple(*sk_X509_value(chain, 0))
                   ? refuse("the server sent no OCSP response, which its certificate requires")
                   : 1;
    }
    const auto times =
        check_ocsp({der, static_cast<std::size_t>(size)}, *chain,
                   *SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl)), std::time(nullptr));
    if (!times) return refuse("the OCSP response " + times.error().message);
    return set_ocsp_until(*SSL_get_session(ssl), times->until) ? 1 : -1;
}

}  // namespace

result<void> staple(SSL_CTX& ctx, const certificate_source& from,
                    std::function<std::chrono::system_clock::time_point()> clock) {
    const std::string& file = from.ocsp_response_file;
    if (file.empty() && from.ocsp_response_der.empty()) return {};
    if (!file.empty() && !from.ocsp_response_der.empty())
        return error(errc::bad_argument,
                     "the OCSP response: " + file + " and ocsp_response_der; give one");
    auto der = file.empty() ? result<std::string>(from.ocsp_response_der) : read_file(file);
    if (!der) return der.error();
    X509* const certificate = SSL_CTX_get0_certificate(&ctx);
    const auto times = read_ocsp(*der, *certificate, issuer_in(ctx, certificate));
    if (!times)
        return error(errc::tls_failed, "the OCSP response in " +
                                           (file.empty() ? "ocsp_response_der" : file) + " " +
                                           times.error().message);
    auto held =
        std::make_unique<own_response>(own_response{*std::move(der), *times, std::move(clock)});
    if (SSL_CTX_set_ex_data(&ctx, response_index(), held.get()) != 1)
        return failure("TLS cannot be used");
    held.release();
    SSL_CTX_set_tlsext_status_cb(&ctx, send_response);
    return {};
}

result<void> ask_for_staples(SSL_CTX& ctx, ocsp_response wanted) {
    if (wanted == ocsp_response::not_asked) return {};
    if (!ocsp_is_there())
        return error(errc::tls_failed,
                     "an OCSP response cannot be asked for: this OpenSSL was built without OCSP");
    SSL_CTX_set_tlsext_status_type(&ctx, TLSEXT_STATUSTYPE_ocsp);
    SSL_CTX_set_tlsext_status_cb(&ctx, judge_response);
    SSL_CTX_set_tlsext_status_arg(&ctx, wanted == ocsp_response::required ? &ctx : nullptr);
    // The handshake sets this for itself, and nobody for certificates of responders.
    X509_VERIFY_PARAM_set_auth_level(X509_STORE_get0_param(SSL_CTX_get_cert_store(&ctx)),
                                     SSL_CTX_get_security_level(&ctx));
    return {};
}

std::time_t ocsp_until(const SSL_SESSION& session) noexcept {
    return static_cast<std::time_t>(
        reinterpret_cast<std::intptr_t>(SSL_SESSION_get_ex_data(&session, until_index())));
}

bool set_ocsp_until(SSL_SESSION& session, std::time_t until) noexcept {
    return SSL_SESSION_set_ex_data(&session, until_index(),
                                   reinterpret_cast<void*>(static_cast<std::intptr_t>(until))) == 1;
}

std::string staple_problem() {
    const char* text = nullptr;
    int flags = 0;
    const unsigned long code = ERR_peek_error_data(&text, &flags);
    const bool ours =
        ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_INVALID_STATUS_RESPONSE;
    return ours && text != nullptr && (flags & ERR_TXT_STRING) != 0
               ? text
               : "the OCSP response is malformed";
}

}  // namespace wire::tls::detail
