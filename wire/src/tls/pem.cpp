// Reads PEM with OpenSSL's own functions, of which none may ask for a password on the terminal.
#include "pem.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstring>
#include <limits>
#include <vector>

namespace wire::tls::detail {

namespace {

using bio_ptr = std::unique_ptr<BIO, freed_by<&BIO_free_all>>;
using x509_ptr = std::unique_ptr<X509, freed_by<&X509_free>>;
using pkey_ptr = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;

// PEM from one of two places, and what errors call it.
struct pem_input {
    bio_ptr bio;
    std::string name;
};

result<pem_input> open(const std::string& file, const std::string& text, const std::string& what,
                       const char* option) {
    if (!file.empty() && !text.empty())
        return error(errc::bad_argument, what + ": " + file + " and " + option + "; give one");
    if (file.empty() && text.empty())
        return error(errc::bad_argument, what + ": neither a file nor " + option + " is given");
    ERR_clear_error();
    pem_input in{nullptr, what + " in " + (file.empty() ? option : file)};
    if (!file.empty()) {
        in.bio.reset(BIO_new_file(file.c_str(), "r"));
    } else if (text.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max())) {
        in.bio.reset(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    }
    if (in.bio == nullptr) return failure("cannot use " + in.name);
    return in;
}

// All certificates of the text; at least one.
result<std::vector<x509_ptr>> read_certificates(pem_input in) {
    // Nobody encrypts them, but PEM may.
    const auto no_password = [](char*, int, int, void*) noexcept { return -1; };
    std::vector<x509_ptr> out;
    while (X509* const next = PEM_read_bio_X509_AUX(in.bio.get(), nullptr, no_password, nullptr))
        out.emplace_back(next);
    const unsigned long last = ERR_peek_last_error();
    const bool at_end =
        ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
    if (out.empty() || !at_end) return failure("cannot use " + in.name);
    ERR_clear_error();
    return out;
}

struct password {
    const certificate_source* from;
    bool asked = false;
    bool given = false;
    bool too_long = false;
};

int tell_password(char* to, int room, int, void* context) noexcept {
    auto& p = *static_cast<password*>(context);
    p.asked = true;
    p.given = p.from->ask_key_password || !p.from->key_password.empty();
    if (!p.given) return -1;
    std::string text = p.from->ask_key_password ? p.from->ask_key_password() : p.from->key_password;
    p.too_long = text.size() >= static_cast<std::size_t>(room);
    const int size = p.too_long ? -1 : static_cast<int>(text.size());
    if (size > 0) std::memcpy(to, text.data(), text.size());
    OPENSSL_cleanse(text.data(), text.size());
    return size;
}

result<pkey_ptr> read_key(pem_input in, const certificate_source& from) {
    password told{&from};
    pkey_ptr key(PEM_read_bio_PrivateKey(in.bio.get(), nullptr, tell_password, &told));
    if (key != nullptr) {
        ERR_clear_error();
        return key;
    }
    if (!told.asked) return failure("cannot use " + in.name);
    ERR_clear_error();
    return error(errc::tls_failed,
                 "cannot use " + in.name +
                     (!told.given     ? ": it is encrypted, and no key_password is given"
                      : told.too_long ? ": key_password is longer than 1023 bytes"
                                      : ": key_password is not its password, or it is damaged"));
}

}  // namespace

result<void> use_certificate(SSL_CTX& ctx, const certificate_source& from) {
    auto text =
        open(from.certificate_file, from.certificate_pem, "the certificate", "certificate_pem");
    if (!text) return text.error();
    const std::string name = text->name;
    auto chain = read_certificates(*std::move(text));
    if (!chain) return chain.error();
    if (SSL_CTX_use_certificate(&ctx, chain->front().get()) != 1 ||
        SSL_CTX_clear_chain_certs(&ctx) != 1)
        return failure("cannot use " + name);
    for (std::size_t i = 1; i < chain->size(); ++i) {
        if (SSL_CTX_add0_chain_cert(&ctx, (*chain)[i].get()) != 1)
            return failure("cannot use " + name);
        (*chain)[i].release();
    }
    auto secret = open(from.key_file, from.key_pem, "the key", "key_pem");
    if (!secret) return secret.error();
    const std::string key_name = secret->name;
    const auto key = read_key(*std::move(secret), from);
    if (!key) return key.error();
    if (SSL_CTX_use_PrivateKey(&ctx, key->get()) == 1) return {};
    const unsigned long code = ERR_peek_error();
    if (ERR_GET_LIB(code) == ERR_LIB_X509 && ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH) {
        ERR_clear_error();
        return error(errc::tls_failed, key_name + " is not that of " + name);
    }
    return failure("cannot use " + key_name);
}

result<void> trust(SSL_CTX& ctx, const std::string& file, const std::string& text, bool name_them) {
    auto in = open(file, text, "the authorities", name_them ? "client_ca_pem" : "ca_pem");
    if (!in) return in.error();
    const std::string name = in->name;
    const auto authorities = read_certificates(*std::move(in));
    if (!authorities) return authorities.error();
    for (const x509_ptr& one : *authorities) {
        if (X509_STORE_add_cert(SSL_CTX_get_cert_store(&ctx), one.get()) != 1 ||
            (name_them && SSL_CTX_add_client_CA(&ctx, one.get()) != 1))
            return failure("cannot use " + name);
    }
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(&ctx), X509_V_FLAG_PARTIAL_CHAIN);
    return {};
}

}  // namespace wire::tls::detail
