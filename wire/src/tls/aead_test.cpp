#include "aead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "hex.hpp"

namespace wire::tls::detail::aead_test {

std::string octets(std::string_view hex) {
    const auto all = testing::from_hex(hex);
    return {all.begin(), all.end()};
}

struct example {
    const char* cipher;
    std::string key, nonce, associated, plain, sealed, tag;
};

std::vector<example> examples() {
    return {
        // McGrew & Viega, The Galois/Counter Mode of Operation (GCM), appendix B, test cases 4
        // and 16.
        {"AES-128-GCM", octets("feffe9928665731c6d6a8f9467308308"),
         octets("cafebabefacedbaddecaf888"), octets("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
         octets("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532f"
                "cf0e2449a6b525b16aedf5aa0de657ba637b39"),
         octets("42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d"
                "8f6a5aac84aa051ba30b396a0aac973d58e091"),
         octets("5bc94fbc3221a5db94fae95ae7121a47")},
        {"AES-256-GCM", octets("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"),
         octets("cafebabefacedbaddecaf888"), octets("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
         octets("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532f"
                "cf0e2449a6b525b16aedf5aa0de657ba637b39"),
         octets("522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7"
                "b08b1056828838c5f61e6393ba7a0abcc9f662"),
         octets("76fc6ece0f4e1768cddf8853bb2d551b")},
        // RFC 8439 section 2.8.2.
        {"ChaCha20-Poly1305",
         octets("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"),
         octets("070000004041424344454647"), octets("50515253c0c1c2c3c4c5c6c7"),
         "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
         "future, sunscreen would be it.",
         octets("d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282"
                "fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
                "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de5"
                "76d26586cec64b6116"),
         octets("1ae10b594f09e26a7e902ecbd0600691")},
    };
}

aead keyed(const aead_cipher& cipher, const example& e, bool seals) {
    aead made(cipher, seals);
    EXPECT_TRUE(made.set_key({reinterpret_cast<const std::uint8_t*>(e.key.data()), e.key.size()}));
    return made;
}
aead_nonce nonce_of(const example& e) {
    aead_nonce n;
    std::copy_n(e.nonce.begin(), n.size(), n.begin());
    return n;
}

TEST(aeads, seal_the_published_examples) {
    for (const example& e : examples()) {
        const auto cipher = aead_cipher::find(e.cipher);
        ASSERT_TRUE(cipher) << e.cipher;
        aead key = keyed(*cipher, e, true);
        // What one record leaves behind must not be in the next.
        for (int again = 0; again < 2; ++again) {
            std::string data = e.plain;
            std::array<char, aead_tag_bytes> tag{};
            ASSERT_TRUE(key.seal(nonce_of(e), e.associated, data, tag)) << e.cipher;
            EXPECT_EQ(data, e.sealed) << e.cipher;
            EXPECT_EQ(std::string_view(tag.data(), tag.size()), e.tag) << e.cipher;
        }
    }
}
TEST(aeads, open_only_what_nobody_touched) {
    for (const example& e : examples()) {
        const auto cipher = aead_cipher::find(e.cipher);
        ASSERT_TRUE(cipher) << e.cipher;
        aead key = keyed(*cipher, e, false);
        const auto opens = [&](example changed) {
            std::array<char, aead_tag_bytes> tag;
            std::copy_n(changed.tag.begin(), tag.size(), tag.begin());
            std::string plain(changed.sealed.size(), '\0');
            const bool done =
                key.open(nonce_of(changed), changed.associated, changed.sealed, tag, plain.data());
            if (done) {
                EXPECT_EQ(plain, e.plain) << e.cipher;
            }
            return done;
        };
        EXPECT_TRUE(opens(e)) << e.cipher;
        for (std::string example::* part :
             {&example::nonce, &example::associated, &example::sealed, &example::tag}) {
            for (const std::size_t at : {std::size_t{0}, (e.*part).size() - 1}) {
                example changed = e;
                (changed.*part)[at] = static_cast<char>((changed.*part)[at] ^ 1);
                EXPECT_FALSE(opens(changed)) << e.cipher;
            }
        }
        EXPECT_TRUE(opens(e)) << e.cipher;
    }
}
TEST(aeads, may_take_another_key) {
    const auto all = examples();
    const auto cipher = aead_cipher::find("AES-128-GCM");
    ASSERT_TRUE(cipher);
    example other = all[0];
    other.key[3] = 'x';
    aead key = keyed(*cipher, other, true);
    std::string data = all[0].plain;
    std::array<char, aead_tag_bytes> tag{};
    ASSERT_TRUE(key.seal(nonce_of(all[0]), all[0].associated, data, tag));
    EXPECT_NE(data, all[0].sealed);
    ASSERT_TRUE(
        key.set_key({reinterpret_cast<const std::uint8_t*>(all[0].key.data()), all[0].key.size()}));
    data = all[0].plain;
    ASSERT_TRUE(key.seal(nonce_of(all[0]), all[0].associated, data, tag));
    EXPECT_EQ(data, all[0].sealed);
}
TEST(aeads, refuse_what_does_not_exist) {
    EXPECT_FALSE(aead_cipher::find("AES-129-GCM"));
    const auto cipher = aead_cipher::find("AES-128-GCM");
    ASSERT_TRUE(cipher);
    aead key(*cipher, true);
    const std::array<std::uint8_t, 15> short_key{};
    EXPECT_FALSE(key.set_key(short_key));
}

}  // namespace wire::tls::detail::aead_test
