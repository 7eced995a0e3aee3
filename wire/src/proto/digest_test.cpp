// SHA-1 and Base64 against published vectors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/proto/base64.hpp"
#include "wire/proto/sha1.hpp"

namespace wire::digest_test {

std::string hex(std::string_view text) {
    std::string out;
    for (const auto byte : sha1(text)) {
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    return out;
}

TEST(sha1, vectors_of_fips_180) {
    EXPECT_EQ(hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_EQ(hex(std::string(1000000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}
TEST(sha1, every_padding) {
    // SHA-1 of 55, 56, 63, 64 and 65 times 'a'.
    EXPECT_EQ(hex(std::string(55, 'a')), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
    EXPECT_EQ(hex(std::string(56, 'a')), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
    EXPECT_EQ(hex(std::string(63, 'a')), "03f09f5b158a7a8cdad920bddc29b81c18a551f5");
    EXPECT_EQ(hex(std::string(64, 'a')), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
    EXPECT_EQ(hex(std::string(65, 'a')), "11655326c708d70319be2610e8a57d9a5b959d3b");
}

std::string encode(std::string_view text) {
    return base64_encode({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(base64, vectors_of_rfc_4648) {
    const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
    for (const auto& [plain, coded] : vectors) {
        EXPECT_EQ(encode(plain), coded);
        EXPECT_EQ(base64_decode(coded), plain);
    }
}
TEST(base64, every_byte) {
    std::string all;
    for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
    EXPECT_EQ(base64_decode(encode(all)), all);
}
TEST(base64, refused) {
    for (const auto bad : {"Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9 ", "Zm9v\n",
                           "Zh==", "Zm9=", "Zm-_", "=Zm8"}) {
        EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
    }
}

}  // namespace wire::digest_test
