// Checks the names of cipher suites and groups one by one: OpenSSL passes over those that it does
// not know, and reads operators such as "!" and "@SECLEVEL" in them.
#include "algorithms.hpp"

#include <openssl/err.h>

#include <algorithm>

namespace wire::tls::detail {

namespace {

int protocol_number(version v) { return v == version::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION; }

std::string_view name_of(version v) { return v == version::tls_1_3 ? "TLS 1.3" : "TLS 1.2"; }

// Forward secrecy, and encryption that cannot be altered unseen: RFC 9325 section 4.2.
bool is_default(const SSL_CIPHER* c) noexcept {
    const int encryption = SSL_CIPHER_get_cipher_nid(c);
    return SSL_CIPHER_get_kx_nid(c) == NID_kx_ecdhe &&
           (SSL_CIPHER_get_auth_nid(c) == NID_auth_rsa ||
            SSL_CIPHER_get_auth_nid(c) == NID_auth_ecdsa) &&
           (encryption == NID_aes_128_gcm || encryption == NID_aes_256_gcm ||
            encryption == NID_chacha20_poly1305);
}

bool is_tls_1_3(const SSL_CIPHER* c) noexcept { return SSL_CIPHER_get_kx_nid(c) == NID_kx_any; }

void append(std::string& list, std::string_view name) {
    if (!list.empty()) list += ':';
    list += name;
}

// Of what OpenSSL's own configuration has left.
result<void> set_default_ciphers(SSL_CTX& ctx) {
    std::string list;
    const STACK_OF(SSL_CIPHER)* const all = SSL_CTX_get_ciphers(&ctx);
    for (int i = 0; i < sk_SSL_CIPHER_num(all); ++i) {
        const SSL_CIPHER* const c = sk_SSL_CIPHER_value(all, i);
        if (is_default(c)) append(list, SSL_CIPHER_get_name(c));
    }
    if (list.empty() || SSL_CTX_set_cipher_list(&ctx, list.c_str()) != 1) {
        ERR_clear_error();
        return error(errc::tls_failed,
                     "OpenSSL's configuration allows no cipher suite of TLS 1.2 with ECDHE and "
                     "AES-GCM or ChaCha20-Poly1305");
    }
    return {};
}

// A context with all suites that certificates can be used with, to look names up in.
ctx_ptr all_suites() {
    ctx_ptr all(SSL_CTX_new(TLS_method()));
    if (all != nullptr &&
        (SSL_CTX_set_cipher_list(all.get(), "ALL:!aNULL:!PSK:!SRP") != 1 ||
         SSL_CTX_set_ciphersuites(all.get(),
                                  "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                                  "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_CCM_SHA256:"
                                  "TLS_AES_128_CCM_8_SHA256") != 1))
        all.reset();
    return all;
}

// OpenSSL's name of the suite that has this one at OpenSSL or IANA; null where there is none.
const char* find_suite(SSL_CTX& all, std::string_view name, version of) {
    const STACK_OF(SSL_CIPHER)* const known = SSL_CTX_get_ciphers(&all);
    for (int i = 0; i < sk_SSL_CIPHER_num(known); ++i) {
        const SSL_CIPHER* const c = sk_SSL_CIPHER_value(known, i);
        if (is_tls_1_3(c) != (of == version::tls_1_3)) continue;
        const char* const standard = SSL_CIPHER_standard_name(c);
        if (name == SSL_CIPHER_get_name(c) || (standard != nullptr && name == standard))
            return SSL_CIPHER_get_name(c);
    }
    return nullptr;
}

result<std::string> suite_list(const std::vector<std::string>& names, version of) {
    const ctx_ptr all = all_suites();
    if (all == nullptr) return failure("TLS cannot be used");
    std::string list;
    for (const std::string& name : names) {
        const char* const found = find_suite(*all, name, of);
        if (found == nullptr)
            return error(errc::bad_argument,
                         (of == version::tls_1_3 ? "tls_1_3_ciphers: '" : "tls_1_2_ciphers: '") +
                             name + "' is no cipher suite of " + std::string(name_of(of)) +
                             " that this OpenSSL has for certificates");
        append(list, found);
    }
    return list;
}

// What is left of the named suites by OpenSSL's security level.
result<void> check_left(SSL_CTX& ctx, const algorithms& a) {
    const ssl_ptr ssl(SSL_new(&ctx));
    if (ssl == nullptr) return failure("TLS cannot be used");
    STACK_OF(SSL_CIPHER)* const usable = SSL_get1_supported_ciphers(ssl.get());
    bool any_old = false;
    bool any_new = false;
    for (int i = 0; usable != nullptr && i < sk_SSL_CIPHER_num(usable); ++i)
        (is_tls_1_3(sk_SSL_CIPHER_value(usable, i)) ? any_new : any_old) = true;
    sk_SSL_CIPHER_free(usable);
    ERR_clear_error();
    if (a.min_version == version::tls_1_2 && !any_old)
        return error(errc::bad_argument,
                     "tls_1_2_ciphers: OpenSSL's security level allows none of them");
    if (a.max_version == version::tls_1_3 && !any_new)
        return error(errc::bad_argument,
                     "tls_1_3_ciphers: OpenSSL's security level allows none of them");
    return {};
}

result<void> set_ciphers(SSL_CTX& ctx, const algorithms& a) {
    if (a.tls_1_2_ciphers.empty() && a.min_version == version::tls_1_2) {
        if (auto r = set_default_ciphers(ctx); !r) return r;
    } else if (!a.tls_1_2_ciphers.empty()) {
        const auto list = suite_list(a.tls_1_2_ciphers, version::tls_1_2);
        if (!list) return list.error();
        if (SSL_CTX_set_cipher_list(&ctx, list->c_str()) != 1) return failure("tls_1_2_ciphers");
    }
    if (!a.tls_1_3_ciphers.empty()) {
        const auto list = suite_list(a.tls_1_3_ciphers, version::tls_1_3);
        if (!list) return list.error();
        if (SSL_CTX_set_ciphersuites(&ctx, list->c_str()) != 1) return failure("tls_1_3_ciphers");
    }
    if (a.tls_1_2_ciphers.empty() && a.tls_1_3_ciphers.empty()) return {};
    return check_left(ctx, a);
}

result<void> set_groups(SSL_CTX& ctx, const std::vector<std::string>& groups) {
    if (groups.empty()) return {};
    std::string list;
    for (auto at = groups.begin(); at != groups.end(); ++at) {
        constexpr std::string_view letters =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
        const bool plain = !at->empty() && at->find_first_not_of(letters) == std::string::npos;
        if (!plain || SSL_CTX_set1_groups_list(&ctx, at->c_str()) != 1) {
            ERR_clear_error();
            return error(errc::bad_argument,
                         "groups: this OpenSSL has no group '" + *at + "' for TLS");
        }
        if (std::find(groups.begin(), at, *at) != at)
            return error(errc::bad_argument, "groups: '" + *at + "' stands there twice");
        append(list, *at);
    }
    if (SSL_CTX_set1_groups_list(&ctx, list.c_str()) != 1) return failure("groups");
    return {};
}

}  // namespace

result<void> set_algorithms(SSL_CTX& ctx, const algorithms& a) {
    if (a.min_version > a.max_version)
        return error(errc::bad_argument, "TLS versions: the lowest is above the highest");
    if (SSL_CTX_set_min_proto_version(&ctx, protocol_number(a.min_version)) != 1 ||
        SSL_CTX_set_max_proto_version(&ctx, protocol_number(a.max_version)) != 1) {
        return failure("the wanted versions of TLS");
    }
    if (auto r = set_ciphers(ctx, a); !r) return r;
    return set_groups(ctx, a.groups);
}

}  // namespace wire::tls::detail
