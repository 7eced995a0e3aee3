// Ticket keys by time, and OpenSSL's callbacks that seal, open and judge tickets.
#include "ticket_keys.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace wire::tls::detail {

ticket_keys::key::~key() {
    OPENSSL_cleanse(cipher.data(), cipher.size());
    OPENSSL_cleanse(mac.data(), mac.size());
}

bool ticket_keys::replace(wall_time now) {
    key next;
    next.made = now;
    if (RAND_bytes(next.name.data(), static_cast<int>(next.name.size())) != 1 ||
        RAND_priv_bytes(next.cipher.data(), static_cast<int>(next.cipher.size())) != 1 ||
        RAND_priv_bytes(next.mac.data(), static_cast<int>(next.mac.size())) != 1) {
        return false;
    }
    previous_ = current_;
    current_ = next;
    return true;
}

bool ticket_keys::renew(wall_time now) {
    // A key that nobody asked for in time opens tickets no longer than one that was replaced.
    if (current_ && now >= current_->made + 2 * period_) current_.reset();
    const bool fresh = current_ && now >= current_->made && now < current_->made + period_;
    if (!fresh && !replace(now)) return false;
    if (previous_ && now >= previous_->made + 2 * period_) previous_.reset();
    return true;
}

std::optional<ticket_keys::key> ticket_keys::current(wall_time now) {
    const std::lock_guard lock(mutex_);
    if (!renew(now)) return std::nullopt;
    return current_;
}

std::optional<ticket_keys::found> ticket_keys::find(const unsigned char* name, wall_time now) {
    const std::lock_guard lock(mutex_);
    if (!renew(now)) return std::nullopt;
    const auto is = [&](const std::optional<key>& k) {
        return k && std::memcmp(k->name.data(), name, k->name.size()) == 0;
    };
    if (is(current_)) return found{*current_, true};
    if (is(previous_)) return found{*previous_, false};
    return std::nullopt;
}

void ticket_keys::rotate(wall_time now) {
    const std::lock_guard lock(mutex_);
    if (current_) replace(now);
}

namespace {

// Of each context: a connection has the one of its certificate, and these callbacks get no more.
int rules_index() noexcept {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

bool set_mac(EVP_MAC_CTX* mac, const ticket_keys::key& key) noexcept {
    char digest[] = "SHA256";
    const OSSL_PARAM digest_is[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end()};
    return EVP_MAC_init(mac, key.mac.data(), key.mac.size(), digest_is) == 1;
}

int seal(const ticket_rules& rules, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
         EVP_MAC_CTX* mac) {
    const auto key = rules.keys->current(rules.clock());
    if (!key || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
    std::copy(key->name.begin(), key->name.end(), name);
    const bool ready =
        EVP_EncryptInit_ex2(cipher, EVP_aes_256_cbc(), key->cipher.data(), iv, nullptr) == 1 &&
        set_mac(mac, *key);
    return ready ? 1 : -1;
}

// SSL_CTX_set_tlsext_ticket_key_evp_cb(3): 0 makes a full handshake, 2 also sends a new ticket,
// which TLS 1.3 always does.
int use_key(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
            EVP_MAC_CTX* mac, int sealing) noexcept {
    const auto& rules =
        *static_cast<ticket_rules*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), rules_index()));
    if (sealing != 0) return seal(rules, name, iv, cipher, mac);
    const auto key = rules.keys->find(name, rules.clock());
    if (!key) return 0;
    if (!set_mac(mac, key->with) ||
        EVP_DecryptInit_ex2(cipher, EVP_aes_256_cbc(), key->with.cipher.data(), iv, nullptr) != 1)
        return -1;
    return key->is_current && SSL_version(ssl) != TLS1_3_VERSION ? 1 : 2;
}

std::int64_t seconds_of(wall_time t) {
    return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

// 0 when it cannot be told, which is past.
std::int64_t end_of(X509* certificate) noexcept {
    tm parts{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1) return 0;
    return timegm(&parts);
}

// Notes with a new session until when it may be resumed. A resumed one comes with its note, and
// hands it on: resuming does not put off the end.
int note_end(SSL* ssl, void* context) noexcept {
    SSL_SESSION* const session = SSL_get_session(ssl);
    void* noted = nullptr;
    std::size_t size = 0;
    SSL_SESSION_get0_ticket_appdata(session, &noted, &size);
    if (size != 0) return 1;
    const auto& rules = *static_cast<const ticket_rules*>(context);
    std::int64_t end = seconds_of(rules.clock()) + rules.session_lifetime.count();
    // The client's whole chain: a session keeps only its first certificate.
    STACK_OF(X509)* const chain = SSL_get0_verified_chain(ssl);
    for (int i = 0; i < sk_X509_num(chain); ++i)
        end = std::min(end, end_of(sk_X509_value(chain, i)));
    return SSL_SESSION_set1_ticket_appdata(session, &end, sizeof end);
}

// Until TLS 1.2 a session goes on with the name that it began with, and no other (RFC 6066 section
// 3). OpenSSL keeps that name, where a certificate was for it, and does not compare.
bool is_for_its_name(SSL* ssl, const SSL_SESSION& session) noexcept {
    if (SSL_SESSION_get_protocol_version(&session) >= TLS1_3_VERSION) return true;
    const char* const own = SSL_SESSION_get0_hostname(&session);
    const unsigned char* asked = nullptr;
    std::size_t size = 0;
    // There until the session has been found, though documented for an earlier moment alone.
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &asked, &size) != 1)
        return own == nullptr;
    constexpr std::size_t before = 5;  // the length of the list, the name's type and length
    return own != nullptr && size >= before &&
           std::string_view(reinterpret_cast<const char*>(asked) + before, size - before) == own;
}

SSL_TICKET_RETURN judge(SSL* ssl, SSL_SESSION* session, const unsigned char*, std::size_t,
                        SSL_TICKET_STATUS status, void* context) noexcept {
    if ((status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) ||
        !is_for_its_name(ssl, *session))
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    void* noted = nullptr;
    std::size_t size = 0;
    std::int64_t end = 0;
    SSL_SESSION_get0_ticket_appdata(session, &noted, &size);
    if (size == sizeof end) std::memcpy(&end, noted, sizeof end);
    if (seconds_of(static_cast<const ticket_rules*>(context)->clock()) >= end)
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

}  // namespace

bool use_tickets(SSL_CTX& ctx, const ticket_rules& rules) {
    void* const held = const_cast<ticket_rules*>(&rules);
    SSL_CTX_set_timeout(&ctx, static_cast<long>(rules.session_lifetime.count()));
    return SSL_CTX_set_ex_data(&ctx, rules_index(), held) == 1 &&
           SSL_CTX_set_tlsext_ticket_key_evp_cb(&ctx, use_key) == 1 &&
           SSL_CTX_set_session_ticket_cb(&ctx, note_end, judge, held) == 1;
}

}  // namespace wire::tls::detail
