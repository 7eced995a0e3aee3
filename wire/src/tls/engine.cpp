// A TLS connection in either role, from handshake to end.
//
//   state       seen by                bytes go through          left when
//   handshake   !open_                 OpenSSL                   it is complete, or fails
//   open        open_, no records_     OpenSSL                   the connection ends
//   alone       open_, records_        record_stream             the connection ends
//   ended       has_ended()            nothing more comes in;    the stream closes
//                                      send() still works
//   failed      failed_, or an error   nothing: the stream only  -
//               from a call            destroys it
//
// The state `alone` is for record_layer::wire (secrets_ is there during the handshake), unless
// openssl_is_needed(). In it (go_on_alone()) OpenSSL's connection is freed: by a server at once, by
// a client that keeps sessions with the first data, because OpenSSL alone can read the tickets
// before it.
//
// Owners: the stream owns the engine, the engine OpenSSL's connection, whose BIO reads and writes
// lent_, which is set for the length of a call only. Thread: the stream's.
#include "engine.hpp"

#include <openssl/err.h>
#include <openssl/proverr.h>
#include <openssl/provider.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <utility>

#include "alerts.hpp"
#include "read_peer_certificate.hpp"
#include "stapling.hpp"

namespace wire::tls::detail {

namespace {

// SSL_get_error() takes what stands in this thread's queue for the reason; to empty it costs more
// than to look.
void forget_errors() noexcept {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

// Lends OpenSSL both sides of a call for as long as that lasts, however it ends.
class lending {
public:
    lending(lent_bytes& to, std::span<const char> raw, buffer& to_peer) noexcept : to_(to) {
        to_ = {raw, &to_peer};
    }
    ~lending() { to_ = {}; }
    lending(const lending&) = delete;
    lending& operator=(const lending&) = delete;

private:
    lent_bytes& to_;
};

using key_log = std::function<void(std::string_view line)>;

// Where a context keeps its key log.
int key_log_index() noexcept {
    static const int index = SSL_CTX_get_ex_new_index(
        0, nullptr, nullptr, nullptr, [](void*, void* held, CRYPTO_EX_DATA*, int, long, void*) {
            delete static_cast<key_log*>(held);
        });
    return index;
}

}  // namespace

record_layer usable_layer(record_layer asked) noexcept {
    const bool fips = EVP_default_properties_is_fips_enabled(nullptr) == 1 ||
                      OSSL_PROVIDER_available(nullptr, "fips") == 1;
    return fips ? record_layer::openssl : asked;
}

engine::engine(ssl_ptr ssl, record_layer records, std::shared_ptr<server_sessions> sessions)
    : ssl_(std::move(ssl)), sessions_(std::move(sessions)) {
    if (records == record_layer::wire) secrets_ = std::make_unique<traffic_secrets>();
}

result<std::unique_ptr<connection>> engine::create(ssl_ptr ssl, record_layer records,
                                                   std::shared_ptr<server_sessions> sessions,
                                                   std::shared_ptr<const server_check> check) {
    if (ssl == nullptr) return failure("no TLS connection could be made");
    std::unique_ptr<engine> made(new engine(std::move(ssl), records, std::move(sessions)));
    made->check_ = std::move(check);
    BIO* const bio = make_lent_bio(made->lent_);
    if (bio == nullptr) return failure("no TLS connection could be made");
    SSL_set_bio(made->ssl_.get(), bio, bio);
    SSL_set_app_data(made->ssl_.get(), made.get());
    return std::unique_ptr<connection>(std::move(made));
}

engine::~engine() { no_more_tickets(); }

// Frees what OpenSSL holds. It takes a connection that is freed without both notices for a broken
// one and forgets its session. HTTP has its own ends; only what failed is to be forgotten.
void engine::no_more_tickets() noexcept {
    if (ssl_ != nullptr && !failed_ && open_)
        SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    ssl_.reset();
    sessions_.reset();
}

void engine::note_alerts(SSL_CTX& ctx) noexcept {
    SSL_CTX_set_info_callback(&ctx, [](const SSL* ssl, int what, int value) {
        auto* const self = static_cast<engine*>(SSL_get_app_data(ssl));
        if ((what & SSL_CB_ALERT) == 0 || self == nullptr || self->open_) return;
        self->alert_ = {alert_name(static_cast<std::uint8_t>(value & 0xFF)),
                        (what & SSL_CB_WRITE) != 0};
    });
}

void engine::keep_sessions(SSL_CTX& ctx) {
    SSL_CTX_set_session_cache_mode(&ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(&ctx, [](SSL* ssl, SSL_SESSION* session) {
        auto* const self = static_cast<engine*>(SSL_get_app_data(ssl));
        if (self == nullptr || self->sessions_ == nullptr || SSL_SESSION_is_resumable(session) != 1)
            return 0;
        self->sessions_->put(session_ptr(session));
        return 1;  // it is ours now
    });
}

bool engine::log_keys(SSL_CTX& ctx, record_layer records, const key_log& log) {
    if (records == record_layer::openssl && !log) return true;
    if (log) {
        auto held = std::make_unique<key_log>(log);
        if (SSL_CTX_set_ex_data(&ctx, key_log_index(), held.get()) != 1) return false;
        held.release();
    }
    // The line is OpenSSL's, which cleanses it.
    SSL_CTX_set_keylog_callback(&ctx, [](const SSL* ssl, const char* line) {
        auto* const self = static_cast<engine*>(SSL_get_app_data(ssl));
        if (self != nullptr && self->secrets_ != nullptr) self->secrets_->take(line);
        const auto* const log =
            static_cast<const key_log*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), key_log_index()));
        if (log != nullptr) (*log)(line);
    });
    return true;
}

