// Names and fingerprint of a certificate. All of it but the fingerprint is the peer's, or its
// authority's, to choose: names that could be read in two ways are left out.
#include "read_peer_certificate.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace wire::tls::detail {

namespace {

constexpr int max_names = 256;
constexpr std::size_t max_subject_bytes = 1000;

using bio_ptr = std::unique_ptr<BIO, freed_by<&BIO_free_all>>;
using names_ptr = std::unique_ptr<GENERAL_NAMES, freed_by<&GENERAL_NAMES_free>>;

std::string_view bytes_of(const ASN1_STRING* text) noexcept {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string subject_of(const X509& from) {
    const bio_ptr out(BIO_new(BIO_s_mem()));
    if (out == nullptr ||
        X509_NAME_print_ex(out.get(), X509_get_subject_name(&from), 0, XN_FLAG_RFC2253) < 0)
        return {};
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    return {text, std::min(static_cast<std::size_t>(size), max_subject_bytes)};
}

std::string fingerprint_of(const X509& from) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    if (X509_digest(&from, EVP_sha256(), digest.data(), &size) != 1) return {};
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
        out += digits[digest[i] >> 4];
        out += digits[digest[i] & 15];
    }
    return out;
}

void add_text(std::vector<std::string>& to, const ASN1_STRING* text) {
    const std::string_view name = bytes_of(text);
    const bool plain =
        std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
    if (!name.empty() && plain) to.emplace_back(name);
}

void add_address(std::vector<std::string>& to, const ASN1_OCTET_STRING* raw) {
    const std::string_view bytes = bytes_of(raw);
    if (bytes.size() != 4 && bytes.size() != 16) return;
    std::array<char, INET6_ADDRSTRLEN> text;
    if (::inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text.data(),
                    text.size()) != nullptr)
        to.emplace_back(text.data());
}

void add_names(const X509& from, peer_certificate& to) {
    const names_ptr names(static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(&from, NID_subject_alt_name, nullptr, nullptr)));
    const int count = names != nullptr ? sk_GENERAL_NAME_num(names.get()) : 0;
    for (int i = 0; i < std::min(count, max_names); ++i) {
        int type = 0;
        const void* const value =
            GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type);
        const auto* const text = static_cast<const ASN1_STRING*>(value);
        switch (type) {
        case GEN_DNS: add_text(to.dns_names, text); break;
        case GEN_IPADD: add_address(to.ip_addresses, text); break;
        case GEN_URI: add_text(to.uris, text); break;
        case GEN_EMAIL: add_text(to.email_addresses, text); break;
        default: break;
        }
    }
}

}  // namespace

std::shared_ptr<const peer_certificate> read_peer_certificate(X509& from, bool ocsp_good) {
    auto out = std::make_shared<peer_certificate>();
    out->subject = subject_of(from);
    out->sha256 = fingerprint_of(from);
    add_names(from, *out);
    out->ocsp_good = ocsp_good;
    ERR_clear_error();
    return out;
}

}  // namespace wire::tls::detail
