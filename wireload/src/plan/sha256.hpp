// SHA-256 (FIPS 180-4) of bytes that come in pieces, by OpenSSL, which uses the processor's
// instructions for it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace wireload {

class sha256 {
public:
    using digest = std::array<std::uint8_t, 32>;

    // False when this build is without OpenSSL; then nothing else here may be used.
    static bool available() noexcept;
    // 64 hexadecimal digits.
    static std::optional<digest> parse(std::string_view hex);

    sha256();
    void add(std::string_view piece);
    digest finish();

private:
    struct release {
        void operator()(evp_md_ctx_st* context) const noexcept;
    };
    std::unique_ptr<evp_md_ctx_st, release> context_;
};

}  // namespace wireload
