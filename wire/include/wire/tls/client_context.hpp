// The TLS settings that a client's connections share: whom to trust, which certificate to show,
// sessions to resume.
//
//     auto context = wire::tls::client_context::create({.ca_file = "our-ca.pem"});
//     if (!context) return complain(context.error().message);
//     http::client_options options;
//     options.tls = *context;
//
// A client that is given none makes one with the system's authorities. Without OpenSSL
// (WIRE_WITH_TLS=OFF) create() fails and says so.
#pragma once

#include <cstddef>
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

// Whether servers are asked to prove with an OCSP response (RFC 6066 section 8) that their
// certificate is not revoked. One that is sent is always checked: it has to be for the certificate,
// signed by its issuer or by a responder that the issuer named, within its time give or take five
// minutes, and say "good". Another ends the handshake.
enum class ocsp_response : std::uint8_t {
    not_asked,
    // Servers without one are accepted, and peer_certificate::ocsp_good is then false; unless their
    // certificate is marked "must-staple" (RFC 7633).
    asked,
    // Servers without one are refused.
    required,
};

// File names are read by create() and not again. Certificates are checked for their chain, their
// dates and the server's name, which must stand in the subjectAltName: a common name is not read
// (RFC 9525).
struct client_options {
    // PEM; the authorities to trust instead of the system's. A certificate in it is trusted as it
    // is, whoever signed it. Empty: the system's.
    std::string ca_file = {};
    // The same as text.
    std::string ca_pem = {};
    // Accept every certificate. For tests against servers with none that could be checked; never
    // for data that matter.
    bool insecure = false;
    // Whether servers have to show that their certificate is not revoked. An error with `insecure`,
    // which checks nothing. A session is resumed no longer than the response of its first handshake
    // is valid, and with `required` none without one.
    ocsp_response ocsp = ocsp_response::not_asked;
    // PEM; the client's certificate with the chain behind it, and its key, for servers that ask for
    // one.
    std::string certificate_file = {};
    std::string key_file = {};
    // The same as text, and the password of an encrypted key: see certificate_source.
    std::string certificate_pem = {};
    std::string key_pem = {};
    std::string key_password = {};
    std::function<std::string()> ask_key_password = {};
    // The name to ask the server for and to find in its certificate, instead of the one that is
    // connected to.
    std::string server_name = {};
    // Judges a server whose certificate is in order, perhaps by its fingerprint, before a request
    // is sent to it, or, with TLS 1.3, the client's certificate: an error fails the connection,
    // with its message. Also asked of resumed sessions. Called in the handshake, by the thread of
    // the connection, so perhaps by several at once; it must not throw. Empty: the certificate is
    // enough.
    std::function<error(const connection_info& info)> check_server = {};
    // Protocols to offer by ALPN (RFC 7301), best first; none: no offer.
    std::vector<std::string> protocols = {"http/1.1"};
    // The oldest and newest version to offer.
    version min_version = version::tls_1_2;
    version max_version = version::tls_1_3;
    // Cipher suites to offer in each version, best first, by the name of IANA
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

    // Resume earlier sessions with the same server (RFC 8446 section 2.2, RFC 5077): a shorter
    // handshake.
    bool resume = true;
    // A TLS 1.3 ticket serves once, so that an observer cannot tell that two connections belong to
    // one client (RFC 8446 section C.4). Without it the newest serves for all.
    bool single_use_tickets = true;
    // Servers (host and port) whose sessions are kept, and the most kept for each; those used
    // longest ago go first.
    std::size_t max_servers = 256;
    std::size_t max_sessions_per_server = 4;
};

// Shared by all connections of a client, and by several clients: they then resume each other's
// sessions. Any thread may use it. Connections keep what they need of it.
class WIRE_EXPORT client_context {
public:
    // Reads the files, which blocks. Errors: bad_argument, tls_failed; the message names the file
    // and the reason.
    static result<std::shared_ptr<client_context>> create(const client_options& options = {});
    virtual ~client_context() = default;
    client_context(const client_context&) = delete;
    client_context& operator=(const client_context&) = delete;

    // The TLS of one connection to `host`, a name or a literal address, for stream::set_filter().
    // wire's clients call it. Fails when `host` cannot be the name of a server.
    virtual result<std::unique_ptr<connection>> connect(std::string_view host,
                                                        std::uint16_t port) = 0;

protected:
    client_context() = default;
};

}  // namespace wire::tls
