// Headers in every length, masks at every offset.
#include "wire/proto/ws_frame.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pieces.hpp"

namespace wire::ws::ws_frame_test {

using namespace std::string_literals;

constexpr mask_key key{0x37, 0xFA, 0x21, 0x3D};

TEST(mask, every_length_alignment_and_offset) {
    std::string text;
    for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i * 7));
    for (std::size_t size = 0; size < 80; ++size) {
        for (std::size_t start = 0; start < 9; ++start) {
            for (std::size_t offset = 0; offset < 5; ++offset) {
                std::string expected = text.substr(start, size);
                for (std::size_t i = 0; i < size; ++i)
                    expected[i] = static_cast<char>(expected[i] ^ key[(i + offset) % 4]);
                std::string got(size, '\0');
                testing::exact_copy from(std::string_view(text).substr(start, size));
                copy_masked(got.data(), from, key, offset);
                ASSERT_EQ(got, expected);
                apply_mask({got.data(), size}, key, offset);
                ASSERT_EQ(got, text.substr(start, size));
            }
        }
    }
}
TEST(frame_header, examples_of_the_rfc) {  // section 5.7
    buffer out;
    append_frame(out, opcode::text, "Hello");
    EXPECT_EQ(out.view(), "\x81\x05Hello");
    out.clear();
    append_frame(out, opcode::text, "Hello", key);
    EXPECT_EQ(out.view(), "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    out.clear();
    append_frame(out, opcode::text, "Hel", {}, false);
    append_frame(out, opcode::continuation, "lo");
    EXPECT_EQ(out.view(), "\x01\x03Hel\x80\x02lo"s);
    out.clear();
    append_frame(out, opcode::binary, std::string(256, 'x'));
    EXPECT_EQ(out.view().substr(0, 4), "\x82\x7E\x01\x00"s);
    out.clear();
    append_frame(out, opcode::binary, std::string(65536, 'x'));
    EXPECT_EQ(out.view().substr(0, 10), "\x82\x7F\x00\x00\x00\x00\x00\x01\x00\x00"s);
}
TEST(frame_header, reads_what_it_writes_at_every_cut) {
    for (const std::uint64_t length :
         {0ULL, 1ULL, 125ULL, 126ULL, 127ULL, 65535ULL, 65536ULL, 0x7FFFFFFFFFFFFFFFULL}) {
        for (const bool masked : {false, true}) {
            std::array<char, max_frame_header_bytes> raw;
            const std::size_t n = write_frame_header(raw, opcode::binary, length, false,
                                                     masked ? std::optional(key) : std::nullopt);
            const role reader = masked ? role::server : role::client;
            for (std::size_t cut = 0; cut < n; ++cut) {
                testing::exact_copy part({raw.data(), cut});
                const auto s = read_frame_header(part, reader);
                EXPECT_EQ(s.size, 0U);
                EXPECT_EQ(s.error, errc::none);
            }
            const auto s = read_frame_header({raw.data(), n}, reader);
            EXPECT_EQ(s.size, n);
            EXPECT_EQ(s.header.length, length);
            EXPECT_EQ(s.header.op, opcode::binary);
            EXPECT_FALSE(s.header.fin);
            EXPECT_EQ(s.header.masked, masked);
            EXPECT_EQ(s.header.key, masked ? key : mask_key{});
        }
    }
}
TEST(frame_header, refused_at_the_earliest_byte) {
    const auto refused_after = [](const std::string& bytes, role r) {
        for (std::size_t n = 1; n <= bytes.size(); ++n) {
            testing::exact_copy part(std::string_view(bytes).substr(0, n));
            if (read_frame_header(part, r).error == errc::bad_frame) return static_cast<int>(n);
        }
        return -1;
    };
    for (const int bit : {0x40, 0x20, 0x10})
        EXPECT_EQ(refused_after({static_cast<char>(0x81 | bit)}, role::client), 1);
    for (const int op : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15})
        EXPECT_EQ(refused_after({static_cast<char>(0x80 | op)}, role::client), 1);
    EXPECT_EQ(refused_after("\x09", role::client), 1);      // a fragmented ping
    EXPECT_EQ(refused_after("\x89\x7E", role::client), 2);  // a control frame over 125 bytes
    EXPECT_EQ(refused_after("\x81\x05", role::server), 2);  // a client must mask
    EXPECT_EQ(refused_after("\x81\x85", role::client), 2);  // a server must not
    EXPECT_EQ(refused_after("\x82\x7E\x00\x7D"s, role::client), 4);  // not the shortest form
    EXPECT_EQ(refused_after("\x82\x7F\x00\x00\x00\x00\x00\x00\xFF\xFF"s, role::client), 10);
    EXPECT_EQ(refused_after("\x82\x7F\x80"s, role::client), 3);  // 2^63 and more
}

}  // namespace wire::ws::ws_frame_test
