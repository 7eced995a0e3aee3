#include "plan/request_file.hpp"

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

namespace wireload::request_file_test {

class RequestFile : public ::testing::Test {
protected:
    std::variant<std::vector<request_options>, std::string> read(
        const std::string& content, const request_options& defaults = {}) {
        std::ofstream(path_) << content;
        return read_request_file(path_, defaults);
    }
    std::vector<request_options> good(const std::string& content,
                                      const request_options& defaults = {}) {
        auto out = read(content, defaults);
        if (const auto* wrong = std::get_if<std::string>(&out)) throw std::runtime_error(*wrong);
        return std::get<std::vector<request_options>>(std::move(out));
    }
    std::string refusal(const std::string& content) {
        auto out = read(content);
        const auto* wrong = std::get_if<std::string>(&out);
        if (wrong == nullptr) return "accepted";
        EXPECT_TRUE(wrong->starts_with(path_)) << *wrong;
        return wrong->substr(path_.size());
    }
    void TearDown() override { std::remove(path_.c_str()); }

    // Tests of this class run side by side.
    std::string path_ =
        testing::TempDir() + "wireload_request_file_test_" + std::to_string(getpid()) + ".json";
};

TEST_F(RequestFile, ReadsEveryKey) {
    std::ofstream(testing::TempDir() + "wireload_request_file_test_body") << "from a file";
    const auto all = good(R"([
        // The commonest.
        {"path": "/a", "weight": 3, "expect": {"status": 200, "body": "x", "length": 1, "match": "x", "header": ["A", "B: c"]}},
        {"url": "http://h/b", "method": "PUT", "headers": {"X-One": "1"}, "body": {"n": 1}, "expect": {"status": "2xx,404", "json": {"a.b": 1, "c": "d"}}},
        {"path": "/c", "body_file": "wireload_request_file_test_body", "expect": {"json": "a=1", "match": ["a", "b"], "sha256": "00"}}
    ])");
    std::remove((testing::TempDir() + "wireload_request_file_test_body").c_str());
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].path, "/a");
    EXPECT_EQ(all[0].method, "GET");
    EXPECT_EQ(all[0].weight, 3U);
    EXPECT_EQ(all[0].expect.body, "x");
    EXPECT_EQ(all[0].expect.length, 1U);
    EXPECT_EQ(all[0].expect.match, std::vector<std::string>{"x"});
    EXPECT_EQ(all[0].expect.headers, (std::vector<std::string>{"A", "B: c"}));
    EXPECT_FALSE(all[0].expect.status.contains(201));
    EXPECT_EQ(all[1].url, "http://h/b");
    EXPECT_EQ(all[1].method, "PUT");
    EXPECT_EQ(all[1].body, "{\"n\":1}");
    EXPECT_TRUE(all[1].expect.status.contains(404));
    EXPECT_EQ(all[1].expect.json, (std::vector<json_expectation>{{"a.b", "1"}, {"c", "\"d\""}}));
    EXPECT_EQ(all[2].method, "POST");
    EXPECT_EQ(all[2].body, "from a file");
    EXPECT_EQ(all[2].expect.json, (std::vector<json_expectation>{{"a", "1"}}));
}

TEST_F(RequestFile, APlaceInJsonMayHaveAnEqualsSign) {
    const auto all = good(R"([{"path": "/a", "expect": {"json": {"a=b.c": "x=y", "/d=/0": 1}}},
                 {"path": "/b", "expect": {"json": ["a=b=c", "d"]}}])");
    EXPECT_EQ(all[0].expect.json,
              (std::vector<json_expectation>{{"a=b.c", "\"x=y\""}, {"/d=/0", "1"}}));
    EXPECT_EQ(all[1].expect.json, (std::vector<json_expectation>{{"a", "b=c"}, {"d", {}}}));
}

TEST_F(RequestFile, TheCommandLineGivesTheDefaults) {
    request_options defaults;
    defaults.method = "DELETE";
    defaults.headers = {{"X-One", "1"}, {"X-Two", "2"}};
    defaults.expect.body = "gone";
    const auto all = good(
        R"([{"path": "/a", "headers": {"x-two": "3"}}, {"path": "/b", "body": "x"}])", defaults);
    EXPECT_EQ(all[0].method, "DELETE");
    EXPECT_EQ(all[1].method, "DELETE");
    const std::vector<std::pair<std::string, std::string>> headers = {{"X-One", "1"},
                                                                      {"x-two", "3"}};
    EXPECT_EQ(all[0].headers, headers);
    EXPECT_EQ(all[0].expect.body, "gone");
}

