#include "plan/reply_checks.hpp"

#include <gtest/gtest.h>

namespace wireload::reply_checks_test {

using kind = reply_checks::failure::kind;

reply_checks made(const expectations& e) {
    auto out = reply_checks::compile(e);
    if (const auto* wrong = std::get_if<std::string>(&out)) throw std::runtime_error(*wrong);
    return std::get<reply_checks>(std::move(out));
}

std::string problem(const expectations& e) {
    auto out = reply_checks::compile(e);
    const auto* wrong = std::get_if<std::string>(&out);
    return wrong == nullptr ? "accepted" : *wrong;
}

// The verdict must not depend on how the body is cut.
std::optional<kind> verdict(const reply_checks& checks, std::string_view body, int status = 200,
                            std::vector<wire::http::header> headers = {}) {
    std::vector<std::optional<kind>> out;
    for (const std::size_t size : {body.size() + 1, std::size_t{1}, std::size_t{7}}) {
        wire::http::response_head head;
        for (const auto& h : headers) head.headers.push_back(h);
        reply_checks::progress p;
        checks.head(p, head);
        for (std::size_t i = 0; i < body.size(); i += size) checks.body(p, body.substr(i, size));
        const auto failed = checks.finish(p, status);
        out.push_back(failed ? std::optional(failed->what) : std::nullopt);
        if (failed) {
            EXPECT_FALSE(checks.expected(*failed).empty());
        }
    }
    EXPECT_EQ(out[0], out[1]);
    EXPECT_EQ(out[0], out[2]);
    return out[0];
}

// The body that is right depends on the request, and pieces of the reply may be cut anywhere.
TEST(ReplyChecks, BodyWithValuesOfTheRequest) {
    const auto request =
        std::get<text_template>(text_template::parse("GET /{random} HTTP/1.1 {counter}"));
    expectations e;
    e.body = "{counter} {random} {{counter}";
    auto compiled = reply_checks::compile(e, &request);
    const auto& checks = std::get<reply_checks>(compiled);
    ASSERT_TRUE(checks.varies());
    const template_values third{99, 3};
    const std::string sent = request.text(third);
    const std::string drawn = sent.substr(5, sent.find(' ', 5) - 5);
    const auto verdict_on = [&](const std::string& body, std::size_t size) {
        reply_checks::progress p;
        checks.begin(p, third);
        for (std::size_t i = 0; i < body.size(); i += size)
            checks.body(p, std::string_view(body).substr(i, size));
        return checks.finish(p, 200);
    };
    const std::string right = "3 " + drawn + " {counter}";
    for (const std::size_t size : {1UL, 3UL, 100UL}) {
        EXPECT_FALSE(verdict_on(right, size));
        EXPECT_TRUE(verdict_on("2" + right.substr(1), size));
        EXPECT_TRUE(verdict_on(right + "x", size));
        EXPECT_TRUE(verdict_on(right.substr(0, right.size() - 1), size));
        EXPECT_TRUE(verdict_on("", size));
    }
    EXPECT_NE(checks.expected(third).find(right), std::string::npos);

    e.body = "{uuid}";
    const auto refused = reply_checks::compile(e, &request);
    ASSERT_TRUE(std::holds_alternative<std::string>(refused));
    EXPECT_TRUE(std::get<std::string>(refused).starts_with("--expect-body"));
    e.body = "{\"a\": 1}";
    const auto plain = reply_checks::compile(e, &request);
    EXPECT_FALSE(std::get<reply_checks>(plain).varies());
}

TEST(ReplyChecks, Status) {
    expectations e;
    EXPECT_EQ(verdict(made(e), "x"), std::nullopt);
    EXPECT_EQ(verdict(made(e), "x", 404), kind::status);
    e.status = *status_set::parse("404");
    EXPECT_EQ(verdict(made(e), "x", 404), std::nullopt);
}

TEST(ReplyChecks, BodyAndLength) {
    expectations e;
    e.body = "hello, world";
    EXPECT_EQ(verdict(made(e), "hello, world"), std::nullopt);
    for (const char* wrong : {"", "hello, worlD", "hello, worl", "hello, world!"})
        EXPECT_EQ(verdict(made(e), wrong), kind::body) << wrong;
    e = {};
    e.length = 3;
    EXPECT_EQ(verdict(made(e), "abc"), std::nullopt);
    EXPECT_EQ(verdict(made(e), "abcd"), kind::length);
    e.length = 0;
    EXPECT_EQ(verdict(made(e), ""), std::nullopt);
}

TEST(ReplyChecks, Sha256) {
    if (!sha256::available()) GTEST_SKIP() << "built without OpenSSL";
    expectations e;
    // FIPS 180-4's example: "abc".
    e.sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015AD";
    EXPECT_EQ(verdict(made(e), "abc"), std::nullopt);
    EXPECT_EQ(verdict(made(e), "abd"), kind::sha256);
    e.sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";  // of nothing
    EXPECT_EQ(verdict(made(e), ""), std::nullopt);
    EXPECT_EQ(made(e).message("x")->what, kind::sha256);
}

TEST(ReplyChecks, Match) {
    expectations e;
    e.match = {"^id=[0-9]+$", "7"};
    EXPECT_EQ(verdict(made(e), "id=17"), std::nullopt);
    EXPECT_EQ(verdict(made(e), "id=x7"), kind::match);
    wire::http::response_head head;
    reply_checks::progress p;
    const reply_checks checks = made(e);
    checks.body(p, "id=1");
    EXPECT_EQ(checks.finish(p, 200)->index, 1U);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--expect-match",
                        checks.expected(*checks.finish(p, 200)));
}

