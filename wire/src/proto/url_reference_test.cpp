// The examples of RFC 3986 section 5.4, percent-encoding, and queries that grow.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "wire/proto/url.hpp"

namespace wire::url_reference_test {

using examples = std::vector<std::pair<const char*, const char*>>;

// RFC 3986 section 5.4.
constexpr const char* base = "http://a/b/c/d;p?q";

TEST(resolve_reference, normal_examples) {
    for (const auto& [reference, expected] : examples{
             {"g:h", "g:h"},
             {"g", "http://a/b/c/g"},
             {"./g", "http://a/b/c/g"},
             {"g/", "http://a/b/c/g/"},
             {"/g", "http://a/g"},
             {"//g", "http://g"},
             {"?y", "http://a/b/c/d;p?y"},
             {"g?y", "http://a/b/c/g?y"},
             {"#s", "http://a/b/c/d;p?q#s"},
             {"g#s", "http://a/b/c/g#s"},
             {"g?y#s", "http://a/b/c/g?y#s"},
             {";x", "http://a/b/c/;x"},
             {"g;x", "http://a/b/c/g;x"},
             {"g;x?y#s", "http://a/b/c/g;x?y#s"},
             {"", "http://a/b/c/d;p?q"},
             {".", "http://a/b/c/"},
             {"./", "http://a/b/c/"},
             {"..", "http://a/b/"},
             {"../", "http://a/b/"},
             {"../g", "http://a/b/g"},
             {"../..", "http://a/"},
             {"../../", "http://a/"},
             {"../../g", "http://a/g"},
         }) {
        EXPECT_EQ(resolve_reference(base, reference), expected) << reference;
    }
}
TEST(resolve_reference, abnormal_examples) {
    for (const auto& [reference, expected] : examples{
             {"../../../g", "http://a/g"},
             {"../../../../g", "http://a/g"},
             {"/./g", "http://a/g"},
             {"/../g", "http://a/g"},
             {"g.", "http://a/b/c/g."},
             {".g", "http://a/b/c/.g"},
             {"g..", "http://a/b/c/g.."},
             {"..g", "http://a/b/c/..g"},
             {"./../g", "http://a/b/g"},
             {"./g/.", "http://a/b/c/g/"},
             {"g/./h", "http://a/b/c/g/h"},
             {"g/../h", "http://a/b/c/h"},
             {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
             {"g;x=1/../y", "http://a/b/c/y"},
             {"g?y/./x", "http://a/b/c/g?y/./x"},
             {"g?y/../x", "http://a/b/c/g?y/../x"},
             {"g#s/./x", "http://a/b/c/g#s/./x"},
             {"g#s/../x", "http://a/b/c/g#s/../x"},
             {"http:g", "http:g"},  // strict
         }) {
        EXPECT_EQ(resolve_reference(base, reference), expected) << reference;
    }
}
TEST(resolve_reference, other_bases) {
    EXPECT_EQ(resolve_reference("http://a", "b"), "http://a/b");
    EXPECT_EQ(resolve_reference("http://a?q", ""), "http://a?q");
    EXPECT_EQ(resolve_reference("http://a/b#f", "c"), "http://a/c");
    EXPECT_EQ(resolve_reference("http://[::1]:80/x/y", "../z"), "http://[::1]:80/z");
    // No scheme begins with a digit.
    EXPECT_EQ(resolve_reference("http://a/b", "1:2"), "http://a/1:2");
    EXPECT_EQ(resolve_reference("http://a/b?", ""), "http://a/b?");
    EXPECT_EQ(resolve_reference("https://a/b", "//c/d"), "https://c/d");
    EXPECT_EQ(resolve_reference("http://a/b", "http://c/../d"), "http://c/d");
}
TEST(parse_url_to_request, removes_dot_segments_of_the_path_only) {
    const auto target_of = [](std::string_view text) {
        const auto parsed = parse_url_to_request(text);
        EXPECT_TRUE(parsed) << text;
        return parsed ? parsed->target : "";
    };
    EXPECT_EQ(target_of("http://a/b/../c?x=/../y"), "/c?x=/../y");
    EXPECT_EQ(target_of("http://a/../.."), "/");
    EXPECT_EQ(target_of("ws://a/./b/."), "/b/");
    EXPECT_EQ(target_of("http://a/.well-known/x..y"), "/.well-known/x..y");
    EXPECT_EQ(target_of("http://a/b//c"), "/b//c");
    EXPECT_FALSE(parse_url_to_request("/../b"));
}

TEST(percent_encode, keeps_only_what_is_unreserved) {
    EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
    EXPECT_EQ(percent_encode("a b/&=+%\xC3\xA9\n"), "a%20b%2F%26%3D%2B%25%C3%A9%0A");
    EXPECT_EQ(*percent_decode(percent_encode("\x01?#[]@!$'()*,;:")), "\x01?#[]@!$'()*,;:");
}
TEST(with_query, adds_where_the_query_ends) {
    EXPECT_EQ(with_query("http://x/find", "q", "a&b"), "http://x/find?q=a%26b");
    EXPECT_EQ(with_query("http://x/?a=1", "b c", ""), "http://x/?a=1&b%20c=");
    EXPECT_EQ(with_query("http://x/?", "a", "1"), "http://x/?a=1");
    EXPECT_EQ(with_query("http://x/?a&", "b", "1"), "http://x/?a&b=1");
    EXPECT_EQ(with_query("http://x/y#f?g", "a", "1"), "http://x/y?a=1#f?g");
}

}  // namespace wire::url_reference_test
