// Queries and forms, repeated names, and broken percent-encoding.
#include "wire/proto/parameters.hpp"

#include <gtest/gtest.h>

#include "pieces.hpp"

namespace wire::http::parameters_test {

std::string shown(std::string_view text, const limits& l = {}) {
    const testing::exact_copy copy(text);
    const auto p = parameters::parse(copy, l);
    if (!p) return std::string(to_string(p.code()));
    std::string out;
    for (const auto& [name, value] : *p) out += "[" + name + "|" + value + "]";
    return out;
}

TEST(parameters, as_browsers_write_them) {
    EXPECT_EQ(shown(""), "");
    EXPECT_EQ(shown("a=1&b=two+words&c=%41%2b%26%3D"), "[a|1][b|two words][c|A+&=]");
    EXPECT_EQ(shown("a&b=&=c&&&=&a=b=c"), "[a|][b|][|c][|][a|b=c]");
    EXPECT_EQ(shown("%61+b=%C3%A9%00"), "[a b|\xC3\xA9" + std::string(1, '\0') + "]");
}
TEST(parameters, malformed_escapes) {
    for (const auto text :
         {"%", "a=%", "a=%4", "a=%4g", "a=%g4", "%zz=1", "a=1&b=%", "%4=1", "a=%%41"}) {
        EXPECT_EQ(shown(text), "malformed percent-encoding") << text;
    }
}
TEST(parameters, bounded) {
    limits l;
    l.max_parameters = 3;
    EXPECT_EQ(shown("a&b&&c", l), "[a|][b|][c|]");
    EXPECT_EQ(shown("a&b&c&d", l), "too many parameters");
    std::string many;
    for (int i = 0; i < 1001; ++i) many += "a=1&";
    EXPECT_EQ(shown(many), "too many parameters");
}
TEST(parameters, found_by_name) {
    const auto p = parameters::parse("tag=a&q=x+y&tag=b");
    ASSERT_TRUE(p);
    EXPECT_EQ(p->size(), 3U);
    EXPECT_EQ(p->find("tag"), "a");
    EXPECT_EQ(p->find("Tag"), std::nullopt);
    EXPECT_EQ(p->get("q"), "x y");
    EXPECT_EQ(p->get("page", "1"), "1");
    EXPECT_EQ(p->all("tag"), (std::vector<std::string_view>{"a", "b"}));
    EXPECT_TRUE(p->all("none").empty());
}

}  // namespace wire::http::parameters_test
