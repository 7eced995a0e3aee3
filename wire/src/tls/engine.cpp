// A TLS connection in either role, from handshake to end.
//
//   state       seen by                bytes go through          left when
//   handshake   !open_                 OpenSSL                   it is complete, or fails
//   TLS 1.2     open_, no records_     OpenSSL                   the connection ends
//   TLS 1.3     open_, records_        record_stream             the connection ends
//   ended       has_ended()            nothing more comes in;    the stream closes
//                                      send() still works
//   failed      failed_, or an error   nothing: the stream only  -
//               from a call            destroys it
//
// TLS 1.3 with a cipher suite that record_key lacks goes the way of TLS 1.2. After the handshake of
// TLS 1.3 (go_on_alone()) OpenSSL's connection is freed: by a server at once, by a client that
// keeps sessions with the first data, because OpenSSL alone can read the tickets before it.
//
// Owners: the stream owns the engine, the engine OpenSSL's connection, whose BIO reads raw_ and
// writes *to_peer_; both are set for the length of a call only. Thread: the stream's.
#include "engine.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace wire::tls::detail {

// OpenSSL's view of the two sides of a call.
struct engine::bio_calls {
    static engine& self(BIO* bio) noexcept { return *static_cast<engine*>(BIO_get_data(bio)); }

    static int read(BIO* bio, char* to, std::size_t size, std::size_t* got) noexcept {
        auto& raw = self(bio).raw_;
        BIO_clear_retry_flags(bio);
        *got = std::min(size, raw.size());
        if (*got == 0) {
            BIO_set_retry_read(bio);
            return 0;
        }
        std::memcpy(to, raw.data(), *got);
        raw = raw.subspan(*got);
        return 1;
    }
    static int write(BIO* bio, const char* from, std::size_t size, std::size_t* put) noexcept {
        buffer* const to = self(bio).to_peer_;
        if (to == nullptr) return 0;
        to->append({from, size});
        *put = size;
        return 1;
    }
    static long control(BIO*, int what, long, void*) noexcept {
        return what == BIO_CTRL_FLUSH ? 1 : 0;
    }

    static BIO_METHOD* make() noexcept {
        BIO_METHOD* const m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "wire");
        if (m == nullptr) return nullptr;
        BIO_meth_set_read_ex(m, read);
        BIO_meth_set_write_ex(m, write);
        BIO_meth_set_ctrl(m, control);
        return m;
    }
    // A table of functions; it lives as long as the program.
    static const BIO_METHOD* method() noexcept {
        static const BIO_METHOD* const made = make();
        return made;
    }
};

