#include "record_key.hpp"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace wire::tls::detail {

namespace {

int size_of(std::size_t n) noexcept { return static_cast<int>(n); }
const unsigned char* octets(const char* p) noexcept { return reinterpret_cast<const unsigned char*>(p); }
unsigned char* octets(char* p) noexcept { return reinterpret_cast<unsigned char*>(p); }

}  // namespace

const cipher_suite* cipher_suite::find(std::uint16_t id) noexcept {
    // Fetched once: OpenSSL looks a cipher up by its name, under a lock.
    static const std::array<cipher_suite, 3> suites = {{
        {EVP_CIPHER_fetch(nullptr, "AES-128-GCM", nullptr), EVP_sha256(), 16, 32},
        {EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr), EVP_sha384(), 32, 48},
        {EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr), EVP_sha256(), 32, 32},
    }};
    constexpr std::uint16_t first = 0x1301;
    if (id < first || id >= first + suites.size()) return nullptr;
    const cipher_suite& found = suites[id - first];
    return found.cipher != nullptr ? &found : nullptr;
}

record_key::record_key(const cipher_suite& suite, bytes secret, bool seals, std::uint64_t sequence) noexcept
    : suite_(&suite), cipher_(EVP_CIPHER_CTX_new()), sequence_(sequence), seals_(seals) {
    std::copy_n(secret.begin(), suite.secret_bytes, secret_.begin());
}

record_key::record_key(record_key&& other) noexcept
    : suite_(other.suite_), cipher_(std::move(other.cipher_)), sequence_(other.sequence_), secret_(other.secret_), iv_(other.iv_),
      seals_(other.seals_) {}

record_key::~record_key() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

std::optional<record_key> record_key::create(const cipher_suite& suite, bytes secret, bool seals, std::uint64_t sequence) {
    if (secret.size() != suite.secret_bytes) return std::nullopt;
    record_key made(suite, secret, seals, sequence);
    if (made.cipher_ == nullptr || !made.take_keys()) return std::nullopt;
    return made;
}

// HKDF-Expand-Label (RFC 8446 section 7.1) without a context. What is wanted here is never longer than one hash, so that one round of
// HKDF's expansion (RFC 5869 section 2.3) is all of it.
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
    const bool done = HMAC(suite_->hash, secret_.data(), size_of(suite_->secret_bytes), info.data(), n, round.data(), &got) != nullptr &&
                      got >= out.size();
    if (done) std::copy_n(round.begin(), out.size(), out.begin());
    OPENSSL_cleanse(round.data(), round.size());
    return done;
}

bool record_key::take_keys() {
    std::array<std::uint8_t, 32> key{};
    const bool done = expand("tls13 key", std::span(key).first(suite_->key_bytes)) && expand("tls13 iv", iv_) &&
                      EVP_CipherInit_ex2(cipher_.get(), suite_->cipher, key.data(), nullptr, seals_ ? 1 : 0, nullptr) == 1;
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

// The nonce is the record's number over the key's vector (RFC 8446 section 5.3); the header is authenticated (section 5.2).
bool record_key::begin_record(std::span<const char> header) {
    auto nonce = iv_;
    for (std::size_t i = 0; i < 8; ++i) nonce[11 - i] = static_cast<std::uint8_t>(nonce[11 - i] ^ (sequence_ >> (8 * i)));
    ++sequence_;
    int n = 0;
    return EVP_CipherInit_ex2(cipher_.get(), nullptr, nullptr, nonce.data(), -1, nullptr) == 1 &&
           EVP_CipherUpdate(cipher_.get(), nullptr, &n, octets(header.data()), size_of(header.size())) == 1;
}

bool record_key::seal(content type, std::string_view plain, buffer& to) {
    const std::size_t inner = plain.size() + 1;
    const std::size_t behind = inner + record_tag_bytes;
    const auto record = to.prepare(record_header_bytes + behind);
    // The outer type and version are always these (RFC 8446 section 5.2).
    const std::array<char, record_header_bytes> header = {static_cast<char>(content::application_data), 3, 3, static_cast<char>(behind >> 8),
                                                          static_cast<char>(behind)};
    std::memcpy(record.data(), header.data(), header.size());
    char* const body = record.data() + record_header_bytes;
    if (!plain.empty()) std::memcpy(body, plain.data(), plain.size());
    body[plain.size()] = static_cast<char>(type);
    int n = 0;
    int last = 0;
    if (!begin_record(header) || EVP_CipherUpdate(cipher_.get(), octets(body), &n, octets(body), size_of(inner)) != 1 ||
        EVP_CipherFinal_ex(cipher_.get(), octets(body) + n, &last) != 1 || n + last != size_of(inner) ||
        EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_GET_TAG, record_tag_bytes, body + inner) != 1) {
        return false;
    }
    to.commit(record_header_bytes + behind);
    return true;
}

record_key::opened record_key::open(std::span<const char> record, char* plain) {
    opened out;
    const auto body = record.subspan(record_header_bytes);
    const auto inner = body.first(body.size() - record_tag_bytes);
    std::array<char, record_tag_bytes> tag;
    std::memcpy(tag.data(), body.data() + inner.size(), tag.size());
    int n = 0;
    int last = 0;
    if (!begin_record(record.first(record_header_bytes)) ||
        EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_AEAD_SET_TAG, record_tag_bytes, tag.data()) != 1 ||
        EVP_CipherUpdate(cipher_.get(), octets(plain), &n, octets(inner.data()), size_of(inner.size())) != 1 ||
        EVP_CipherFinal_ex(cipher_.get(), octets(plain) + n, &last) != 1) {
        out.why = alert::bad_record_mac;
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
    if (out.size > max_record_plain) out.why = alert::record_overflow;
    return out;
}

}  // namespace wire::tls::detail
