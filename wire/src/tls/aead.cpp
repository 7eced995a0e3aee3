// Finds a cipher's functions at its provider, and seals and opens with them.
#include "aead.hpp"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace wire::tls::detail {

namespace {

const unsigned char* octets(const char* p) noexcept {
    return reinterpret_cast<const unsigned char*>(p);
}
unsigned char* octets(char* p) noexcept { return reinterpret_cast<unsigned char*>(p); }

// An algorithm's names stand in one text, with colons between them.
bool is_named(std::string_view names, std::string_view name) noexcept {
    while (!names.empty()) {
        const std::size_t end = std::min(names.find(':'), names.size());
        if (names.substr(0, end) == name) return true;
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return false;
}

std::array<OSSL_PARAM, 2> tag_parameter(std::span<char, aead_tag_bytes> tag) noexcept {
    return {OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag.data(), tag.size()),
            OSSL_PARAM_construct_end()};
}

}  // namespace

std::optional<aead_cipher> aead_cipher::find(const char* name) {
    aead_cipher found;
    found.cipher_.reset(EVP_CIPHER_fetch(nullptr, name, nullptr));
    if (found.cipher_ == nullptr) return std::nullopt;
    const auto* const provider = EVP_CIPHER_get0_provider(found.cipher_.get());
    found.provider_ = OSSL_PROVIDER_get0_provider_ctx(provider);
    int no_cache = 0;
    const OSSL_ALGORITHM* const all =
        OSSL_PROVIDER_query_operation(provider, OSSL_OP_CIPHER, &no_cache);
    const OSSL_ALGORITHM* one = all;
    while (one != nullptr && one->algorithm_names != nullptr &&
           !is_named(one->algorithm_names, name))
        ++one;
    if (one != nullptr && one->algorithm_names != nullptr) {
        for (const OSSL_DISPATCH* f = one->implementation; f->function_id != 0; ++f) {
            switch (f->function_id) {
            case OSSL_FUNC_CIPHER_NEWCTX: found.new_context_ = OSSL_FUNC_cipher_newctx(f); break;
            case OSSL_FUNC_CIPHER_FREECTX: found.free_context_ = OSSL_FUNC_cipher_freectx(f); break;
            case OSSL_FUNC_CIPHER_ENCRYPT_INIT:
                found.begin_sealing_ = OSSL_FUNC_cipher_encrypt_init(f);
                break;
            case OSSL_FUNC_CIPHER_DECRYPT_INIT:
                found.begin_opening_ = OSSL_FUNC_cipher_decrypt_init(f);
                break;
            case OSSL_FUNC_CIPHER_UPDATE: found.update_ = OSSL_FUNC_cipher_update(f); break;
            case OSSL_FUNC_CIPHER_FINAL: found.finish_ = OSSL_FUNC_cipher_final(f); break;
            case OSSL_FUNC_CIPHER_GET_CTX_PARAMS:
                found.get_ = OSSL_FUNC_cipher_get_ctx_params(f);
                break;
            default: break;
            }
        }
    }
    OSSL_PROVIDER_unquery_operation(provider, OSSL_OP_CIPHER, all);
    const bool whole = found.new_context_ != nullptr && found.free_context_ != nullptr &&
                       found.begin_sealing_ != nullptr && found.begin_opening_ != nullptr &&
                       found.update_ != nullptr && found.finish_ != nullptr &&
                       found.get_ != nullptr;
    return whole ? std::optional(std::move(found)) : std::nullopt;
}

aead::aead(const aead_cipher& cipher, bool seals)
    : cipher_(&cipher),
      context_(cipher.new_context_(cipher.provider_), free_context{cipher.free_context_}),
      seals_(seals) {}

bool aead::set_key(std::span<const std::uint8_t> key) {
    const auto begin = seals_ ? cipher_->begin_sealing_ : cipher_->begin_opening_;
    return context_ != nullptr &&
           begin(context_.get(), key.data(), key.size(), nullptr, 0, nullptr) == 1;
}

bool aead::run(std::span<const char> associated, std::span<const char> data, char* to) {
    std::size_t n = 0;
    std::size_t last = 0;
    // Associated data is authenticated only: it has no output.
    return cipher_->update_(context_.get(), nullptr, &n, associated.size(),
                            octets(associated.data()), associated.size()) == 1 &&
           cipher_->update_(context_.get(), octets(to), &n, data.size(), octets(data.data()),
                            data.size()) == 1 &&
           cipher_->finish_(context_.get(), octets(to) + n, &last, data.size() - n) == 1 &&
           n + last == data.size();
}

bool aead::seal(const aead_nonce& nonce, std::span<const char> associated, std::span<char> data,
                std::span<char, aead_tag_bytes> tag) {
    if (cipher_->begin_sealing_(context_.get(), nullptr, 0, nonce.data(), nonce.size(), nullptr) !=
        1)
        return false;
    if (!run(associated, data, data.data())) return false;
    auto wanted = tag_parameter(tag);
    return cipher_->get_(context_.get(), wanted.data()) == 1;
}

bool aead::open(const aead_nonce& nonce, std::span<const char> associated,
                std::span<const char> data, std::span<char, aead_tag_bytes> tag, char* to) {
    const auto expected = tag_parameter(tag);
    return cipher_->begin_opening_(context_.get(), nullptr, 0, nonce.data(), nonce.size(),
                                   expected.data()) == 1 &&
           run(associated, data, to);
}

}  // namespace wire::tls::detail
