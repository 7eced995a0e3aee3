// URLs that are taken apart and URLs that are refused.
#include "wire/proto/url.hpp"

#include <gtest/gtest.h>

namespace wire::url_test {

std::string show(std::string_view text) {
    const auto u = parse_url(text);
    if (!u) return "refused";
    return u->scheme + " " + u->host + " " + std::to_string(u->port) + " " + u->target + " " +
           u->authority();
}

TEST(url, parts) {
    EXPECT_EQ(show("http://127.0.0.1:8080/a/b?c=d#e"),
              "http 127.0.0.1 8080 /a/b?c=d 127.0.0.1:8080");
    EXPECT_EQ(show("HTTP://Example.ORG"), "http example.org 80 / example.org");
    EXPECT_EQ(show("https://x/"), "https x 443 / x");
    EXPECT_EQ(show("https://x:80/"), "https x 80 / x:80");
    EXPECT_EQ(show("ws://x:80?q"), "ws x 80 /?q x");
    EXPECT_EQ(show("wss://[::1]:444/p"), "wss ::1 444 /p [::1]:444");
    EXPECT_EQ(show("http://[FE80::1]#f"), "http fe80::1 80 / [fe80::1]");
    EXPECT_EQ(show("http://x:/y"), "http x 80 /y x");
    EXPECT_TRUE(parse_url("wss://x")->secure());
    EXPECT_TRUE(parse_url("wss://x")->websocket());
    EXPECT_FALSE(parse_url("http://x")->secure());
}
TEST(url, refused) {
    for (const auto bad : {"", "x", "/a", "ftp://x/", "http:/x", "http:///a", "http://:80/",
                           "http://x:0/", "http://x:65536/", "http://x:a/", "http://u:p@x/",
                           "http://a b/", "http://x/a b", "http://x/\r\nA: b", "http://x/\xC3\xA9",
                           "http://[::1/", "http://[12]/", "http://x?\n"}) {
        EXPECT_EQ(show(bad), "refused") << bad;
    }
    EXPECT_EQ(parse_url("ftp://x/").error().message,
              "URL \"ftp://x/\": the scheme must be http, https, ws or wss");
}
TEST(percent_decode, decodes_or_refuses) {
    EXPECT_EQ(*percent_decode("a%20b%2Fc%c3%A9+"), "a b/c\xC3\xA9+");
    EXPECT_EQ(*percent_decode(""), "");
    for (const auto bad : {"%", "%4", "a%zz", "%4g", "100%"})
        EXPECT_FALSE(percent_decode(bad)) << bad;
}
TEST(canonical_path, decodes_once_or_refuses) {
    EXPECT_EQ(*canonical_path("/ech%6F"), "/echo");
    EXPECT_EQ(*canonical_path("/a%252Fb/%C3%A9+"), "/a%2Fb/\xC3\xA9+");
    EXPECT_EQ(*canonical_path("//a//.b/..."), "//a//.b/...");
    EXPECT_EQ(*canonical_path(""), "");
    for (const auto bad : {"/%zz", "/%2", "/a%2Fb", "/%00", "/..", "/a/%2e/b", "."})
        EXPECT_EQ(canonical_path(bad).code(), errc::bad_target) << bad;
}

}  // namespace wire::url_test