namespace {

// SSL_get_error() takes what stands in this thread's queue for the reason; to empty it costs more
// than to look.
void forget_errors() noexcept {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

engine::secret::~secret() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

engine::engine(ssl_ptr ssl, std::shared_ptr<server_sessions> sessions)
    : ssl_(std::move(ssl)), sessions_(std::move(sessions)), secrets_(std::make_unique<secrets>()) {}

result<std::unique_ptr<connection>> engine::create(ssl_ptr ssl,
                                                   std::shared_ptr<server_sessions> sessions) {
    BIO* const bio = bio_calls::method() != nullptr ? BIO_new(bio_calls::method()) : nullptr;
    if (ssl == nullptr || bio == nullptr) {
        BIO_free(bio);
        return failure("no TLS connection could be made");
    }
    std::unique_ptr<engine> made(new engine(std::move(ssl), std::move(sessions)));
    BIO_set_data(bio, made.get());
    BIO_set_init(bio, 1);
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

// OpenSSL gives a connection's secrets only to this callback, as a line for a log: a label, the
// client's random bytes, and the secret, with a space between and the last two in hexadecimal
// digits (NSS key log format). The line is OpenSSL's, which cleanses it.
void engine::take_secrets(SSL_CTX& ctx) {
    SSL_CTX_set_keylog_callback(&ctx, [](const SSL* ssl, const char* text) {
        auto* const self = static_cast<engine*>(SSL_get_app_data(ssl));
        const std::string_view line(text);
        if (self == nullptr || self->secrets_ == nullptr) return;
        secret* const to = line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")   ? &self->secrets_->client
                           : line.starts_with("SERVER_TRAFFIC_SECRET_0 ") ? &self->secrets_->server
                                                                          : nullptr;
        if (to == nullptr) return;
        const std::string_view digits = line.substr(line.rfind(' ') + 1);
        if (digits.size() % 2 != 0 || digits.size() / 2 > to->bytes.size()) return;
        const auto value = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
        to->size = digits.size() / 2;
        for (std::size_t i = 0; i < to->size; ++i) {
            to->bytes[i] =
                static_cast<std::uint8_t>(value(digits[2 * i]) << 4 | value(digits[2 * i + 1]));
        }
    });
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
    if (kind == SSL_ERROR_SYSCALL && code == 0) {
        text += ": the peer closed the connection";
    } else if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
        text += ": the ";
        text += server ? "client" : "server";
        text += "'s certificate is not to be trusted: ";
        text += X509_verify_cert_error_string(verdict);
        ERR_clear_error();
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
    const std::size_t before = to_peer_->size();
    const int r = SSL_do_handshake(ssl_.get());
    if (r == 1) {
        open_ = true;
        note_info();
        go_on_alone(to_peer_->view().substr(before));
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
    X509_NAME* const subject = X509_get_subject_name(peer);
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0) return;
    const ASN1_STRING* const text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    peer_.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                 static_cast<std::size_t>(ASN1_STRING_length(text)));
}

// Where TLS 1.3 was agreed on, with a cipher that we have, OpenSSL is needed only for the tickets
// that a client may still get. `last_flight`: what the completed handshake had left to say. A
// client's is under the handshake's keys; a server's, which comes after the client's last word,
// consists of tickets, the first records under the key that goes on (RFC 8446 section 4.6.1).
void engine::go_on_alone(std::string_view last_flight) {
    const auto shared = std::move(secrets_);
    const auto* const suite =
        cipher_suite::find(SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(ssl_.get())));
    if (SSL_version(ssl_.get()) != TLS1_3_VERSION || suite == nullptr ||
        SSL_has_pending(ssl_.get()) != 0)
        return;
    const bool client = SSL_is_server(ssl_.get()) == 0;
    std::uint64_t sent = 0;
    while (!client && last_flight.size() >= record_header_bytes) {
        const auto size = [&](std::size_t i) {
            return static_cast<std::size_t>(static_cast<unsigned char>(last_flight[i]));
        };
        last_flight.remove_prefix(
            std::min(last_flight.size(), record_header_bytes + (size(3) << 8 | size(4))));
        ++sent;
    }
    const auto key = [suite](const secret& of, bool seals, std::uint64_t sequence) {
        return record_key::create(*suite, {of.bytes.data(), of.size}, seals, sequence);
    };
    auto ours = key(client ? shared->client : shared->server, true, sent);
    auto theirs = key(client ? shared->server : shared->client, false, 0);
    if (!ours || !theirs) return;
    ticket_reader* const for_tickets = client && sessions_ != nullptr ? this : nullptr;
    records_.emplace(std::move(*ours), std::move(*theirs), client, for_tickets);
    if (for_tickets == nullptr) no_more_tickets();
}

// A ticket's session comes by the callback of keep_sessions().
void engine::take_tickets(std::span<const char> record) noexcept {
    const auto rest = std::exchange(raw_, record);
    ERR_clear_error();
    char none;
    std::size_t n = 0;
    SSL_read_ex(ssl_.get(), &none, 1, &n);
    ERR_clear_error();
    SSL_free_buffers(ssl_.get());
    raw_ = rest;
}

result<void> engine::begin(buffer& to_peer) {
    if (SSL_is_server(ssl_.get()) == 1) return {};  // the client speaks first
    raw_ = {};
    to_peer_ = &to_peer;
    auto done = shake_hands();
    to_peer_ = nullptr;
    return done;
}

result<stream_filter::step> engine::receive(std::span<const char> raw, std::span<char> plain,
                                            buffer& to_peer) {
    if (records_) return records_->receive(raw, plain, to_peer);
    raw_ = raw;
    to_peer_ = &to_peer;
    step s;
    if (!open_) {
        if (auto done = shake_hands(); !done) return done.error();
    } else {
        auto got = receive_by_openssl(plain);
        if (!got) return got;
        s = *got;
    }
    s.consumed = raw.size() - raw_.size();
    raw_ = {};
    to_peer_ = nullptr;
    return s;
}

result<stream_filter::step> engine::receive_by_openssl(std::span<char> plain) {
    step s;
    forget_errors();
    while (s.produced < plain.size()) {
        std::size_t n = 0;
        const int r =
            SSL_read_ex(ssl_.get(), plain.data() + s.produced, plain.size() - s.produced, &n);
        s.produced += n;
        if (r == 1) {
            if (raw_.empty() && SSL_has_pending(ssl_.get()) == 0) break;
            continue;
        }
        const int kind = SSL_get_error(ssl_.get(), r);
        if (kind == SSL_ERROR_ZERO_RETURN) {
            ended_ = true;
        } else if (kind != SSL_ERROR_WANT_READ) {
            return why(r, "TLS");
        }
        break;
    }
    // A ticket makes OpenSSL take both its buffers, and with the writing one it would wait for the
    // next write. Not between a record's header and its body: the header is in them.
    if (SSL_rstate_string(ssl_.get())[1] == 'H') SSL_free_buffers(ssl_.get());
    return s;
}

result<void> engine::send(std::string_view plain, buffer& to_peer) {
    if (records_) return records_->send(plain, to_peer);
    to_peer_ = &to_peer;
    forget_errors();
    std::size_t n = 0;
    const int r = SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &n);
    to_peer_ = nullptr;
    if (r != 1 || n != plain.size()) return why(r, "TLS");
    return {};
}

void engine::finish(buffer& to_peer) noexcept {
    if (records_) {
        records_->finish(to_peer);
        return;
    }
    to_peer_ = &to_peer;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
    to_peer_ = nullptr;
}

connection_info engine::info() const {
    return {.version = version_,
            .cipher = cipher_,
            .protocol = protocol_,
            .peer = peer_,
            .resumed = resumed_};
}

}  // namespace wire::tls::detail
