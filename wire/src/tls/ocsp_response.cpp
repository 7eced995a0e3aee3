// Reads responses with OpenSSL's parser and verifies them with its OCSP_basic_verify(). Which
// certificate they are for, and when, is compared here.
#include "ocsp_response.hpp"

#include <openssl/err.h>
#include <openssl/ocsp.h>

#include <array>
#include <optional>
#include <string>

namespace wire::tls::detail {

#ifdef OPENSSL_NO_OCSP

namespace {
error unavailable() {
    return {errc::tls_failed, "cannot be used: this OpenSSL was built without OCSP"};
}
}  // namespace

bool ocsp_is_there() noexcept { return false; }
result<ocsp_times> read_ocsp(std::string_view, const X509&, const X509*) { return unavailable(); }
result<ocsp_times> check_ocsp(std::string_view, STACK_OF(X509) &, X509_STORE&, std::time_t) {
    return unavailable();
}

#else

namespace {

using response_ptr = std::unique_ptr<OCSP_RESPONSE, freed_by<&OCSP_RESPONSE_free>>;
using basic_ptr = std::unique_ptr<OCSP_BASICRESP, freed_by<&OCSP_BASICRESP_free>>;

error refused(std::string why) {
    ERR_clear_error();
    return {errc::tls_failed, std::move(why)};
}

result<basic_ptr> parse(std::string_view der) {
    if (der.size() > max_ocsp_bytes) return refused("is longer than 16000 bytes");
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const auto* const end = at + der.size();
    const response_ptr all(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(der.size())));
    if (all == nullptr || at != end) return refused("is malformed");
    if (const int said = OCSP_response_status(all.get()); said != OCSP_RESPONSE_STATUS_SUCCESSFUL)
        return refused(std::string("is only an error: ") + OCSP_response_status_str(said));
    basic_ptr basic(OCSP_response_get1_basic(all.get()));
    if (basic == nullptr) return refused("is malformed");
    return basic;
}

// Null for one that identifies nobody. SHA-1 does: no second name or key is known for a hash.
const EVP_MD* digest_of(const ASN1_OBJECT* algorithm) noexcept {
    switch (OBJ_obj2nid(algorithm)) {
    case NID_sha1: return EVP_sha1();
    case NID_sha256: return EVP_sha256();
    case NID_sha384: return EVP_sha384();
    case NID_sha512: return EVP_sha512();
    default: return nullptr;
    }
}

using digest_bytes = std::array<unsigned char, EVP_MAX_MD_SIZE>;

bool equal(const ASN1_OCTET_STRING* theirs, const digest_bytes& ours, unsigned size) noexcept {
    return std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(theirs)),
                            static_cast<std::size_t>(ASN1_STRING_length(theirs))) ==
           std::string_view(reinterpret_cast<const char*>(ours.data()), size);
}

// By the digest that the response chose. OpenSSL computes an id only with an issuer at hand, which
// a server need not have.
bool is_for(const OCSP_SINGLERESP& one, const X509& certificate, const X509* issuer) noexcept {
    ASN1_OCTET_STRING* name = nullptr;
    ASN1_OCTET_STRING* key = nullptr;
    ASN1_OBJECT* algorithm = nullptr;
    ASN1_INTEGER* serial = nullptr;
    OCSP_id_get0_info(&name, &algorithm, &key, &serial,
                      const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(&one)));
    const EVP_MD* const digest = digest_of(algorithm);
    if (digest == nullptr || ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(&certificate)) != 0)
        return false;
    digest_bytes ours;
    unsigned size = 0;
    if (X509_NAME_digest(X509_get_issuer_name(&certificate), digest, ours.data(), &size) != 1 ||
        !equal(name, ours, size))
        return false;
    return issuer == nullptr ||
           (X509_pubkey_digest(issuer, digest, ours.data(), &size) == 1 && equal(key, ours, size));
}

OCSP_SINGLERESP* find(OCSP_BASICRESP& in, const X509& certificate, const X509* issuer) noexcept {
    for (int i = 0; i < OCSP_resp_count(&in); ++i) {
        OCSP_SINGLERESP* const one = OCSP_resp_get0(&in, i);
        if (is_for(*one, certificate, issuer)) return one;
    }
    return nullptr;
}