// Why an OpenSSL call failed, in words for the user who has to act on it.
error engine::why(int returned, std::string_view doing) {
    failed_ = true;
    std::string text(doing);
    const int kind = SSL_get_error(ssl_.get(), returned);
    const unsigned long code = ERR_peek_error();
    const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    const long verdict = SSL_get_verify_result(ssl_.get());
    const bool server = SSL_is_server(ssl_.get()) == 1;
    if (kind == SSL_ERROR_ZERO_RETURN || (kind == SSL_ERROR_SYSCALL && code == 0)) {
        text += ": the peer closed the connection";
    } else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
        text += ": the ";
        text += server ? "client" : "server";
        text += "'s certificate is not to be trusted: ";
        text += X509_verify_cert_error_string(verdict);
        ERR_clear_error();
    } else if (alert_.sent && alert_.name == alert_name(TLS1_AD_BAD_CERTIFICATE_STATUS_RESPONSE)) {
        text += ": " + staple_problem();
    } else if (reason >= SSL_AD_REASON_OFFSET) {
        text += ": the peer's alert: ";
        text += alert_name(static_cast<std::uint8_t>(reason - SSL_AD_REASON_OFFSET));
    } else if (ERR_GET_LIB(code) == ERR_LIB_PROV &&
               ERR_GET_REASON(code) == PROV_R_CIPHER_OPERATION_FAILED) {
        // Of a record of TLS 1.2. The cipher's own word says less than that of TLS.
        text += ": decryption failed or bad record mac";
    } else {
        text += ": " + take_reason();
        if (reason == SSL_R_WRONG_VERSION_NUMBER && !open_) {
            text += server ? " (the client does not speak TLS)"
                           : " (does the server speak TLS on this port?)";
        }
    }
    ERR_clear_error();
    return {errc::tls_failed, std::move(text)};
}

