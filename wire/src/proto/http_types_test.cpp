// Methods, tokens, field values and lists in fields.
#include "wire/proto/http_types.hpp"

#include <gtest/gtest.h>

#include <string>

#include "char_tables.hpp"

namespace wire::http::http_types_test {

TEST(http_types, methods_are_case_sensitive) {
    EXPECT_EQ(method_from("DELETE"), method::delete_);
    EXPECT_EQ(method_from("get"), method::other);
    EXPECT_EQ(method_from(""), method::other);
    EXPECT_EQ(to_string(method::delete_), "DELETE");
    EXPECT_EQ(to_string(method::other), "");
}
TEST(http_types, tokens_and_values) {
    EXPECT_TRUE(is_token("X-a_9!~"));
    for (const auto bad : {"", "a b", "a:", "a\r", "\x80", "a(", "a/"})
        EXPECT_FALSE(is_token(bad)) << bad;
    EXPECT_TRUE(is_field_value(""));
    EXPECT_TRUE(is_field_value("a\tb \xFF"));
    for (const auto bad : {"\r", "a\nb", "\x7F", "\x1F"}) EXPECT_FALSE(is_field_value(bad));
    EXPECT_FALSE(is_field_value(std::string_view("\0", 1)));
}
TEST(http_types, control_characters_are_found_wherever_they_stand) {
    for (std::size_t size = 0; size < 50; ++size) {
        const std::string clean(size, '\xE9');
        EXPECT_EQ(detail::find_control(clean.data(), clean.data() + size), clean.data() + size);
        for (std::size_t at = 0; at < size; ++at) {
            for (int c = 0; c < 256; ++c) {
                std::string text = clean;
                text[at] = static_cast<char>(c);
                const bool bad = (c < 32 && c != '\t') || c == 127;
                ASSERT_EQ(detail::find_control(text.data(), text.data() + size),
                          text.data() + (bad ? at : size))
                    << c;
            }
        }
    }
}
TEST(http_types, lists) {
    EXPECT_TRUE(list_has_token("a, Close ,b", "close"));
    EXPECT_TRUE(list_has_token("close", "close"));
    EXPECT_TRUE(list_has_token(",,close", "close"));
    EXPECT_FALSE(list_has_token("closed, disclose", "close"));
    EXPECT_FALSE(list_has_token("", "close"));
    header_list headers;
    headers.push_back({"Connection", "a"});
    headers.push_back({"connection", "b, Upgrade"});
    EXPECT_TRUE(headers.has_token("CONNECTION", "upgrade"));
    EXPECT_EQ(headers.find("connection"), "a");
    EXPECT_EQ(headers.find("host"), std::nullopt);
    EXPECT_EQ(headers.find_only("connection"), std::nullopt);
    EXPECT_EQ(headers.find_only("host"), std::nullopt);
    headers.push_back({"Host", ""});
    EXPECT_EQ(headers.find_only("host"), "");
}
TEST(http_types, reasons) {
    EXPECT_EQ(reason_phrase(200), "OK");
    EXPECT_EQ(reason_phrase(431), "Request Header Fields Too Large");
    EXPECT_EQ(reason_phrase(299), "");
}

}  // namespace wire::http::http_types_test
