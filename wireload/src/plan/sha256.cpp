#include "plan/sha256.hpp"

#ifdef WIRELOAD_OPENSSL

#include <new>
#include <string>

#include <openssl/evp.h>

namespace wireload {

bool sha256::available() noexcept { return true; }

std::optional<sha256::digest> sha256::parse(std::string_view hex) {
    digest out{};
    std::size_t size = 0;
    // '\0': no separator between the bytes.
    if (hex.size() != 2 * out.size() ||
        OPENSSL_hexstr2buf_ex(out.data(), out.size(), &size, std::string(hex).c_str(), '\0') != 1 ||
        size != out.size())
        return std::nullopt;
    return out;
}

sha256::sha256() : context_(EVP_MD_CTX_new()) {
    if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
        throw std::bad_alloc();
}

void sha256::release::operator()(evp_md_ctx_st* context) const noexcept {
    EVP_MD_CTX_free(context);
}

void sha256::add(std::string_view piece) {
    EVP_DigestUpdate(context_.get(), piece.data(), piece.size());
}

sha256::digest sha256::finish() {
    digest out{};
    EVP_DigestFinal_ex(context_.get(), out.data(), nullptr);
    return out;
}

}  // namespace wireload

#else

namespace wireload {

bool sha256::available() noexcept { return false; }
std::optional<sha256::digest> sha256::parse(std::string_view) { return std::nullopt; }
sha256::sha256() = default;
void sha256::release::operator()(evp_md_ctx_st*) const noexcept {}
void sha256::add(std::string_view) {}
sha256::digest sha256::finish() { return {}; }

}  // namespace wireload

#endif
