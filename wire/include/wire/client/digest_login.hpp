// A user and password for Digest authentication (RFC 7616), which never sends the password itself.
//
//     wire::http::client_options options;
//     options.digest_logins = {{"https://camera.example", "viewer", password}};
//
// Requests to that origin are sent without them until one is answered with 401 (Unauthorized) and a
// challenge; that request is sent again with the answer to it, and later ones carry an answer from
// the beginning. A nonce that the server calls stale is replaced, once for each request. If the
// server refuses user and password, or asks for nothing that can be answered, the caller gets its
// 401.
//
// Answered are challenges with SHA-256 or MD5, the stronger first, with or without "-sess", with
// qop "auth", and with "userhash". Not with qop "auth-int" alone, and not without qop (RFC 2069),
// where the server alone would choose what is hashed with the password.
//
// Requests with an Authorization field of their own are left alone. A request whose body comes from
// a body_source without `rewind`, and has been asked for, cannot be sent again: the caller gets the
// 401, and the next request carries the answer; with `expect_continue` a server can ask before the
// body is. MD5 can be broken for weak passwords by whoever sees the answer: use TLS.
#pragma once

#include <string>

namespace wire::http {

// Errors in these end each request of the client with errc::bad_argument. So does a wire that was
// built without TLS: the hashes are OpenSSL's.
struct digest_login {
    // The only origin that is ever sent the answers, wherever redirects lead: "http://host[:port]"
    // or "https://host[:port]". One login for each origin.
    std::string origin;
    // Without ':' and control characters; UTF-8.
    std::string user;
    // UTF-8.
    std::string password;
};

}  // namespace wire::http