TEST_F(RequestFile, ErrorsSayFileEntryAndKey) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": not JSON: parse error at line 2",
                        refusal("[\n{]"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "number overflow parsing '1e400'",
                        refusal("[{\"path\":\"/\",\"weight\":1e400}]"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": expected a list of requests", refusal("{}"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": expected a list of requests", refusal("[]"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0]: expected an object", refusal("[7]"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [1]: give either",
                        refusal(R"([{"path": "/"}, {}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0]: give either",
                        refusal(R"([{"path": "/", "url": "http://h/"}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        ": [0].path: expected a path that begins with /, got \"x\"",
                        refusal(R"([{"path": "x"}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0].pth: no such key; there are url, path",
                        refusal(R"([{"pth": "/"}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        ": [0].weight: expected a whole number from 1 to 1000, got 0",
                        refusal(R"([{"path": "/", "weight": 0}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0].weight: expected",
                        refusal(R"([{"path": "/", "weight": 1.5}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0].method: give a method",
                        refusal(R"([{"path": "/", "method": "a b"}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        ": [0].headers.A: expected a text or a list of texts, got 1",
                        refusal(R"([{"path": "/", "headers": {"A": 1}}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "itself",
                        refusal(R"([{"path": "/", "headers": {"connection": "close"}}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "give one of them",
                        refusal(R"([{"path": "/", "body": "x", "body_file": "y"}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0].body_file: ",
                        refusal(R"([{"path": "/", "body_file": "no-such-file"}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0].expect.status: expected a status",
                        refusal(R"([{"path": "/", "expect": {"status": 99}}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0].expect.stauts: no such key",
                        refusal(R"([{"path": "/", "expect": {"stauts": 200}}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        ": [0].expect.match: expected a text or a list of texts",
                        refusal(R"([{"path": "/", "expect": {"match": [1]}}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        ": [0].expect.sha256: expected 64 hexadecimal digits, got \"\"",
                        refusal(R"([{"path": "/", "expect": {"sha256": ""}}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0].expect: \"body\" and \"body_file\" say",
                        refusal(R"([{"path": "/", "expect": {"body": "x", "body_file": "y"}}])"));
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "cannot read",
                        std::get<std::string>(read_request_file("/no/such/file", {})));
}

TEST_F(RequestFile, AFieldMayBeSentTwice) {
    request_options defaults;
    defaults.headers = {{"X-One", "1"}, {"accept", "*/*"}};
    const auto all = good(
        R"([{"path": "/", "headers": {"Accept": ["text/plain", "text/html"], "X-A": "1", "x-a": "2"}}])",
        defaults);
    const std::vector<std::pair<std::string, std::string>> headers = {{"X-One", "1"},
                                                                      {"Accept", "text/plain"},
                                                                      {"Accept", "text/html"},
                                                                      {"X-A", "1"},
                                                                      {"x-a", "2"}};
    EXPECT_EQ(all[0].headers, headers);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, ": [0].headers: a request has one Host",
                        refusal(R"([{"path": "/", "headers": {"Host": "a", "host": "b"}}])"));
}

// JSON libraries keep one of the two, and say nothing.
TEST_F(RequestFile, AKeyStandsOnceInAnObject) {
    for (const char* text : {R"([{"path": "/", "path": "/x"}])",
                             R"([{"path": "/", "headers": {"Cookie": "a", "Cookie": "b"}}])",
                             R"([{"path": "/", "body": [{"n": {"a": 1}}, {"b": 1, "b": 2}]}])"})
        EXPECT_PRED_FORMAT2(testing::IsSubstring, "stands twice in one object", refusal(text));
    EXPECT_EQ(good(R"([{"path": "/", "body": [{"a": {"a": 1}}, {"a": 2}]}, {"path": "/"}])").size(),
              2U);
}

}  // namespace wireload::request_file_test
