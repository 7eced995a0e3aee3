// Streams cut everywhere, damaged streams, and streams that expand too much.
#include "wire/proto/compression.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "pieces.hpp"

namespace wire::compression_test {

using namespace std::string_literals;

constexpr std::array codings{coding::raw_deflate, coding::zlib, coding::gzip};

// Text that compresses, and is not all alike.
std::string prose(std::size_t size) {
    std::string out;
    for (unsigned i = 0; out.size() < size; ++i)
        out += "line " + std::to_string(i * 2654435761U % 1000) + " of many; ";
    out.resize(size);
    return out;
}

// Bytes that do not compress.
std::string noise(std::size_t size) {
    std::string out(size, '\0');
    std::uint32_t x = 1;
    for (char& c : out) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    return out;
}

std::string compressed(coding c, std::string_view text, const compression_options& options = {}) {
    auto packer = compressor::create(c, options);
    buffer out;
    EXPECT_EQ(packer->add(text, flush::finish, out), errc::none);
    return std::string(out.view());
}

// What a decompressor says of pieces: the text, then how it ended and what it left.
std::string said(coding c, const testing::pieces& cut, std::size_t room, int window_bits = 15) {
    auto unpacker = decompressor::create(c, window_bits);
    buffer out;
    std::size_t unused = 0;
    decompressor::step s;
    for (const auto piece : cut) {
        testing::exact_copy copy(piece);
        std::string_view rest = copy;
        do {
            const std::size_t before = out.size();
            s = unpacker->add(rest, room, out);
            EXPECT_LE(out.size() - before, room);
            rest.remove_prefix(s.used);
        } while (s.more && s.error == errc::none);
        unused += rest.size();
        if (s.error != errc::none) return std::string(to_string(s.error));
    }
    return std::string(out.view()) + (s.ended ? "|ended" : "|open") +
           (unused > 0 ? " left " + std::to_string(unused) : "");
}

TEST(compression, there_and_back_however_cut) {
    for (const coding c : codings) {
        for (const std::string& text :
             {""s, "a"s, "hello hello hello hello"s, std::string(300, 'x'), noise(200)}) {
            const std::string packed = compressed(c, text);
            for (const auto& cut : testing::all_cuts(packed)) {
                for (const std::size_t room : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
                    ASSERT_EQ(said(c, cut, room), text + "|ended");
                }
            }
        }
        for (const std::string& text : {prose(1'000'000), noise(1'000'000)}) {
            EXPECT_EQ(said(c, {compressed(c, text)}, 2'000'000), text + "|ended");
        }
    }
}
TEST(compression, every_option) {
    const std::string text = prose(40'000);
    for (int level = 0; level <= 9; ++level)
        EXPECT_EQ(said(coding::gzip, {compressed(coding::gzip, text, {.level = level})}, 99'999),
                  text + "|ended");
    for (int bits = 9; bits <= 15; ++bits) {
        EXPECT_EQ(
            said(coding::raw_deflate,
                 {compressed(coding::raw_deflate, text, {.window_bits = bits})}, 99'999, bits),
            text + "|ended")
            << bits;
    }
    for (int memory = 1; memory <= 9; ++memory)
        EXPECT_EQ(
            said(coding::zlib, {compressed(coding::zlib, text, {.memory_level = memory})}, 99'999),
            text + "|ended");
    EXPECT_LT(compressed(coding::gzip, text, {.level = 9}).size(),
              compressed(coding::gzip, text, {.level = 1}).size());
    EXPECT_LT(compressed(coding::gzip, text, {.level = 1}).size(), text.size() / 2);
}
TEST(compression, options_out_of_range) {
    for (const compression_options o : {compression_options{.level = 10},
                                        {.level = -1},
                                        {.window_bits = 8},
                                        {.window_bits = 16},
                                        {.memory_level = 0},
                                        {.memory_level = 10}}) {
        for (const coding c : codings)
            EXPECT_EQ(compressor::create(c, o).code(), errc::bad_argument);
    }
    EXPECT_EQ(decompressor::create(coding::gzip, 7).code(), errc::bad_argument);
    EXPECT_EQ(decompressor::create(coding::gzip, 16).code(), errc::bad_argument);
}
TEST(compression, bytes_after_the_end_are_left) {
    for (const coding c : codings) {
        const std::string packed = compressed(c, "hello") + "GET /";
        for (const auto& cut : testing::all_cuts(packed))
            ASSERT_EQ(said(c, cut, 100), "hello|ended left 5");
    }
}
TEST(compression, truncated_is_not_ended) {
    for (const coding c : codings) {
        const std::string packed = compressed(c, prose(500));
        for (std::size_t n = 0; n < packed.size(); ++n) {
            const std::string got = said(c, {std::string_view(packed).substr(0, n)}, 1000);
            ASSERT_EQ(got.substr(got.rfind('|')), "|open") << n;
        }
    }
}
TEST(compression, garbage) {
    EXPECT_EQ(said(coding::raw_deflate, {std::string(20, '\xFF')}, 100),
              "malformed compressed data");
    EXPECT_EQ(said(coding::zlib, {"no zlib at all"}, 100), "malformed compressed data");
    EXPECT_EQ(said(coding::gzip, {"no gzip at all"}, 100), "malformed compressed data");
    EXPECT_EQ(said(coding::gzip, {compressed(coding::zlib, "hello")}, 100),
              "malformed compressed data");
    // A wrong checksum, a wrong length.
    std::string packed = compressed(coding::gzip, "hello");
    packed[packed.size() - 8] = static_cast<char>(packed[packed.size() - 8] ^ 1);
    EXPECT_EQ(said(coding::gzip, {packed}, 100), "malformed compressed data");
    packed = compressed(coding::gzip, "hello");
    packed.back() = '\1';
    EXPECT_EQ(said(coding::gzip, {packed}, 100), "malformed compressed data");
    // A preset dictionary, which nobody has agreed on.
    EXPECT_EQ(said(coding::zlib, {"\x78\xBB\0\0\0\1\0\0"s}, 100), "malformed compressed data");
    // A reference further back than the window asked for.
    const std::string far = compressed(coding::raw_deflate, noise(5'000) + noise(5'000));
    EXPECT_TRUE(said(coding::raw_deflate, {far}, 100, 10) == "malformed compressed data");
}
TEST(compression, an_error_is_final_until_reset) {
    auto unpacker = decompressor::create(coding::gzip);
    buffer out;
    EXPECT_EQ(unpacker->add("bad", 100, out).error, errc::bad_compressed_data);
    const std::string packed = compressed(coding::gzip, "hello");
    const auto s = unpacker->add(packed, 100, out);
    EXPECT_EQ(s.error, errc::bad_compressed_data);
    EXPECT_EQ(s.used, 0U);
    unpacker->reset();
    EXPECT_TRUE(unpacker->add(packed, 100, out).ended);
    EXPECT_EQ(unpacker->add(packed, 100, out).used, 0U);  // one stream only
    unpacker->next_stream();
    EXPECT_TRUE(unpacker->add(packed, 100, out).ended);
    EXPECT_EQ(out.view(), "hellohello");
}
TEST(compression, sync_ends_at_a_byte_and_goes_on_with_what_it_knows) {
    auto packer = compressor::create(coding::raw_deflate);
    auto unpacker = decompressor::create(coding::raw_deflate);
    const std::string text = prose(300);
    std::size_t first = 0;
    for (int i = 0; i < 3; ++i) {
        buffer packed, plain;
        ASSERT_EQ(packer->add(text, flush::sync, packed), errc::none);
        EXPECT_EQ(packed.view().substr(packed.size() - 4), "\0\0\xFF\xFF"s);
        const auto s = unpacker->add(packed.view(), 1000, plain);
        EXPECT_EQ(plain.view(), text);
        EXPECT_TRUE(s.whole);
        EXPECT_FALSE(s.ended);
        EXPECT_FALSE(s.more);
        if (i == 0) {
            first = packed.size();
        } else {
            EXPECT_LT(packed.size(), first / 4);
        }
    }
    buffer again;
    ASSERT_EQ(packer->add("", flush::sync, again), errc::none);
    EXPECT_EQ(again.view(), "");
}
TEST(compression, added_in_pieces_and_finished_once) {
    auto packer = compressor::create(coding::gzip);
    buffer out;
    for (const char c : "hello"s) ASSERT_EQ(packer->add({&c, 1}, flush::none, out), errc::none);
    ASSERT_EQ(packer->add("", flush::finish, out), errc::none);
    EXPECT_EQ(said(coding::gzip, {out.view()}, 100), "hello|ended");
    EXPECT_EQ(packer->add("more", flush::none, out), errc::bad_argument);
    packer->reset();
    out.clear();
    ASSERT_EQ(packer->add("anew", flush::finish, out), errc::none);
    EXPECT_EQ(said(coding::gzip, {out.view()}, 100), "anew|ended");
}
// A sync with every amount of room left in the buffer: zlib repeats the marker where room runs
// short.
TEST(compression, one_marker_however_little_room_there_is) {
    for (std::size_t used = 0; used < 256; ++used) {
        auto packer = compressor::create(coding::raw_deflate);
        buffer out;
        out.append(std::string(used, '.'));
        ASSERT_EQ(packer->add("hello hello", flush::sync, out), errc::none);
        const std::string_view got = out.view().substr(used);
        EXPECT_EQ(got.find("\0\0\xFF\xFF"s), got.size() - 4) << used;
    }
}
TEST(compression, bombs_are_stopped_by_their_ratio) {
    for (const coding c : codings) {
        const std::string bomb = compressed(c, std::string(10'000'000, '\0'));
        ASSERT_LT(bomb.size(), 11'000U);
        for (const std::uint32_t ratio : {10U, 200U}) {
            auto unpacker = decompressor::create(c, 15, ratio);
            buffer out;
            EXPECT_EQ(unpacker->add(bomb, 20'000'000, out).error, errc::expands_too_much);
            EXPECT_LE(out.size(), decompressor::ratio_floor_bytes + 16 * 1024);
        }
        auto trusting = decompressor::create(c, 15, 0);
        buffer out;
        EXPECT_TRUE(trusting->add(bomb, 20'000'000, out).ended);
        EXPECT_EQ(out.size(), 10'000'000U);
    }
}
TEST(compression, honest_data_that_repeat_are_no_bombs) {
    std::string repetitive;
    while (repetitive.size() < 300 * 1024) repetitive += "GET /index.html 200 1024\n";
    for (const coding c : codings) {
        for (const std::string& honest : {std::string(70'000, '\0'), repetitive}) {
            auto unpacker = decompressor::create(c);
            buffer out;
            const auto s = unpacker->add(compressed(c, honest), 1'000'000, out);
            EXPECT_EQ(s.error, errc::none);
            EXPECT_TRUE(s.ended);
            EXPECT_TRUE(out.view() == honest);
        }
    }
}
TEST(compression, the_ratio_does_not_count_for_little_and_counts_streams_together) {
    auto packer = compressor::create(coding::raw_deflate);
    buffer blanks;
    ASSERT_EQ(packer->add(std::string(decompressor::ratio_floor_bytes, ' '), flush::finish, blanks),
              errc::none);
    auto unpacker = decompressor::create(coding::raw_deflate);
    buffer out;
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(unpacker->add(blanks.view(), 8'000'000, out).ended);
        unpacker->reset();
    }
    EXPECT_TRUE(unpacker->add(blanks.view(), 8'000'000, out).ended);
    unpacker->next_stream();
    unpacker->restart_ratio(200);
    EXPECT_TRUE(unpacker->add(blanks.view(), 8'000'000, out).ended);
    unpacker->next_stream();
    EXPECT_EQ(unpacker->add(blanks.view(), 8'000'000, out).error, errc::expands_too_much);
}
TEST(compression, no_output_wanted) {
    auto unpacker = decompressor::create(coding::gzip);
    buffer out;
    const std::string packed = compressed(coding::gzip, "hello");
    const auto s = unpacker->add(packed, 0, out);
    EXPECT_TRUE(s.more);
    EXPECT_EQ(out.size(), 0U);
    EXPECT_TRUE(unpacker->add(std::string_view(packed).substr(s.used), 5, out).more ||
                unpacker->add({}, 1, out).ended);
    EXPECT_EQ(out.view(), "hello");
}

}  // namespace wire::compression_test
