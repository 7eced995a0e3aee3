// Hashes by OpenSSL's EVP.
#include "hash.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

#include <array>

namespace wire::tls::detail {

std::optional<std::string> hash_hex(hash which, std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    const EVP_MD* const type = which == hash::md5 ? EVP_md5() : EVP_sha256();
    if (EVP_Digest(text.data(), text.size(), bytes.data(), &size, type, nullptr) != 1) {
        ERR_clear_error();  // which the next TLS connection would take for its own
        return std::nullopt;
    }
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
        out += "0123456789abcdef"[bytes[i] >> 4];
        out += "0123456789abcdef"[bytes[i] & 15];
    }
    return out;
}

}  // namespace wire::tls::detail
