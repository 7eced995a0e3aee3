// SHA-256 (FIPS 180-4) of bytes that come in pieces. OpenSSL's, which uses the processor's
// instructions for it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

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
    struct context;
    struct release {
        void operator()(context* c) const noexcept;
    };
    std::unique_ptr<context, release> context_;
};

}  // namespace wireload