TEST(ReplyChecks, WhatIsKeptOfABodyIsBounded) {
    expectations e;
    e.match = {"^a+$"};
    const reply_checks checks = made(e);
    reply_checks::progress p;
    const std::string piece(64 * 1024, 'a');
    for (int i = 0; i < 64; ++i) checks.body(p, piece);
    EXPECT_EQ(p.kept.size(), reply_checks::most_kept);
    EXPECT_EQ(p.body_bytes, 64 * piece.size());
    EXPECT_FALSE(checks.finish(p, 200));
    // JSON cannot be judged by its beginning.
    e = {};
    e.json = {{"a", {}}};
    const std::string big = R"({"a":")" + std::string(reply_checks::most_kept, 'x') + R"("})";
    EXPECT_EQ(verdict(made(e), R"({"a":1})"), std::nullopt);
    EXPECT_EQ(made(e).message(big)->what, kind::json);
}

// Backtracking engines take exponential time for this one.
TEST(ReplyChecks, HostileTextTakesLinearTime) {
    expectations e;
    e.match = {"^(a+)+$"};
    EXPECT_EQ(made(e).message(std::string(200'000, 'a') + "!")->what, kind::match);
}

TEST(ReplyChecks, Json) {
    expectations e;
    e.json = {
        {"user.name", "bob"}, {"items[0].id", "7"}, {"ok", "true"}, {"n", "\"3\""}, {"there", {}}};
    EXPECT_EQ(
        verdict(made(e),
                R"({"user":{"name":"bob"},"items":[{"id":7.0}],"ok":true,"n":"3","there":null})"),
        std::nullopt);
    for (const char* wrong :
         {R"({"user":{"name":"eve"},"items":[{"id":7}],"ok":true,"n":"3","there":0})",
          R"({"user":{"name":"bob"},"items":[{"id":7}],"ok":true,"n":3,"there":0})",
          R"({"user":{"name":"bob"},"items":[{"id":7}],"ok":true,"n":"3"})", "hello", ""}) {
        EXPECT_EQ(verdict(made(e), wrong), kind::json) << wrong;
    }
}

TEST(ReplyChecks, JsonOfNamesWithAnEqualsSign) {
    expectations e;
    e.json = {{"a=b", "\"c=d\""}, {"/e=/0", {}}};
    EXPECT_EQ(verdict(made(e), R"({"a=b":"c=d","e=":[1]})"), std::nullopt);
    EXPECT_EQ(verdict(made(e), R"({"a":"b=c","e=":[1]})"), kind::json);
    EXPECT_EQ(json_expectation::parse("a=b=c"), (json_expectation{"a", "b=c"}));
}

TEST(ReplyChecks, Headers) {
    expectations e;
    e.headers = {"X-One", "content-type: text/plain*", "X-Two: b"};
    const reply_checks checks = made(e);
    EXPECT_EQ(verdict(checks, "", 200,
                      {{"x-one", ""},
                       {"Content-Type", "text/plain; charset=utf-8"},
                       {"X-Two", "a"},
                       {"X-Two", "b"}}),
              std::nullopt);
    EXPECT_EQ(
        verdict(checks, "", 200, {{"x-one", ""}, {"Content-Type", "text/plain"}, {"X-Two", "bb"}}),
        kind::header);
    EXPECT_EQ(verdict(checks, "", 200, {{"Content-Type", "text/plain"}, {"X-Two", "b"}}),
              kind::header);
}

TEST(ReplyChecks, SaysWhatIsWrongWithACheck) {
    expectations e;
    e.match = {"(a"};
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "--expect-match '(a': missing )", problem(e));
    e.match = {"(?=a)"};
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "look-around", problem(e));
    e = {};
    e.sha256 = "abc";
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        sha256::available() ? "64 hexadecimal digits" : "OpenSSL", problem(e));
    e = {};
    e.json = {{"a..b", "1"}};
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "path=value", problem(e));
    e = {};
    e.headers = {"not a name: x"};
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "'Name: value'", problem(e));
}

TEST(StatusSet, HasWhatAStatusLineMayHave) {
    const auto set = status_set::parse("200,999,6xx");
    ASSERT_TRUE(set);
    for (const int status : {200, 600, 699, 999}) EXPECT_TRUE(set->contains(status)) << status;
    for (const int status : {0, 99, 100, 201, 599, 700, 998, 1000})
        EXPECT_FALSE(set->contains(status)) << status;
    for (const char* text : {"", "20", "099", "0xx", "1000", "200,", "2x0"})
        EXPECT_FALSE(status_set::parse(text)) << text;
}

}  // namespace wireload::reply_checks_test
