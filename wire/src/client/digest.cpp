// Chooses a challenge of Digest authentication and computes the answers to it.
#include "digest.hpp"

#include <utility>
#include <vector>

#include "proto/auth_challenge.hpp"

namespace wire::http::detail {

namespace {

using tls::detail::hash;
using tls::detail::hash_hex;

constexpr std::size_t longest_value = 1024;

bool has_fit_size(const std::optional<std::string>& value) noexcept {
    return !value || value->size() <= longest_value;
}

// RFC 7616 section 3.3. False for algorithms that are not known, or not to be had.
bool read_algorithm(digest_challenge& to) {
    std::string_view name = to.algorithm;
    constexpr std::string_view suffix = "-sess";
    if (name.size() > suffix.size() &&
        equals_ignoring_case(name.substr(name.size() - suffix.size()), suffix)) {
        to.is_session = true;
        name.remove_suffix(suffix.size());
    }
    if (equals_ignoring_case(name, "SHA-256")) {
        to.hash = hash::sha256;
    } else if (!equals_ignoring_case(name, "MD5") && !to.algorithm.empty()) {
        return false;
    }
    return hash_hex(to.hash, "").has_value();
}

std::optional<digest_challenge> read(const auth_challenge& c) {
    const auto realm = c.param("realm");
    const auto nonce = c.param("nonce");
    const auto qop = c.param("qop");
    if (!realm || !nonce || nonce->empty() || !qop || !list_has_token(*qop, "auth"))
        return std::nullopt;
    digest_challenge out;
    out.opaque = c.param("opaque");
    if (!has_fit_size(realm) || !has_fit_size(nonce) || !has_fit_size(out.opaque))
        return std::nullopt;
    out.realm = *realm;
    out.nonce = *nonce;
    out.algorithm = c.param("algorithm").value_or("");
    const auto is_true = [&c](std::string_view name) {
        return equals_ignoring_case(c.param(name).value_or(""), "true");
    };
    out.is_stale = is_true("stale");
    out.hashes_user = is_true("userhash");
    if (!read_algorithm(out)) return std::nullopt;
    return out;
}

std::string eight_digits(std::uint32_t n) {
    std::string out;
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[(n >> shift) & 15];
    return out;
}

}  // namespace

std::optional<digest_challenge> choose_digest(const header_list& fields) {
    std::optional<digest_challenge> best;
    for (const header& field : fields) {
        if (!equals_ignoring_case(field.name, "www-authenticate")) continue;
        std::vector<auth_challenge> offered;
        if (!parse_auth_challenges(field.value, offered)) continue;
        for (const auth_challenge& c : offered) {
            if (!equals_ignoring_case(c.scheme, "digest")) continue;
            auto found = read(c);
            if (found && (!best || found->hash > best->hash)) best = std::move(found);
        }
    }
    return best;
}

std::optional<digest_session> digest_session::begin(const digest_challenge& c,
                                                    std::string_view user,
                                                    std::string_view password, std::string cnonce) {
    if (!hash_hex(c.hash, "")) return std::nullopt;
    digest_session made;
    made.challenge_ = c;
    made.cnonce_ = std::move(cnonce);
    const std::string named = std::string(user) + ":" + c.realm;
    made.user_ = c.hashes_user ? made.hashed(named) : std::string(user);
    made.secret_ = made.hashed(named + ":" + std::string(password));
    if (c.is_session) made.secret_ = made.hashed(made.secret_ + ":" + c.nonce + ":" + made.cnonce_);
    return made;
}

std::string digest_session::hashed(std::string_view text) const {
    return hash_hex(challenge_.hash, text).value_or("");  // begin() has seen that it works
}

// RFC 7616 section 3.4.
std::string digest_session::answer(std::string_view method, std::string_view target) {
    const digest_challenge& c = challenge_;
    const std::string count = eight_digits(++count_);
    const std::string request = hashed(std::string(method) + ":" + std::string(target));
    const std::string response =
        hashed(secret_ + ":" + c.nonce + ":" + count + ":" + cnonce_ + ":auth:" + request);
    std::string out =
        "Digest username=" + quote(user_) + ", realm=" + quote(c.realm) + ", uri=" + quote(target);
    if (!c.algorithm.empty()) out += ", algorithm=" + c.algorithm;
    out += ", nonce=" + quote(c.nonce) + ", nc=" + count + ", cnonce=" + quote(cnonce_) +
           ", qop=auth, response=" + quote(response);
    if (c.opaque) out += ", opaque=" + quote(*c.opaque);
    if (c.hashes_user) out += ", userhash=true";
    return out;
}

}  // namespace wire::http::detail
