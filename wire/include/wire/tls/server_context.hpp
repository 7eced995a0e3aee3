// The TLS settings that a server's connections share: its certificates, and whether clients have to
// show theirs.
//
//     wire::tls::server_options keys;
//     keys.certificates = {{"cert.pem", "key.pem"}};
//     auto context = wire::tls::server_context::create(keys);
//     if (!context) return complain(context.error().message);
//     options.tls = *context;  // of http::server_options
//     ...
//     (*context)->reload();    // when the files have changed
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/tls/certificate_source.hpp"
#include "wire/tls/connection.hpp"

namespace wire::tls {

// Whether clients are asked for a certificate. One that is shown is always checked against
// the authorities of server_options; a bad one ends the handshake.
enum class client_certificate : std::uint8_t {
    not_asked,
    optional,  // clients without one are served too: connection_info::peer is then empty
    required,  // clients without one are refused
};

// File names are read by create(), and again by reload().
struct server_options {
    // At least one. A client that asks for a name (SNI, RFC 6066 section 3) gets the first that is
    // for it by its subjectAltName; without a name, or with one that none is for, it gets the first
    // of all. All else below holds for each of them.
    std::vector<certificate_source> certificates = {};
    // PEM; the authorities that sign clients' certificates, in a file or as text. Needed when those
    // are asked for.
    std::string client_ca_file = {};
    std::string client_ca_pem = {};
    // Whether clients have to show who they are; handlers see it in request::tls().
    client_certificate client = client_certificate::not_asked;
    // Protocols to accept by ALPN, best first. A client that offers only others is refused (RFC
    // 7301 section 3.2).
    std::vector<std::string> protocols = {"http/1.1"};
    // The oldest and newest version to accept.
    version min_version = version::tls_1_2;
    version max_version = version::tls_1_3;
    // Cipher suites to accept in each version, of which the client's order chooses, by the name of
    // IANA
    // ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256") or OpenSSL ("ECDHE-RSA-AES128-GCM-SHA256"). A name
    // that OpenSSL does not have is an error; suites without encryption or certificates cannot be
    // named. Empty: for TLS 1.2 those with ECDHE and AES-GCM or ChaCha20-Poly1305 (RFC 9325
    // section 4.2), for TLS 1.3 OpenSSL's. What OpenSSL's configuration leaves out of its own
    // defaults stays out of these.
    std::vector<std::string> tls_1_2_ciphers = {};
    std::vector<std::string> tls_1_3_ciphers = {};
    // Groups for the key exchange, best first, by OpenSSL's names: "X25519", "P-256". Empty:
    // OpenSSL's.
    std::vector<std::string> groups = {};
    // Who seals and opens records after the handshake.
    record_layer records = record_layer::openssl;
    // Takes the secrets of every connection, a line at a time without its end, in the form that
    // Wireshark reads (SSLKEYLOGFILE). Whoever has them reads all that is sent: for debugging
    // alone. Called in the handshake, by the thread of the connection, so perhaps by several at
    // once; the line is valid for the call. It must not throw. Empty: none are told.
    std::function<void(std::string_view line)> key_log = {};
    // Let clients resume sessions. The server keeps nothing for it: sessions travel in tickets that
    // only it can read. One of TLS 1.2 is for the server name of its full handshake alone (RFC 6066
    // section 3), for which there has to be a certificate, or for none.
    bool tickets = true;
    // Also where clients are asked for certificates. A resumed session is not checked against
    // client_ca_file again: until it ends, only reload() refuses a client that was let in.
    bool tickets_with_client_certificates = false;
    // How long after a full handshake its session may be resumed, also by way of newer tickets;
    // never beyond the end of the client's certificate, nor of one in the chain behind it. From
    // 1 s to 7 days (RFC 8446 section 4.6.1).
    std::chrono::seconds session_lifetime = std::chrono::hours(2);
    // How long one key seals tickets. For as long again it opens them. Who learns it reads the
    // TLS 1.2 sessions that it sealed. From 1 s to 7 days.
    std::chrono::seconds ticket_key_period = std::chrono::hours(12);
    // Tells the time by which tickets, clients' certificates and OCSP responses are judged. Called
    // by any thread during handshakes; it must not throw. Empty: the system's clock.
    std::function<std::chrono::system_clock::time_point()> clock = {};
};

// Shared by all loops of a server, and by several servers. Any thread may use it.
class WIRE_EXPORT server_context {
public:
    // Reads the files, which blocks. Errors: bad_argument, tls_failed; the message names the file
    // and the reason.
    static result<std::shared_ptr<server_context>> create(const server_options& options);
    virtual ~server_context() = default;
    server_context(const server_context&) = delete;
    server_context& operator=(const server_context&) = delete;

    // The TLS of one accepted connection, for stream::set_filter(). wire's server calls it. Fails
    // when memory is short.
    virtual result<std::unique_ptr<connection>> accept() = 0;
    // Reads all files again, for connections to come. When that fails, the error says why, and the
    // old files go on. A new key seals tickets; those of the key before stay good, except where
    // clients are asked for certificates: these are then checked anew.
    virtual result<void> reload() = 0;
    // The same with these certificates from now on, and, unless it is empty, with these authorities
    // of clients in PEM. After an error all is as before.
    virtual result<void> reload(std::vector<certificate_source> certificates,
                                std::string client_ca_pem = {}) = 0;

protected:
    server_context() = default;
};

}  // namespace wire::tls