result<void> engine::shake_hands() {
    ERR_clear_error();
    const std::size_t before = lent_.to_peer->size();
    const int r = SSL_do_handshake(ssl_.get());
    record_sizes flight;
    if (secrets_ != nullptr) {
        flight = measure(lent_.to_peer->view().substr(before));
        // After its client's last flight a server sends tickets.
        const bool tickets = r == 1 && SSL_is_server(ssl_.get()) == 1;
        if (flight.records > 0 && !tickets) secrets_->last_record_bytes = flight.last_bytes;
    }
    if (r == 1) {
        note_info();
        if (const auto check = std::move(check_); check != nullptr) {
            if (const error refused = (*check)(info())) {
                failed_ = true;
                // Our last flight, in which TLS 1.3 has our certificate.
                lent_.to_peer->truncate(before);
                return error(errc::tls_failed, "TLS handshake: " + refused.message);
            }
        }
        open_ = true;
        if (secrets_ != nullptr && !openssl_is_needed()) go_on_alone(flight.records);
        secrets_.reset();
        if (!records_) count_messages();
    } else if (SSL_get_error(ssl_.get(), r) != SSL_ERROR_WANT_READ) {
        return why(r, "TLS handshake");
    }
    return {};
}

void engine::note_info() {
    SSL* const ssl = ssl_.get();
    version_ = SSL_get_version(ssl);
    cipher_ = SSL_get_cipher_name(ssl);
    resumed_ = SSL_session_reused(ssl) == 1;
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl, &name, &size);
    if (size > 0) protocol_.assign(reinterpret_cast<const char*>(name), size);
    X509* const peer = SSL_get0_peer_certificate(ssl);
    if (peer == nullptr) return;
    certificate_ = read_peer_certificate(*peer, ocsp_until(*SSL_get_session(ssl)) != 0);
    X509_NAME* const subject = X509_get_subject_name(peer);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0) return;
    const ASN1_STRING* const text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    peer_.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                 static_cast<std::size_t>(ASN1_STRING_length(text)));
}

// Whether wire's records would not be what was agreed on or configured. OpenSSL tells nobody of
// padding, and it shows: our last record of the handshake is Finished, whose size is known (RFC
// 8446 sections 4.4.4 and 5.2).
bool engine::openssl_is_needed() const {
    const SSL_CIPHER* const cipher = SSL_get_current_cipher(ssl_.get());
    const auto* const suite = cipher_suite::find(SSL_CIPHER_get_protocol_id(cipher));
    if (SSL_version(ssl_.get()) != TLS1_3_VERSION || suite == nullptr ||
        SSL_has_pending(ssl_.get()) != 0)
        return true;
    constexpr std::size_t message_head = 4;
    constexpr std::size_t type = 1;
    const std::size_t finished = message_head + suite->secret_bytes + type + record_tag_bytes;
    return secrets_->last_record_bytes != finished ||
           SSL_SESSION_get_max_fragment_length(SSL_get_session(ssl_.get())) != 0;
}

// OpenSSL is needed no more, but for the tickets that a client may still get. `records_sent`: by
// the completed handshake's last step. A client's are under the handshake's keys; a server's, which
// come after the client's last word, are tickets, the first records under the key that goes on (RFC
// 8446 section 4.6.1).
void engine::go_on_alone(std::size_t records_sent) {
    const auto& suite =
        *cipher_suite::find(SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(ssl_.get())));
    const bool client = SSL_is_server(ssl_.get()) == 0;
    const auto key = [&suite](const traffic_secret& of, bool seals, std::uint64_t sequence) {
        return record_key::create(suite, of.view(), seals, sequence);
    };
    auto ours = key(client ? secrets_->client : secrets_->server, true, client ? 0 : records_sent);
    auto theirs = key(client ? secrets_->server : secrets_->client, false, 0);
    if (!ours || !theirs) return;
    ticket_reader* const for_tickets = client && sessions_ != nullptr ? this : nullptr;
    records_.emplace(std::move(*ours), std::move(*theirs), client, for_tickets);
    if (for_tickets == nullptr) no_more_tickets();
}

