// Cookies read from requests, and which Set-Cookie fields are refused.
#include "wire/proto/cookies.hpp"

#include <gtest/gtest.h>

namespace wire::http::cookies_test {

std::string read(const std::vector<std::string>& fields, const limits& l = {}) {
    header_list list;
    for (const auto& f : fields) list.push_back({"cOOkie", f});
    list.push_back({"Set-Cookie", "not=this"});
    const auto cookies = cookie_list::parse(list, l);
    if (!cookies) return std::string(to_string(cookies.code()));
    std::string out;
    for (const auto& [name, value] : *cookies)
        out += "[" + std::string(name) + "|" + std::string(value) + "]";
    return out;
}

TEST(cookie_list, read_tolerantly) {
    EXPECT_EQ(read({}), "");
    EXPECT_EQ(read({"a=1; b=2"}), "[a|1][b|2]");
    EXPECT_EQ(read({"a=1;b=2;", "c=3"}), "[a|1][b|2][c|3]");
    EXPECT_EQ(read({"; =x; y ; ;a = b c=d ;q=\"1\";e="}), "[a|b c=d][q|\"1\"][e|]");
}
TEST(cookie_list, the_first_of_a_name) {
    header_list list;
    list.push_back({"Cookie", "a=deep; A=other; a=shallow"});
    const auto cookies = cookie_list::parse(list);
    ASSERT_TRUE(cookies);
    EXPECT_EQ(cookies->find("a"), "deep");
    EXPECT_EQ(cookies->find("b"), std::nullopt);
    EXPECT_EQ(cookies->size(), 3U);
}
TEST(cookie_list, bounded) {
    limits l;
    l.max_cookies = 2;
    EXPECT_EQ(read({"a=1; x; b=2"}, l), "[a|1][b|2]");
    EXPECT_EQ(read({"a=1; b=2", "c=3"}, l), "too many cookies");
}

std::string written(set_cookie c) {
    const auto text = c.text();
    return text ? *text : std::string(to_string(text.code()));
}

TEST(set_cookie, with_all_its_attributes) {
    EXPECT_EQ(written({.name = "a", .value = "1"}), "a=1");
    EXPECT_EQ(written({.name = "a", .value = ""}), "a=");
    EXPECT_EQ(written({.name = "id",
                       .value = "\"x\"",
                       .path = "/a b",
                       .domain = "Example.org",
                       .max_age = std::chrono::hours(1),
                       .expires = std::chrono::sys_seconds(std::chrono::seconds(784111777)),
                       .secure = true,
                       .http_only = true,
                       .same_site = same_site::lax}),
              "id=\"x\"; Path=/a b; Domain=Example.org; Max-Age=3600; Expires=Sun, 06 Nov 1994 "
              "08:49:37 GMT; Secure; HttpOnly; SameSite=Lax");
    EXPECT_EQ(written({.name = "a",
                       .value = "",
                       .max_age = std::chrono::seconds(0),
                       .same_site = same_site::strict}),
              "a=; Max-Age=0; SameSite=Strict");
    EXPECT_EQ(written({.name = "a", .value = "", .secure = true, .same_site = same_site::none}),
              "a=; Secure; SameSite=None");
}
TEST(set_cookie, what_would_split_the_field_or_be_misread) {
    for (const std::string value : {"a;b", "a b", "a,b", "a\\b", "a\"b", "\"a",
                                    "a\r\nSet-Cookie: b=1", "a\tb", "\x7F", "\xC3\xA9"}) {
        EXPECT_EQ(written({.name = "a", .value = value}), "malformed cookie") << value;
    }
    for (const std::string name : {"", "a=b", "a b", "a;", "a\r\n", "\"a\""}) {
        EXPECT_EQ(written({.name = name, .value = "x"}), "malformed cookie") << name;
    }
    for (const std::string path : {"a", "/;", "/\r\n", "/\x7F"}) {
        EXPECT_EQ(written({.name = "a", .value = "x", .path = path}), "malformed cookie") << path;
    }
    for (const std::string domain : {"a;b", "a b", "a:80", "\n"}) {
        EXPECT_EQ(written({.name = "a", .value = "x", .domain = domain}), "malformed cookie")
            << domain;
    }
}
TEST(set_cookie, rules_of_attributes_and_prefixes) {
    EXPECT_EQ(written({.name = "a", .value = "", .same_site = same_site::none}),
              "malformed cookie");
    EXPECT_EQ(written({.name = "__Secure-a", .value = ""}), "malformed cookie");
    EXPECT_EQ(written({.name = "__Secure-a", .value = "", .secure = true}), "__Secure-a=; Secure");
    EXPECT_EQ(written({.name = "__Host-a", .value = "", .path = "/", .secure = true}),
              "__Host-a=; Path=/; Secure");
    EXPECT_EQ(written({.name = "__Host-a", .value = "", .path = "/"}), "malformed cookie");
    EXPECT_EQ(written({.name = "__host-a", .value = "", .secure = true}), "malformed cookie");
    EXPECT_EQ(written({.name = "__Host-a", .value = "", .path = "/x", .secure = true}),
              "malformed cookie");
    EXPECT_EQ(
        written({.name = "__Host-a", .value = "", .path = "/", .domain = "a.b", .secure = true}),
        "malformed cookie");
    const auto bad = set_cookie{.name = "a", .value = "b c"}.text();
    EXPECT_EQ(bad.error().message,
              "cookie \"a\": the value holds a character that must be encoded");
}

}  // namespace wire::http::cookies_test
