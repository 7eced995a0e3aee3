#include "wire/proto/forwarded.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pieces.hpp"

namespace wire::http::forwarded_test {

// "for|by|host|proto" of each, or "malformed".
std::string elements(std::string_view field, std::size_t most = 10) {
    const testing::exact_copy copy(field);
    std::vector<forwarded_element> all;
    if (!parse_forwarded(copy, most, all)) return "malformed";
    std::string out;
    for (const auto& e : all) {
        for (const auto part : {e.from, e.by, e.host, e.proto}) out.append(part).append("|");
        out += "\n";
    }
    return out;
}

TEST(forwarded, elements) {
    EXPECT_EQ(elements("for=192.0.2.43"), "192.0.2.43||||\n");
    // The examples of RFC 7239 section 4.
    EXPECT_EQ(elements("for=\"_gazonk\""), "_gazonk||||\n");
    EXPECT_EQ(elements("For=\"[2001:db8:cafe::17]:4711\""), "[2001:db8:cafe::17]:4711||||\n");
    EXPECT_EQ(elements("for=192.0.2.60;proto=http;by=203.0.113.43"),
              "192.0.2.60|203.0.113.43||http|\n");
    EXPECT_EQ(elements("for=192.0.2.43, for=198.51.100.17"), "192.0.2.43||||\n198.51.100.17||||\n");
    EXPECT_EQ(
        elements("for=unknown;HOST=\"a.example:80\" ; proto=https;secret=\"x,y;z\"\t,,for=_b"),
        "unknown||a.example:80|https|\n_b||||\n");
    EXPECT_EQ(elements(""), "");
    EXPECT_EQ(elements(" , ;, "), "");
    EXPECT_EQ(elements("host=\"a\\\"b\""), "||a\\\"b||\n");
    EXPECT_EQ(elements("ext=1;other=2"), "||||\n");
    EXPECT_EQ(elements("for=\"\";host=a"), "||a||\n");
}
TEST(forwarded, malformed) {
    for (const char* field :
         {"for", "for=", "=a", "for=a b", "for = a", "for=[::1]", "for=1.2.3.4:80", "for=\"a",
          "for=\"a\\", "for=\"a\"b", "for=a;for=b", "for=\"\";for=b", "for=a\"b\"", "for=a/b",
          // One that would swallow what a proxy appends.
          "for=1.2.3.4;x=\", for=5.6.7.8", "for=1.2.3.4;x=\", for=\"[::1]\""})
        EXPECT_EQ(elements(field), "malformed") << field;
    EXPECT_EQ(elements("for=a,for=b", 1), "malformed");
    EXPECT_NE(elements("for=a,for=b", 2), "malformed");
}

TEST(forwarded, elements_from_the_right) {
    const auto all = [](std::string_view field) {
        std::string out;
        const testing::exact_copy copy(field);
        for (std::string_view left = copy; !left.empty();)
            out += "<" + std::string(take_last_forwarded(left)) + ">";
        return out;
    };
    EXPECT_EQ(all(""), "");
    EXPECT_EQ(all("for=a"), "<for=a>");
    EXPECT_EQ(all("for=a, for=b"), "< for=b><for=a>");
    EXPECT_EQ(all(",,"), "<><>");
    EXPECT_EQ(all("for=\"a, b\",c"), "<c><for=\"a, b\">");
    EXPECT_EQ(all("\", for=b"), "< for=b><\">");
    EXPECT_EQ(all("x=\"\\\",\", for=b"), "< for=b><x=\"\\\",\">");
    EXPECT_EQ(all("x=\"\\\\\",y"), "<y><x=\"\\\\\">");
    EXPECT_EQ(all("a,\"b"), "<a,\"b>");  // no comma is outside quotes, read from the right
}

std::string node(std::optional<forwarded_node> n) {
    if (!n) return "malformed";
    if (n->what == forwarded_node::kind::unknown) return "unknown";
    if (n->what == forwarded_node::kind::hidden) return "hidden";
    return std::string(n->at.v6 ? "v6" : "v4") + " " +
           std::to_string(n->at.bytes[n->at.v6 ? 15 : 3]) + " " + std::to_string(n->at.port);
}

TEST(forwarded, nodes) {
    EXPECT_EQ(node(parse_forwarded_node("192.0.2.1")), "v4 1 0");
    EXPECT_EQ(node(parse_forwarded_node("192.0.2.1:80")), "v4 1 80");
    EXPECT_EQ(node(parse_forwarded_node("192.0.2.1:_p")), "v4 1 0");
    EXPECT_EQ(node(parse_forwarded_node("[2001:db8::9]")), "v6 9 0");
    EXPECT_EQ(node(parse_forwarded_node("[2001:db8::9]:65535")), "v6 9 65535");
    EXPECT_EQ(node(parse_forwarded_node("unknown")), "unknown");
    EXPECT_EQ(node(parse_forwarded_node("Unknown:80")), "unknown");
    EXPECT_EQ(node(parse_forwarded_node("_hidden.-_9")), "hidden");
    EXPECT_EQ(node(parse_forwarded_node("_hidden:_port")), "hidden");
    for (const char* text :
         {"", "_", "_a b", "192.0.2.1:", "192.0.2.1:x", "192.0.2.1:65536", "192.0.2.1:_", "192.0.2",
          "[192.0.2.1]", "[::1", "::1", "[::1]80", "[::1]:", "[]", "localhost", "unknown2",
          " 192.0.2.1", "[fe80::1%eth0]", "192.0.2.1\\"})
        EXPECT_EQ(node(parse_forwarded_node(text)), "malformed") << text;
}
TEST(forwarded, entries_of_x_forwarded_for) {
    EXPECT_EQ(node(parse_x_forwarded_for("192.0.2.1")), "v4 1 0");
    EXPECT_EQ(node(parse_x_forwarded_for("192.0.2.1:80")), "v4 1 80");
    EXPECT_EQ(node(parse_x_forwarded_for("2001:db8::9")), "v6 9 0");
    EXPECT_EQ(node(parse_x_forwarded_for("[2001:db8::9]:80")), "v6 9 80");
    EXPECT_EQ(node(parse_x_forwarded_for("unknown")), "unknown");
    EXPECT_EQ(node(parse_x_forwarded_for("-")), "malformed");
}

}  // namespace wire::http::forwarded_test