// A ticket's session comes by the callback of keep_sessions().
void engine::take_tickets(std::span<const char> record) noexcept {
    const auto rest = std::exchange(lent_.raw, record);
    ERR_clear_error();
    char none;
    std::size_t n = 0;
    SSL_read_ex(ssl_.get(), &none, 1, &n);
    ERR_clear_error();
    SSL_free_buffers(ssl_.get());
    lent_.raw = rest;
}

result<void> engine::begin(buffer& to_peer) {
    if (SSL_is_server(ssl_.get()) == 1) return {};  // the client speaks first
    const lending call(lent_, {}, to_peer);
    return shake_hands();
}

result<stream_filter::step> engine::receive(std::span<const char> raw, std::span<char> plain,
                                            buffer& to_peer) {
    if (records_) return records_->receive(raw, plain, to_peer);
    const lending call(lent_, raw, to_peer);
    step s;
    if (!open_) {
        if (auto done = shake_hands(); !done) return done.error();
    } else {
        auto got = receive_by_openssl(plain);
        if (!got) return got;
        s = *got;
    }
    s.consumed = raw.size() - lent_.raw.size();
    return s;
}

// OpenSSL bounds records without data but those of handshake messages: each new key that a peer
// announces, or new handshake that it asks for, takes time and brings nobody anything.
void engine::count_messages() noexcept {
    SSL_set_msg_callback_arg(ssl_.get(), this);
    SSL_set_msg_callback(ssl_.get(),
                         [](int sent, int, int type, const void*, std::size_t, SSL*, void* self) {
                             if (sent == 0 && type == SSL3_RT_HANDSHAKE)
                                 ++static_cast<engine*>(self)->idle_messages_;
                         });
}

result<stream_filter::step> engine::receive_by_openssl(std::span<char> plain) {
    if (refused_) return refused_;
    step s;
    forget_errors();
    while (s.produced < plain.size()) {
        std::size_t n = 0;
        const int r =
            SSL_read_ex(ssl_.get(), plain.data() + s.produced, plain.size() - s.produced, &n);
        s.produced += n;
        if (r == 1) {
            if (lent_.raw.empty() && SSL_has_pending(ssl_.get()) == 0) break;
            continue;
        }
        const int kind = SSL_get_error(ssl_.get(), r);
        if (kind == SSL_ERROR_ZERO_RETURN) {
            ended_ = true;
        } else if (kind != SSL_ERROR_WANT_READ) {
            refused_ = why(r, "TLS");
        }
        break;
    }
    if (s.produced > 0) idle_messages_ = 0;
    if (refused_) {
        // What came before it is good.
        if (s.produced == 0) return refused_;
        s.again = true;
        return s;
    }
    if (idle_messages_ > record_stream::max_idle_records) {
        failed_ = true;
        return error(errc::tls_failed, "TLS: too many records without data");
    }
    // An idle connection holds no buffers: a ticket makes OpenSSL take both of them, and with the
    // writing one it would wait for the next write. Not between a record's header and its body: the
    // header is in them.
    if (SSL_rstate_string(ssl_.get())[1] == 'H') SSL_free_buffers(ssl_.get());
    return s;
}

result<void> engine::send(std::string_view plain, buffer& to_peer) {
    if (records_) return records_->send(plain, to_peer);
    const lending call(lent_, {}, to_peer);
    forget_errors();
    std::size_t n = 0;
    const int r = SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &n);
    if (r != 1 || n != plain.size()) return why(r, "TLS");
    return {};
}

void engine::finish(buffer& to_peer) noexcept {
    if (records_) {
        records_->finish(to_peer);
        return;
    }
    const lending call(lent_, {}, to_peer);
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

connection_info engine::info() const {
    return {.version = version_,
            .cipher = cipher_,
            .protocol = protocol_,
            .peer = peer_,
            .certificate = certificate_,
            .resumed = resumed_,
            .records = records_ ? record_layer::wire : record_layer::openssl};
}

}  // namespace wire::tls::detail
