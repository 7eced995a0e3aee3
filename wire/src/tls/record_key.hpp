// One direction of a TLS 1.3 connection after its handshake: the records of RFC 8446 section 5,
// sealed and opened with OpenSSL's ciphers.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "aead.hpp"
#include "wire/base/buffer.hpp"

namespace wire::tls::detail {

// RFC 8446 section 5.1.
enum class content : std::uint8_t {
    change_cipher_spec = 20,
    alert = 21,
    handshake = 22,
    application_data = 23
};

// RFC 8446 section 6; those that records give reason for.
enum class alert : std::uint8_t {
    close_notify = 0,
    unexpected_message = 10,
    bad_record_mac = 20,
    record_overflow = 22,
    illegal_parameter = 47,
    decode_error = 50,
    internal_error = 80,
    user_canceled = 90,
};

constexpr std::size_t record_header_bytes = 5;
constexpr std::size_t record_tag_bytes = aead_tag_bytes;
constexpr std::size_t max_record_plain = 16'384;
// Behind the header, padding included.
constexpr std::size_t max_record_sealed = max_record_plain + 256;

// What a suite's name stands for (RFC 8446 section B.4). There is one object for each.
struct cipher_suite {
    std::optional<aead_cipher> cipher;
    const EVP_MD* hash;
    std::size_t key_bytes;
    std::size_t secret_bytes;

    // Null for those that are left to OpenSSL.
    static const cipher_suite* find(std::uint16_t id) noexcept;
};

class record_key {
public:
    using bytes = std::span<const std::uint8_t>;

    // `secret`: the application traffic secret (RFC 8446 section 7.1), secret_bytes long.
    // `sequence`: of the next record. None when OpenSSL fails, which is for want of memory.
    static std::optional<record_key> create(const cipher_suite& suite, bytes secret, bool seals,
                                            std::uint64_t sequence);
    record_key(record_key&& other) noexcept;
    record_key& operator=(record_key&&) = delete;
    ~record_key();

    // Appends one record with at most max_record_plain bytes. False when OpenSSL fails.
    bool seal(content type, std::string_view plain, buffer& to);

    struct opened {
        std::optional<alert> why;  // it was refused
        content type = content::application_data;
        std::size_t size = 0;
    };
    // `record`: a whole one with its header. `plain` has room for what is in it with padding:
    // record.size() - 21 bytes, at least one.
    opened open(std::span<const char> record, char* plain);

    // Goes on with the next key (RFC 8446 section 7.2). False when OpenSSL fails.
    bool update();
    // Of the next record; 0 after an update.
    std::uint64_t sequence() const noexcept { return sequence_; }

private:
    record_key(const cipher_suite& suite, bytes secret, bool seals,
               std::uint64_t sequence) noexcept;
    bool expand(std::string_view label, std::span<std::uint8_t> out) const;
    bool take_keys();
    aead_nonce next_nonce() noexcept;

    const cipher_suite* suite_;
    aead cipher_;
    std::uint64_t sequence_;
    std::array<std::uint8_t, 48> secret_{};
    aead_nonce iv_{};
};

}  // namespace wire::tls::detail
