// Close codes, what a close frame's payload says, and the frames that are sent.
#include "wire/proto/ws_close.hpp"

#include <gtest/gtest.h>

#include <string>

#include "wire/proto/utf8.hpp"

namespace wire::ws::ws_close_test {

using namespace std::string_literals;

TEST(close, codes) {
    for (const int code : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014,
                           3000, 3999, 4000, 4999}) {
        EXPECT_TRUE(is_valid_close_code(static_cast<std::uint16_t>(code))) << code;
    }
    for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535}) {
        EXPECT_FALSE(is_valid_close_code(static_cast<std::uint16_t>(code))) << code;
    }
    EXPECT_EQ(close_code_for(errc::bad_utf8), 1007);
    EXPECT_EQ(close_code_for(errc::message_too_large), 1009);
    EXPECT_EQ(close_code_for(errc::bad_frame), 1002);
}
TEST(close, frames) {
    buffer out;
    append_close(out, 1000, "bye");
    EXPECT_EQ(out.view(), "\x88\x05\x03\xE8"s + "bye");
    out.clear();
    append_close(out, close_code::none_given, "ignored");
    EXPECT_EQ(out.view(), "\x88\x00"s);
    // A long reason ends before the character that would be cut.
    for (std::size_t ascii = 118; ascii < 124; ++ascii) {
        out.clear();
        append_close(out, 1000, std::string(ascii, 'a') + "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC");
        const std::string_view reason = out.view().substr(4);
        EXPECT_LE(reason.size(), 123U);
        EXPECT_GT(reason.size(), 120U);
        EXPECT_TRUE(is_utf8(reason)) << ascii;
    }
}

TEST(close, payloads) {
    close_payload got;
    EXPECT_EQ(parse_close("", got), errc::none);
    EXPECT_EQ(got.code, close_code::none_given);
    const std::string bye = "\x03\xE8"s + "bye";  // the reason is a view of it
    EXPECT_EQ(parse_close(bye, got), errc::none);
    EXPECT_EQ(got.code, 1000);
    EXPECT_EQ(got.reason, "bye");
    EXPECT_EQ(parse_close("\x03"s, got), errc::bad_close_code);
    EXPECT_EQ(parse_close("\x03\xED"s, got), errc::bad_close_code);  // 1005 is never sent
    EXPECT_EQ(parse_close("\x03\xE8\xFF"s, got), errc::bad_utf8);
}

}  // namespace wire::ws::ws_close_test
