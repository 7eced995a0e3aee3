#include "plan/count_reply.hpp"

#include <string>

#include <gtest/gtest.h>

namespace wireload::count_reply_test {

TEST(CountReply, ReadsWhatServersSend) {
    EXPECT_EQ(parse_count_reply(R"({"c":7,"ts":1700000000})"), 7U);
    EXPECT_EQ(parse_count_reply(R"({"c":0,"ts":1700000000.25})"), 0U);
    EXPECT_EQ(parse_count_reply(R"( { "ts" : 1.7e9 , "c" : 123456789012 } )"), 123456789012U);
    EXPECT_EQ(
        parse_count_reply(
            R"({"ts":-1,"more":{"c":[1,"x\"\u00e9",null,true,{}]},"c":18446744073709551615})"),
        18446744073709551615U);
}

TEST(CountReply, RefusesTheRest) {
    for (const char* text : {
             "",
             "{}",
             "[]",
             "7",
             R"({"c":7})",
             R"({"ts":1})",
             R"({"c":"7","ts":1})",
             R"({"c":7,"ts":"1"})",
             R"({"c":7.0,"ts":1})",
             R"({"c":-7,"ts":1})",
             R"({"c":07,"ts":1})",
             R"({"c":7,"ts":1)",
             R"({"c":7,"ts":1}})",
             R"({"c":7,"ts":1} x)",
             R"({"c":7,"c":7,"ts":1})",
             R"({"c":7,"ts":1,})",
             R"({"c":7 "ts":1})",
             R"({c:7,"ts":1})",
             R"({"c":7,"ts":1.})",
             R"({"c":7,"ts":1e})",
             R"({"c":7,"ts":null})",
             R"({"c":18446744073709551616,"ts":1})",
             R"({"c":7,"ts":1,"x":"\q"})",
             R"({"c":7,"ts":1,"x":"\u12g4"})",
             R"({"c":7,"ts":1,"x":tru})",
             R"({"c":7,"ts":1,"x":[1,]})",
         }) {
        EXPECT_FALSE(parse_count_reply(text).has_value()) << text;
    }
    EXPECT_FALSE(parse_count_reply(R"({"c":7,"ts":1,"x":)" + std::string(10'000, '[')).has_value());
    EXPECT_FALSE(parse_count_reply(std::string("{\"c\":7,\"ts\":1,\"x\":\"a\nb\"}")).has_value());
}

// Every cut of a right reply is wrong: nothing is taken for granted.
TEST(CountReply, RefusesEveryCut) {
    const std::string whole = R"({"c":7,"ts":1.5e3})";
    for (std::size_t n = 0; n < whole.size(); ++n)
        EXPECT_FALSE(parse_count_reply(whole.substr(0, n)).has_value()) << n;
}

}  // namespace wireload::count_reply_test
