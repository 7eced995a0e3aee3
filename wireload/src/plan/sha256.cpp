#include "sha256.hpp"

#include <new>

#ifdef WIRELOAD_OPENSSL
#include <openssl/evp.h>
#endif

namespace wireload {

std::optional<sha256::digest> sha256::parse(std::string_view hex) {
    digest out{};
    if (hex.size() != 2 * out.size()) return std::nullopt;
    for (std::size_t i = 0; i < hex.size(); ++i) {
        const char c = hex[i];
        const int value = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (value < 0) return std::nullopt;
        out[i / 2] = static_cast<std::uint8_t>(out[i / 2] << 4 | value);
    }
    return out;
}

#ifdef WIRELOAD_OPENSSL

struct sha256::context {
    EVP_MD_CTX* evp = EVP_MD_CTX_new();
};

bool sha256::available() noexcept { return true; }

void sha256::release::operator()(context* c) const noexcept {
    EVP_MD_CTX_free(c->evp);
    delete c;
}

sha256::sha256() : context_(new context) {
    if (context_->evp == nullptr || EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) != 1)
        throw std::bad_alloc();
}

void sha256::add(std::string_view piece) {
    EVP_DigestUpdate(context_->evp, piece.data(), piece.size());
}

sha256::digest sha256::finish() {
    digest out{};
    EVP_DigestFinal_ex(context_->evp, out.data(), nullptr);
    return out;
}

#else

struct sha256::context {};

bool sha256::available() noexcept { return false; }
void sha256::release::operator()(context* c) const noexcept { delete c; }
sha256::sha256() = default;
void sha256::add(std::string_view) {}
sha256::digest sha256::finish() { return {}; }

#endif

}  // namespace wireload
