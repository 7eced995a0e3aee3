// Authenticated encryption with OpenSSL's ciphers, called where EVP would call them: at the
// functions of the cipher's provider (provider-cipher(7)). EVP asks the provider for the length of
// the nonce before each record, and for the tag, by comparing names of parameters; for a record of
// a few bytes that was more work than the cipher itself (5,800 instructions to seal and open 23
// bytes with OpenSSL 3.0.22, and 3,500 this way).
#pragma once

#include <openssl/core_dispatch.h>
#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "openssl.hpp"

namespace wire::tls::detail {

constexpr std::size_t aead_tag_bytes = 16;
using aead_nonce = std::array<std::uint8_t, 12>;

// One cipher. It keeps its provider loaded.
class aead_cipher {
public:
    // `name` as OpenSSL knows it: "AES-128-GCM". None when there is no such cipher, or its provider
    // lacks a function.
    static std::optional<aead_cipher> find(const char* name);

private:
    friend class aead;

    std::unique_ptr<EVP_CIPHER, freed_by<&EVP_CIPHER_free>> cipher_;
    void* provider_ = nullptr;
    OSSL_FUNC_cipher_newctx_fn* new_context_ = nullptr;
    OSSL_FUNC_cipher_freectx_fn* free_context_ = nullptr;
    OSSL_FUNC_cipher_encrypt_init_fn* begin_sealing_ = nullptr;
    OSSL_FUNC_cipher_decrypt_init_fn* begin_opening_ = nullptr;
    OSSL_FUNC_cipher_update_fn* update_ = nullptr;
    OSSL_FUNC_cipher_final_fn* finish_ = nullptr;
    OSSL_FUNC_cipher_get_ctx_params_fn* get_ = nullptr;
};

// A key of a cipher, in one direction. The functions return false when OpenSSL fails, open() also
// when the tag is not that of the data.
class aead {
public:
    // `cipher` must outlive it.
    aead(const aead_cipher& cipher, bool seals);

    // To be called before anything else; again for another key.
    bool set_key(std::span<const std::uint8_t> key);
    // In place. A nonce must not be used twice with one key.
    bool seal(const aead_nonce& nonce, std::span<const char> associated, std::span<char> data,
              std::span<char, aead_tag_bytes> tag);
    // `data` may be `to` itself; they must not overlap otherwise. `to` holds rubbish when it fails.
    bool open(const aead_nonce& nonce, std::span<const char> associated, std::span<const char> data,
              std::span<char, aead_tag_bytes> tag, char* to);

private:
    bool run(std::span<const char> associated, std::span<const char> data, char* to);

    struct free_context {
        OSSL_FUNC_cipher_freectx_fn* with;
        void operator()(void* context) const noexcept { with(context); }
    };

    const aead_cipher* cipher_;
    std::unique_ptr<void, free_context> context_;
    bool seals_;
};

}  // namespace wire::tls::detail