std::optional<std::time_t> time_of(const ASN1_GENERALIZEDTIME* time) noexcept {
    std::tm parts{};
    // For null OpenSSL tells the present time.
    if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
    return ::timegm(&parts);
}

struct said {
    int status = V_OCSP_CERTSTATUS_UNKNOWN;
    ocsp_times times;
};

result<said> read(OCSP_SINGLERESP& one) {
    ASN1_GENERALIZEDTIME* since = nullptr;
    ASN1_GENERALIZEDTIME* until = nullptr;
    said out;
    out.status = OCSP_single_get0_status(&one, nullptr, nullptr, &since, &until);
    if (until == nullptr) return refused("does not say when it ends (nextUpdate)");
    const auto from = time_of(since);
    const auto to = time_of(until);
    if (!from || !to) return refused("is malformed");
    out.times = {*from, *to};
    return out;
}

// Null where it is not in the chain: somebody trusts the certificate itself.
X509* issuer_in(STACK_OF(X509) & chain) noexcept {
    if (sk_X509_num(&chain) > 1) return sk_X509_value(&chain, 1);
    X509* const only = sk_X509_value(&chain, 0);
    return X509_check_issued(only, only) == X509_V_OK ? only : nullptr;
}

// OCSP_basic_verify() takes any digest: signatures over SHA-1 and older ones can be forged
// where others choose what is signed.
bool is_weakly_signed(const OCSP_BASICRESP& response) noexcept {
    const ASN1_OBJECT* algorithm = nullptr;
    X509_ALGOR_get0(&algorithm, nullptr, nullptr, OCSP_resp_get0_tbs_sigalg(&response));
    int digest = NID_undef;
    if (OBJ_find_sigid_algs(OBJ_obj2nid(algorithm), &digest, nullptr) != 1 || digest == NID_undef)
        return false;  // of an algorithm with a digest of its own
    constexpr int least_bytes = 28;
    const EVP_MD* const known = EVP_get_digestbynid(digest);
    return known == nullptr || EVP_MD_get_size(known) < least_bytes;
}

}  // namespace

bool ocsp_is_there() noexcept { return true; }

result<ocsp_times> read_ocsp(std::string_view der, const X509& certificate, const X509* issuer) {
    const auto response = parse(der);
    if (!response) return response.error();
    OCSP_SINGLERESP* const one = find(**response, certificate, issuer);
    if (one == nullptr) return refused("is for another certificate");
    const auto what = read(*one);
    if (!what) return what.error();
    return what->times;
}

result<ocsp_times> check_ocsp(std::string_view der, STACK_OF(X509) & chain, X509_STORE& trusted,
                              std::time_t now) {
    const X509* const issuer = issuer_in(chain);
    if (issuer == nullptr) return refused("cannot be checked: the certificate's issuer is unknown");
    const auto response = parse(der);
    if (!response) return response.error();
    OCSP_SINGLERESP* const one = find(**response, *sk_X509_value(&chain, 0), issuer);
    if (one == nullptr) return refused("is for another certificate");
    if (is_weakly_signed(**response)) return refused("is signed with a weak digest");
    if (OCSP_basic_verify(response->get(), &chain, &trusted,
                          OCSP_PARTIAL_CHAIN | OCSP_NOEXPLICIT) != 1)
        return refused("is not signed by the certificate's issuer, nor in its name");
    const auto what = read(*one);
    if (!what) return what.error();
    if (what->status == V_OCSP_CERTSTATUS_REVOKED)
        return refused("says that the certificate is revoked");
    if (what->status != V_OCSP_CERTSTATUS_GOOD)
        return refused("says that its responder does not know the certificate");
    if (what->times.since > now + ocsp_clock_skew_seconds) return refused("is not valid yet");
    if (what->times.until <= now - ocsp_clock_skew_seconds) return refused("has expired");
    ERR_clear_error();
    return what->times;
}

#endif

}  // namespace wire::tls::detail
