// Which challenges of Digest authentication are answered, and the answers of RFC 7616.
#include "digest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace wire::http::detail {
namespace {

using tls::detail::hash;
using tls::detail::hash_hex;

#define NEED_HASHES() \
    if (!hash_hex(hash::md5, "")) GTEST_SKIP() << "no MD5 in this build"

std::optional<digest_challenge> chosen(const std::vector<std::string>& values) {
    header_list fields;
    fields.push_back({"Content-Length", "0"});
    for (const auto& v : values) fields.push_back({"WWW-AUTHENTICATE", v});
    return choose_digest(fields);
}
// The nonce of what is chosen tells which it is.
std::string which(const std::vector<std::string>& values) {
    const auto c = chosen(values);
    return c ? c->nonce : "none";
}
std::string challenge(const std::string& nonce, const std::string& more = "") {
    return "Digest realm=\"r\", qop=\"auth\", nonce=\"" + nonce + "\"" + more;
}
std::string answer(const std::string& value, const std::string& user = "Mufasa",
                   const std::string& target = "/dir/index.html", unsigned times = 1) {
    const auto c = chosen({value});
    if (!c) return "none";
    auto s = digest_session::begin(*c, user, "Circle of Life",
                                   "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ");
    if (!s) return "no hash";
    std::string out;
    for (unsigned i = 0; i < times; ++i) out = s->answer("GET", target);
    return out;
}
std::string param(const std::string& text, const std::string& name) {
    const auto at = text.find(name + "=");
    if (at == std::string::npos) return "";
    return text.substr(at, text.find(',', at) - at);
}

// RFC 7616 section 3.9.1.
const std::string rfc_sha256 =
    "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=SHA-256, "
    "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
    "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
const std::string rfc_md5 =
    "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=MD5, "
    "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
    "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";

TEST(digest, the_rfc_s_examples) {
    NEED_HASHES();
    EXPECT_EQ(answer(rfc_md5),
              "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", "
              "uri=\"/dir/index.html\", algorithm=MD5, "
              "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, "
              "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, "
              "response=\"8ca523f5e9506fed4657c9700eebdbec\", "
              "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"");
    EXPECT_EQ(param(answer(rfc_sha256), "response"),
              "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\"");
    EXPECT_EQ(param(answer(rfc_sha256), "algorithm"), "algorithm=SHA-256");
}
TEST(digest, the_strongest_is_chosen_of_several_such_the_first) {
    NEED_HASHES();
    EXPECT_EQ(which({challenge("a"), challenge("b", ", algorithm=SHA-256")}), "b");
    EXPECT_EQ(which({challenge("a") + ", " + challenge("b", ", algorithm=SHA-256-sess") + ", " +
                     challenge("c", ", algorithm=SHA-256")}),
              "b");
    EXPECT_EQ(which({"Basic realm=\"x\", " + challenge("a", ", algorithm=md5-SESS"),
                     challenge("b", ", algorithm=MD5")}),
              "a");
    EXPECT_EQ(chosen({challenge("a", ", algorithm=MD5-sess")})->is_session, true);
    EXPECT_EQ(which({challenge("a", ", algorithm=SHA-512-256"), challenge("b")}), "b");
    EXPECT_EQ(which({"digest realm=r, qop=auth, nonce=n"}), "n");
}
TEST(digest, challenges_that_cannot_be_answered_are_not_chosen) {
    NEED_HASHES();
    for (const std::string& bad :
         {std::string("Basic realm=\"r\""), std::string("Digest realm=\"r\", nonce=\"n\""),
          std::string("Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\""),
          std::string("Digest realm=\"r\", nonce=\"\", qop=\"auth\""),
          std::string("Digest nonce=\"n\", qop=\"auth\""),
          std::string("Digest realm=\"r\", qop=\"auth\""), std::string("Digest"),
          challenge("n", ", algorithm=SHA-1"), challenge("n", ", algorithm=-sess"),
          challenge("n", ", nonce=\"m\""), challenge("n", ", ="), challenge(std::string(1025, 'n')),
          challenge("n", ", opaque=\"" + std::string(1025, 'o') + "\"")})
        EXPECT_EQ(which({bad}), "none") << bad;
    EXPECT_EQ(which({challenge("n", ", ="), challenge("m")}), "m");
    EXPECT_EQ(which({challenge(std::string(1024, 'n'))}), std::string(1024, 'n'));
}
TEST(digest, stale_is_seen) {
    NEED_HASHES();
    EXPECT_FALSE(chosen({challenge("n")})->is_stale);
    EXPECT_FALSE(chosen({challenge("n", ", stale=false")})->is_stale);
    EXPECT_TRUE(chosen({challenge("n", ", stale=\"True\"")})->is_stale);
}
TEST(digest, requests_are_counted) {
    NEED_HASHES();
    EXPECT_EQ(param(answer(rfc_md5, "u", "/", 2), "nc"), "nc=00000002");
    EXPECT_EQ(param(answer(rfc_md5, "u", "/", 27), "nc"), "nc=0000001b");
    EXPECT_NE(param(answer(rfc_md5, "u", "/", 1), "response"),
              param(answer(rfc_md5, "u", "/", 2), "response"));
}
TEST(digest, sessions_hash_both_nonces_into_the_secret) {
    NEED_HASHES();
    const auto h = [](const std::string& text) { return *hash_hex(hash::md5, text); };
    const std::string a1 =
        h(h("Mufasa:r:Circle of Life") + ":n:f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ");
    EXPECT_EQ(param(answer(challenge("n", ", algorithm=MD5-sess")), "response"),
              "response=\"" +
                  h(a1 + ":n:00000001:f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ:auth:" +
                    h("GET:/dir/index.html")) +
                  "\"");
}
TEST(digest, what_was_not_given_is_not_given_back) {
    NEED_HASHES();
    const std::string said = answer(challenge("n"));
    EXPECT_EQ(param(said, "algorithm"), "");
    EXPECT_EQ(param(said, "opaque"), "");
    EXPECT_EQ(param(said, "userhash"), "");
    EXPECT_EQ(param(answer(challenge("n", ", opaque=\"\"")), "opaque"), "opaque=\"\"");
}
TEST(digest, users_are_hashed_where_asked) {
    NEED_HASHES();
    const std::string said = answer(challenge("n", ", userhash=true"));
    EXPECT_EQ(param(said, "username"), "username=\"" + *hash_hex(hash::md5, "Mufasa:r") + "\"");
    EXPECT_EQ(param(said, "userhash"), "userhash=true");
    // What is hashed with the password is the name all the same.
    EXPECT_EQ(param(said, "response"), param(answer(challenge("n")), "response"));
    EXPECT_EQ(param(answer(challenge("n", ", userhash=false")), "username"), "username=\"Mufasa\"");
}
TEST(digest, quotes_are_escaped_anew_and_hashed_without_escapes) {
    NEED_HASHES();
    const std::string said =
        answer(R"(Digest realm="a\"b", nonce="\n\\", qop=auth, opaque="\"")", R"(x"y\)", "/\"");
    EXPECT_EQ(param(said, "username"), R"(username="x\"y\\")");
    EXPECT_EQ(param(said, "realm"), R"(realm="a\"b")");
    EXPECT_EQ(param(said, "nonce"), R"(nonce="n\\")");
    EXPECT_EQ(param(said, "opaque"), R"(opaque="\"")");
    EXPECT_EQ(param(said, "uri"), R"(uri="/\"")");
    const auto h = [](const std::string& text) { return *hash_hex(hash::md5, text); };
    EXPECT_EQ(
        param(said, "response"),
        "response=\"" +
            h(h("x\"y\\:a\"b:Circle of Life") +
              ":n\\:00000001:f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ:auth:" + h("GET:/\"")) +
            "\"");
}

}  // namespace
}  // namespace wire::http::detail
