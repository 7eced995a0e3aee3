#include "plan/json_path.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plan/reply_checks.hpp"

namespace wireload::json_path_test {

std::string at(std::string_view path, std::string_view text) {
    const auto parsed = json_path::parse(path);
    if (!parsed) return "no path";
    const auto answer = parsed->find(text);
    return !answer.valid ? "not JSON" : answer.value == nullptr ? "nothing" : answer.value->dump();
}

TEST(JsonPath, FindsWhatIsThere) {
    constexpr std::string_view text =
        R"( {"a":{"b":[ {"c":1}, {"c" : [2, 3]} ]}, "x/y~":true, "e":""} )";
    EXPECT_EQ(at("a.b[0].c", text), "1");
    EXPECT_EQ(at("a.b[1].c[1]", text), "3");
    EXPECT_EQ(at("a.b[1].c", text), "[2,3]");
    EXPECT_EQ(at("/a/b/1/c/0", text), "2");
    EXPECT_EQ(at("/x~1y~0", text), "true");
    EXPECT_EQ(at("e", text), "\"\"");
    EXPECT_EQ(at("[1][0]", "[0,[7]]"), "7");
    EXPECT_EQ(at("/1/0", R"({"1":[8]})"), "8");
    EXPECT_EQ(at("/1/0", "[0,[9]]"), "9");
}

TEST(JsonPath, SaysWhatIsNotThere) {
    EXPECT_EQ(at("a.b", R"({"a":{"c":1}})"), "nothing");
    EXPECT_EQ(at("a.b", R"({"a":[1]})"), "nothing");
    EXPECT_EQ(at("a[1]", R"({"a":[1]})"), "nothing");
    EXPECT_EQ(at("a", "7"), "nothing");
}

TEST(JsonPath, HoldsTheWholeTextToTheRules) {
    for (const char* text : {"", "{", R"({"a":1)", R"({"a":1}})", R"({"a":1,})", R"({"a":01})",
                             R"({"a":1} x)", "{\"a\":\"\xff\"}", R"({"a":1,"b":tru})"}) {
        EXPECT_EQ(at("a", text), "not JSON") << text;
    }
    EXPECT_EQ(at("a", R"({"a":1,"b":)" + std::string(100'000, '[')), "not JSON");
}

TEST(JsonPath, ReadsNamesWithEscapesAndTakesTheLastOfSeveral) {
    EXPECT_EQ(at("c", R"({"\u0063":9})"), "9");
    EXPECT_EQ(at("c", R"({"c":1,"c":2})"), "2");
    EXPECT_EQ(at("c.d", R"({"c":{"d":1},"c":2})"), "nothing");
}

TEST(JsonPath, RefusesWhatIsNoPath) {
    for (const char* path :
         {"", ".a", "a.", "a..b", "a[", "a[]", "a[x]", "a[0", "a]b", "/a~2", "/a~"})
        EXPECT_FALSE(json_path::parse(path)) << path;
}

// Whether --expect-json with the value `a` takes `b`.
bool same_json(const std::string& a, const std::string& b) {
    expectations asked;
    asked.json = {{"v", a}};
    const auto checks = std::get<reply_checks>(reply_checks::compile(asked));
    return !checks.message(R"({"v":)" + b + "}");
}

TEST(SameJson, ComparesValues) {
    EXPECT_TRUE(same_json("1", "1.0"));
    EXPECT_TRUE(same_json(R"({"a":1,"b":[2]})", R"({ "b": [2], "a": 1 })"));
    EXPECT_TRUE(same_json(R"("\u0063")", R"("c")"));
    EXPECT_FALSE(same_json("1", "\"1\""));
    EXPECT_FALSE(same_json("[1,2]", "[2,1]"));
}

}  // namespace wireload::json_path_test
