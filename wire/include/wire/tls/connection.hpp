// TLS on one connection: what a context makes and a stream runs its bytes through.
//
// Users meet it only as the connection_info of a request:
//
//     const wire::tls::connection_info* const tls = res.request().tls();
//     if (tls == nullptr || tls->peer.empty()) return res.status(403).send("show a certificate\n");
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/loop/stream_filter.hpp"
#include "wire/tls/peer_certificate.hpp"

namespace wire::tls {

// TLS 1.0 and 1.1 are not offered (RFC 8996).
enum class version : std::uint8_t { tls_1_2, tls_1_3 };

// Who turns data into records and back once the handshake, always OpenSSL's, is complete.
enum class record_layer : std::uint8_t {
    // OpenSSL: all that it agreed on or was configured with holds.
    openssl,
    // wire itself, for TLS 1.3: less time for a small message and less memory for an idle
    // connection. It keeps the traffic secrets, and calls the ciphers at OpenSSL's provider, beside
    // EVP: what an application hooks into EVP or SSL_CTX for records does not see them. It leaves
    // to OpenSSL connections of TLS 1.2, those with a cipher suite other than AES-GCM and
    // ChaCha20-Poly1305, those that agreed on a max_fragment_length (RFC 6066 section 4), all where
    // OpenSSL's configuration pads records (RecordPadding) or the FIPS provider is in use.
    wire,
};

// What the handshake agreed on. The views live as long as the object that gave it: a connection, or
// a request.
struct connection_info {
    // As OpenSSL writes it: "TLSv1.3".
    std::string_view version;
    // By its standard name: "TLS_AES_256_GCM_SHA384".
    std::string_view cipher;
    // The protocol chosen by ALPN (RFC 7301), such as "http/1.1"; empty when none was agreed on.
    std::string_view protocol;
    // The common name in the peer's certificate, which has been checked; empty without one.
    std::string_view peer;
    // The names and the fingerprint of that certificate; null without one.
    std::shared_ptr<const peer_certificate> certificate;
    // Whether an earlier session was resumed: no certificates were sent, and no signature was made.
    bool resumed = false;
    // Whose records carry the data: `openssl` also where `wire` was asked for and could not.
    record_layer records = record_layer::openssl;
};

// The alert that a side gave for the end of a handshake (RFC 8446 section 6).
struct handshake_alert {
    // As the RFC writes it, such as "unknown_ca"; "unknown" for one that is not registered. Empty:
    // there was none. Static storage.
    std::string_view name;
    // By this side, to the peer; else by the peer.
    bool sent = false;
};

// A stream's filter that speaks TLS in one of the roles. Belongs to the stream's thread.
class WIRE_EXPORT connection : public stream_filter {
public:
    // Precondition: is_open(), which stays true from the end of the handshake on.
    virtual connection_info info() const = 0;
    // The last one of the handshake.
    virtual handshake_alert alert() const noexcept = 0;
};

}  // namespace wire::tls
