// Which requests carry an answer to a challenge, and which challenges are answered.
#include "digest_logins.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

namespace wire::http::detail {

namespace {

constexpr unsigned most_answers = 2;

// 128 bits that nobody can guess, in hexadecimal.
std::string fresh_nonce() {
    std::array<unsigned char, 16> bytes{};
    // Cannot be cut short at this size.
    [[maybe_unused]] const auto n = ::getrandom(bytes.data(), bytes.size(), 0);
    std::string out;
    for (const unsigned char b : bytes) {
        out += "0123456789abcdef"[b >> 4];
        out += "0123456789abcdef"[b & 15];
    }
    return out;
}

bool is_same_origin(const url& a, const url& b) noexcept {
    return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

error bad(const digest_login& l, std::string_view why) {
    return {errc::bad_argument,
            "client_options::digest_logins: \"" + l.origin + "\": " + std::string(why)};
}

}  // namespace

result<void> digest_logins::check(const std::vector<digest_login>& logins) {
    if (!tls::detail::hash_hex(tls::detail::hash::sha256, "")) {
        return error(errc::bad_argument,
                     "client_options::digest_logins: this wire was built without TLS, and the "
                     "hashes of Digest authentication are OpenSSL's; install OpenSSL 3 (Debian: "
                     "libssl-dev) and build it with -D WIRE_WITH_TLS=ON");
    }
    std::vector<url> origins;
    for (const digest_login& l : logins) {
        const auto origin = parse_url(l.origin);
        if (!origin || origin->websocket() || origin->target != "/")
            return bad(l, "expected http://host[:port] or https://host[:port]");
        for (const url& other : origins) {
            if (is_same_origin(other, *origin)) return bad(l, "expected one login for each origin");
        }
        origins.push_back(*origin);
        if (l.user.find(':') != std::string::npos || !is_field_value(l.user))
            return bad(l, "expected a user's name without ':' and control characters");
    }
    return {};
}

digest_logins::digest_logins(const std::vector<digest_login>& logins) {
    for (const digest_login& l : logins)
        entries_.push_back({*parse_url(l.origin), l.user, l.password, {}, 0});
}

const digest_logins::entry* digest_logins::find(const url& to) const noexcept {
    const auto it = std::find_if(entries_.begin(), entries_.end(),
                                 [&to](const entry& e) { return is_same_origin(e.origin, to); });
    return it == entries_.end() ? nullptr : &*it;
}

void digest_logins::append_field(std::string& fields, const url& to, std::string_view method,
                                 digest_progress& progress) {
    entry* const e = find(to);
    progress.session = e != nullptr && e->session ? e->number : 0;
    if (progress.session == 0) return;
    fields += "Authorization: " + e->session->answer(method, to.target) + "\r\n";
}

bool digest_logins::can_answer(const url& to, const digest_progress& progress,
                               const header_list& answer) const {
    if (find(to) == nullptr || progress.answered == most_answers) return false;
    const auto challenge = choose_digest(answer);
    return challenge && (progress.answered == 0 || challenge->is_stale);
}

bool digest_logins::take_challenge(const url& to, digest_progress& progress,
                                   const header_list& answer) {
    entry* const e = find(to);
    if (e == nullptr) return false;
    const bool is_used_up = progress.session != 0 && progress.session == e->number;
    if (!can_answer(to, progress, answer)) {
        if (is_used_up) e->session.reset();  // the next request hears a challenge first
        return false;
    }
    const auto challenge = choose_digest(answer);
    ++progress.answered;
    // Another request may have been challenged meanwhile: its session serves this one too.
    if (e->session && !is_used_up && e->session->realm() == challenge->realm) return true;
    e->session = digest_session::begin(*challenge, e->user, e->password, fresh_nonce());
    e->number = ++last_session_;
    return e->session.has_value();
}

}  // namespace wire::http::detail
