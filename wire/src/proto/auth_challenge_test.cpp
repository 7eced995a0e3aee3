// Challenges: where one ends and the next begins, quoted strings, and what is malformed.
#include "auth_challenge.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wire::http::detail {
namespace {

// "scheme(name=value;name=value) scheme()"; "malformed".
std::string show(std::string_view field) {
    std::vector<auth_challenge> found;
    if (!parse_auth_challenges(field, found)) {
        EXPECT_TRUE(found.empty());
        return "malformed";
    }
    std::string out;
    for (const auto& c : found) {
        if (!out.empty()) out += " ";
        out += std::string(c.scheme) + "(";
        for (const auto& p : c.params) {
            if (&p != c.params.data()) out += ";";
            out += std::string(p.name) + "=" + *c.param(p.name);
        }
        out += ")";
    }
    return out;
}

TEST(auth_challenges, one) {
    EXPECT_EQ(show("Basic realm=\"a b\""), "Basic(realm=a b)");
    EXPECT_EQ(show("Digest realm=r,nonce = \"n\" ,\tstale=TRUE"),
              "Digest(realm=r;nonce=n;stale=TRUE)");
    EXPECT_EQ(show("Negotiate"), "Negotiate()");
    EXPECT_EQ(show("Negotiate YWJj=="), "Negotiate()");
    EXPECT_EQ(show("Negotiate\t-._~+/09Az"), "Negotiate()");
    // A token68, by the grammar.
    EXPECT_EQ(show("Digest nonce"), "Digest()");
    EXPECT_EQ(show("Digest realm=,"), "Digest()");
    EXPECT_EQ(show(""), "");
    EXPECT_EQ(show(" , ,"), "");
}
TEST(auth_challenges, several_in_one_field) {
    // RFC 9110 section 11.6.1.
    EXPECT_EQ(show("Basic realm=\"simple\", Newauth realm=\"apps\", type=1, title=\"Login to "
                   "\\\"apps\\\"\""),
              "Basic(realm=simple) Newauth(realm=apps;type=1;title=Login to \"apps\")");
    EXPECT_EQ(show("Negotiate, NTLM ,, Basic realm=r"), "Negotiate() NTLM() Basic(realm=r)");
    EXPECT_EQ(show("Negotiate YWJj=, Digest realm=\"a\", nonce=\"b\""),
              "Negotiate() Digest(realm=a;nonce=b)");
    EXPECT_EQ(show("A x=\",B y=\", B z=1"), "A(x=,B y=) B(z=1)");
}
TEST(auth_challenges, malformed) {
    for (const char* bad :
         {"=", "realm=\"r\"", "Digest realm=\"r", "Digest realm=\"r\\",
          "Digest realm=\"r\" nonce=\"n\"", "Digest realm=\"r\"x", "Digest \"r\"", "Digest=r",
          "Di\"gest", "Digest realm=r, Realm=s", "Digest a==b", "Digest realm=r;nonce=n"})
        EXPECT_EQ(show(bad), "malformed") << bad;
}
TEST(auth_challenges, have_a_bound_on_parameters) {
    std::string field = "Digest a0=0";
    for (int i = 1; i < 32; ++i) field += ",a" + std::to_string(i) + "=0";
    EXPECT_NE(show(field), "malformed");
    EXPECT_EQ(show(field + ",b=0"), "malformed");
}
TEST(auth_challenges, what_a_malformed_field_held_is_dropped_and_nothing_else) {
    std::vector<auth_challenge> found;
    EXPECT_TRUE(parse_auth_challenges("Basic realm=a", found));
    EXPECT_FALSE(parse_auth_challenges("Digest realm=b, =", found));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].scheme, "Basic");
    // Nor does a field go on with the challenge of the one before it.
    EXPECT_FALSE(parse_auth_challenges("nonce=n", found));
}
TEST(auth_challenges, quoted_strings) {
    EXPECT_EQ(unescape(R"(a\"b\\c\d)"), R"(a"b\cd)");
    EXPECT_EQ(unescape("a\\"), "a\\");
    EXPECT_EQ(quote(R"(a"b\c)"), R"("a\"b\\c")");
    EXPECT_EQ(quote(""), "\"\"");
}

}  // namespace
}  // namespace wire::http::detail
