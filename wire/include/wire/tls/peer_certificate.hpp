// What a certificate says of the peer that showed it.
#pragma once

#include <string>
#include <vector>

namespace wire::tls {

// Belongs to a connection whose peer has shown a certificate, in this handshake or in the one of
// the session that it resumed. The certificate has been checked, except by a client with
// client_options::insecure. Does not change; any thread may read it.
struct peer_certificate {
    // For people: "CN=wire,O=Example" (RFC 4514), with escapes for all but printable ASCII, and cut
    // at 1000 bytes.
    std::string subject;
    // The SHA-256 of the whole certificate as 64 digits of lower-case hexadecimal: the same as
    // `openssl x509 -fingerprint -sha256` without its colons.
    std::string sha256;
    // The names in the subjectAltName, each in the certificate's order: host names, which may begin
    // with "*."; addresses as inet_ntop() writes them; URIs; mail addresses. At most 256 in all.
    // Malformed ones, and those with bytes that are not printable ASCII, are left out.
    std::vector<std::string> dns_names;
    std::vector<std::string> ip_addresses;
    std::vector<std::string> uris;
    std::vector<std::string> email_addresses;
    // Whether a server proved with an OCSP response that the certificate was not revoked, in this
    // handshake or in the one of the session that it resumed: see client_options::ocsp.
    bool ocsp_good = false;
};

}  // namespace wire::tls
