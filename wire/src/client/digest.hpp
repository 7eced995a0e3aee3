// Digest authentication (RFC 7616) from the client's side: which challenge is answered, and the
// answers. Sans-IO.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tls/hash.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http::detail {

// What a server asks for, as far as an answer needs it.
struct digest_challenge {
    std::string realm;
    std::string nonce;
    std::optional<std::string> opaque;
    std::string algorithm;  // as the server wrote it; empty where it did not
    tls::detail::hash hash = tls::detail::hash::md5;
    bool is_session = false;   // "-sess"
    bool is_stale = false;     // user and password are not in doubt, only the nonce is too old
    bool hashes_user = false;  // the user's name is sent as a hash
};

// The challenge to answer among the WWW-Authenticate fields of a response: the one with the
// strongest hash, of several such the first. nullopt where there is none that can be answered: with
// MD5 or SHA-256, with or without "-sess", and "auth" among its qop. Malformed fields are skipped,
// and so are challenges whose realm, nonce or opaque has more than 1,024 bytes: they are sent back
// with every request.
std::optional<digest_challenge> choose_digest(const header_list& fields);

// The answers to one challenge.
class digest_session {
public:
    // `cnonce`: the client's nonce, which nobody may be able to guess; of characters that need no
    // escape. nullopt where the hash is not to be had. Keeps a hash of the password, not itself.
    static std::optional<digest_session> begin(const digest_challenge& c, std::string_view user,
                                               std::string_view password, std::string cnonce);

    // The value of Authorization for the next request, whose target is as the server sees it.
    std::string answer(std::string_view method, std::string_view target);

    const std::string& realm() const noexcept { return challenge_.realm; }

private:
    std::string hashed(std::string_view text) const;

    digest_challenge challenge_;
    std::string user_;  // as it is sent
    std::string cnonce_;
    std::string secret_;       // the hash of A1 (RFC 7616 section 3.4.2)
    std::uint32_t count_ = 0;  // of requests with this nonce
};

}  // namespace wire::http::detail
