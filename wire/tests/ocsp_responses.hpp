// OCSP responses made on the spot, good ones and others, by the authorities of certificates.hpp.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "certificates.hpp"
#include "tls/openssl.hpp"

namespace wire::testing {

using x509_ptr = std::unique_ptr<X509, tls::detail::freed_by<&X509_free>>;

inline x509_ptr read_certificate(const std::string& file) {
    std::FILE* const f = std::fopen(file.c_str(), "r");
    EXPECT_NE(f, nullptr) << file;
    x509_ptr out(PEM_read_X509(f, nullptr, nullptr, nullptr));
    std::fclose(f);
    return out;
}

struct ocsp_wishes {
    int status = V_OCSP_CERTSTATUS_GOOD;
    long since = -3600;  // seconds from now
    std::optional<long> until = 24 * 3600;
    const EVP_MD* id_digest = EVP_sha1();
    const EVP_MD* signature_digest = EVP_sha256();
    bool id_of_other = false;  // names the authority of other_ca_file() as the issuer
    bool signed_by_other = false;
    certificates::files responder = {};  // signs, and its certificate is added
};

// About the certificate in a file, by the authority of ca_file() unless wished otherwise. DER.
inline std::string make_ocsp_response(certificates& files, const std::string& certificate_file,
                                      const ocsp_wishes& w = {}) {
    const auto time = [](long from_now) {
        return ASN1_GENERALIZEDTIME_set(nullptr, std::time(nullptr) + from_now);
    };
    const x509_ptr about = read_certificate(certificate_file);
    OCSP_BASICRESP* const basic = OCSP_BASICRESP_new();
    OCSP_CERTID* const id =
        OCSP_cert_to_id(w.id_digest, about.get(),
                        w.id_of_other ? files.other_ca().certificate : files.ca().certificate);
    ASN1_GENERALIZEDTIME* const since = time(w.since);
    ASN1_GENERALIZEDTIME* const until = w.until ? time(*w.until) : nullptr;
    const bool revoked = w.status == V_OCSP_CERTSTATUS_REVOKED;
    EXPECT_NE(OCSP_basic_add1_status(basic, id, w.status, OCSP_REVOKED_STATUS_KEYCOMPROMISE,
                                     revoked ? since : nullptr, since, until),
              nullptr);
    if (w.responder.key.empty()) {
        const auto& by = w.signed_by_other ? files.other_ca() : files.ca();
        EXPECT_EQ(OCSP_basic_sign(basic, by.certificate, by.key, w.signature_digest, nullptr,
                                  w.signed_by_other ? 0 : OCSP_NOCERTS),
                  1);
    } else {
        const x509_ptr by = read_certificate(w.responder.certificate);
        std::FILE* const f = std::fopen(w.responder.key.c_str(), "r");
        EVP_PKEY* const key = PEM_read_PrivateKey(f, nullptr, nullptr, nullptr);
        std::fclose(f);
        EXPECT_EQ(OCSP_basic_sign(basic, by.get(), key, w.signature_digest, nullptr, 0), 1);
        EVP_PKEY_free(key);
    }
    OCSP_RESPONSE* const whole = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
    std::string out(static_cast<std::size_t>(i2d_OCSP_RESPONSE(whole, nullptr)), '\0');
    auto* at = reinterpret_cast<unsigned char*>(out.data());
    i2d_OCSP_RESPONSE(whole, &at);
    OCSP_RESPONSE_free(whole);
    OCSP_BASICRESP_free(basic);
    OCSP_CERTID_free(id);
    ASN1_GENERALIZEDTIME_free(since);
    ASN1_GENERALIZEDTIME_free(until);
    return out;
}

}  // namespace wire::testing
