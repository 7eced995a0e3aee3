// Keys of TLS 1.3 from a traffic secret (HKDF-Expand-Label), and records under them.
#include "record_key.hpp"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace wire::tls::detail {

namespace {

int size_of(std::size_t n) noexcept { return static_cast<int>(n); }

}  // namespace

const cipher_suite* cipher_suite::find(std::uint16_t id) noexcept {
    // Fetched once: OpenSSL looks a cipher up by its name, under a lock. And never given back:
    // connections may outlive all statics.
    static const auto& suites = *new std::array<cipher_suite, 3>{{
        {aead_cipher::find("AES-128-GCM"), EVP_sha256(), 16, 32},
        {aead_cipher::find("AES-256-GCM"), EVP_sha384(), 32, 48},
        {aead_cipher::find("ChaCha20-Poly1305"), EVP_sha256(), 32, 32},
    }};
    constexpr std::uint16_t first = 0x1301;
    if (id < first || id >= first + suites.size()) return nullptr;
    const cipher_suite& found = suites[id - first];
    return found.cipher ? &found : nullptr;
}

record_key::record_key(const cipher_suite& suite, bytes secret, bool seals,
                       std::uint64_t sequence) noexcept
    : suite_(&suite), cipher_(*suite.cipher, seals), sequence_(sequence) {
    std::copy_n(secret.begin(), suite.secret_bytes, secret_.begin());
}

record_key::record_key(record_key&& other) noexcept
    : suite_(other.suite_),
      cipher_(std::move(other.cipher_)),
      sequence_(other.sequence_),
      secret_(other.secret_),
      iv_(other.iv_) {}

record_key::~record_key() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

std::optional<record_key> record_key::create(const cipher_suite& suite, bytes secret, bool seals,
                                             std::uint64_t sequence) {
    if (secret.size() != suite.secret_bytes) return std::nullopt;
    record_key made(suite, secret, seals, sequence);
    if (!made.take_keys()) return std::nullopt;
    return made;
}

// HKDF-Expand-Label (RFC 8446 section 7.1) without a context. The output wanted here is never
// longer than one hash, so that one round of HKDF's expansion (RFC 5869 section 2.3) is all of it.
bool record_key::expand(std::string_view label, std::span<std::uint8_t> out) const {
    std::array<std::uint8_t, 32> info{};
    std::size_t n = 0;
    const auto put = [&](std::size_t octet) { info[n++] = static_cast<std::uint8_t>(octet); };
    put(0);
    put(out.size());
    put(label.size());
    std::memcpy(info.data() + n, label.data(), label.size());
    n += label.size();
    put(0);
    put(1);  // the number of the round
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> round{};
    unsigned got = 0;
    const bool done = HMAC(suite_->hash, secret_.data(), size_of(suite_->secret_bytes), info.data(),
                           n, round.data(), &got) != nullptr &&
                      got >= out.size();
    if (done) std::copy_n(round.begin(), out.size(), out.begin());
    OPENSSL_cleanse(round.data(), round.size());
    return done;
}

bool record_key::take_keys() {
    std::array<std::uint8_t, 32> key{};
    const bool done = expand("tls13 key", std::span(key).first(suite_->key_bytes)) &&
                      expand("tls13 iv", iv_) &&
                      cipher_.set_key(std::span(key).first(suite_->key_bytes));
    OPENSSL_cleanse(key.data(), key.size());
    return done;
}

bool record_key::update() {
    std::array<std::uint8_t, 48> next{};
    const auto wanted = std::span(next).first(suite_->secret_bytes);
    const bool done = expand("tls13 traffic upd", wanted);
    if (done) std::copy(wanted.begin(), wanted.end(), secret_.begin());
    OPENSSL_cleanse(next.data(), next.size());
    sequence_ = 0;
    return done && take_keys();
}

// The record's number over the key's vector (RFC 8446 section 5.3).
aead_nonce record_key::next_nonce() noexcept {
    auto nonce = iv_;
    for (std::size_t i = 0; i < 8; ++i)
        nonce[11 - i] = static_cast<std::uint8_t>(nonce[11 - i] ^ (sequence_ >> (8 * i)));
    ++sequence_;
    return nonce;
}

bool record_key::seal(content type, std::string_view plain, buffer& to) {
    const std::size_t inner = plain.size() + 1;
    const std::size_t behind = inner + record_tag_bytes;
    const auto record = to.prepare(record_header_bytes + behind);
    // The outer type and version are always these (RFC 8446 section 5.2).
    const std::array<char, record_header_bytes> header = {
        static_cast<char>(content::application_data), 3, 3, static_cast<char>(behind >> 8),
        static_cast<char>(behind)};
    std::memcpy(record.data(), header.data(), header.size());
    char* const body = record.data() + record_header_bytes;
    if (!plain.empty()) std::memcpy(body, plain.data(), plain.size());
    body[plain.size()] = static_cast<char>(type);
    // The header is authenticated (RFC 8446 section 5.2).
    if (!cipher_.seal(next_nonce(), header, {body, inner},
                      std::span<char, record_tag_bytes>(body + inner, record_tag_bytes)))
        return false;
    to.commit(record_header_bytes + behind);
    return true;
}

record_key::opened record_key::open(std::span<const char> record, char* plain) {
    opened out;
    const auto body = record.subspan(record_header_bytes);
    const auto inner = body.first(body.size() - record_tag_bytes);
    std::array<char, record_tag_bytes> tag;
    std::memcpy(tag.data(), body.data() + inner.size(), tag.size());
    if (!cipher_.open(next_nonce(), record.first(record_header_bytes), inner, tag, plain)) {
        out.why = alert::bad_record_mac;
        return out;
    }
    // Padding counts (RFC 8446 section 5.4).
    if (inner.size() > max_record_plain + 1) {
        out.why = alert::record_overflow;
        return out;
    }
    // Zeros behind the type are padding (RFC 8446 section 5.4).
    std::size_t size = inner.size();
    while (size > 0 && plain[size - 1] == 0) --size;
    if (size == 0) {
        out.why = alert::unexpected_message;
        return out;
    }
    out.type = static_cast<content>(plain[size - 1]);
    out.size = size - 1;
    return out;
}

}  // namespace wire::tls::detail
