// Where a certificate and its key come from: files, or text in memory.
//
//     wire::tls::certificate_source ours;
//     ours.certificate_pem = secrets.get("certificate");
//     ours.key_pem = secrets.get("key");
//     ours.ask_key_password = [&] { return secrets.get("password"); };
#pragma once

#include <functional>
#include <string>

namespace wire::tls {

// The certificate is given in one of the two ways, and the key too; not necessarily in the same.
struct certificate_source {
    // PEM; the own certificate first, then the chain behind it.
    std::string certificate_file;
    // PEM.
    std::string key_file;
    // The same as text.
    std::string certificate_pem = {};
    std::string key_pem = {};
    // The password of the key, if that is encrypted. At most 1023 bytes.
    std::string key_password = {};
    // Asked for it instead, each time that an encrypted key is read: a password then does not stay
    // in memory. Called by the thread that reads; it must not throw.
    std::function<std::string()> ask_key_password = {};
    // For servers: an OCSP response (RFC 6960) about the certificate, in DER, in a file or as
    // bytes; at most 16,000 of them. Clients that ask get it in the handshake (RFC 6066 section 8),
    // from its thisUpdate until its nextUpdate; outside of that time nothing is sent. Somebody has
    // to fetch a new one in time and call reload(). One that cannot be read, is for another
    // certificate or has no nextUpdate is an error. Clients have no use for it.
    std::string ocsp_response_file = {};
    std::string ocsp_response_der = {};
};

}  // namespace wire::tls
