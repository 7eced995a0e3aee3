// What makes an OCSP response good enough, and what does not.
#include "ocsp_response.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damage.hpp"
#include "ocsp_responses.hpp"

namespace wire::tls::detail::ocsp_response_test {

using testing::certificates;
using testing::make_ocsp_response;
using testing::ocsp_wishes;

#define EXPECT_REFUSED(checked, why)             \
    do {                                         \
        const auto& got = (checked);             \
        EXPECT_FALSE(got);                       \
        if (!got) {                              \
            EXPECT_EQ(got.error().message, why); \
        }                                        \
    } while (false)

struct ocsp_responses : ::testing::Test {
    certificates files;
    const certificates::files ours = files.for_localhost();
    const testing::x509_ptr leaf = testing::read_certificate(ours.certificate);
    X509* const issuer = files.ca().certificate;
    STACK_OF(X509) * chain = sk_X509_new_null();
    X509_STORE* store = X509_STORE_new();
    const std::time_t now = std::time(nullptr);

    ocsp_responses() {
        sk_X509_push(chain, leaf.get());
        sk_X509_push(chain, issuer);
        X509_STORE_add_cert(store, issuer);
    }
    ~ocsp_responses() override {
        sk_X509_free(chain);
        X509_STORE_free(store);
    }
    ocsp_responses(const ocsp_responses&) = delete;
    ocsp_responses& operator=(const ocsp_responses&) = delete;

    result<ocsp_times> check(std::string_view der) { return check_ocsp(der, *chain, *store, now); }
    result<ocsp_times> check(const ocsp_wishes& w) {
        return check(make_ocsp_response(files, ours.certificate, w));
    }
};

TEST_F(ocsp_responses, are_good_with_each_digest_in_the_id) {
    for (const EVP_MD* const digest : {EVP_sha1(), EVP_sha256(), EVP_sha384(), EVP_sha512()}) {
        const auto got = check({.id_digest = digest});
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_NEAR(static_cast<double>(got->since), static_cast<double>(now - 3600), 60);
        EXPECT_NEAR(static_cast<double>(got->until), static_cast<double>(now + 24 * 3600), 60);
    }
    EXPECT_REFUSED(check({.id_digest = EVP_md5()}), "is for another certificate");
}
TEST_F(ocsp_responses, have_to_say_good) {
    EXPECT_REFUSED(check({.status = V_OCSP_CERTSTATUS_REVOKED}),
                   "says that the certificate is revoked");
    EXPECT_REFUSED(check({.status = V_OCSP_CERTSTATUS_UNKNOWN}),
                   "says that its responder does not know the certificate");
}
TEST_F(ocsp_responses, have_their_time_give_or_take_five_minutes) {
    EXPECT_TRUE(check({.since = 200}));
    EXPECT_REFUSED(check({.since = 400}), "is not valid yet");
    EXPECT_TRUE(check({.until = -200}));
    EXPECT_REFUSED(check({.until = -400}), "has expired");
    EXPECT_REFUSED(check({.until = std::nullopt}), "does not say when it ends (nextUpdate)");
}
TEST_F(ocsp_responses, are_for_one_certificate) {
    const auto sibling = files.issue("sibling", {.name = "sibling"});
    EXPECT_REFUSED(check(make_ocsp_response(files, sibling.certificate)),
                   "is for another certificate");
    EXPECT_REFUSED(check({.id_of_other = true}), "is for another certificate");
}
TEST_F(ocsp_responses, are_signed_by_the_issuer_or_in_its_name) {
    constexpr auto nobody = "is not signed by the certificate's issuer, nor in its name";
    const auto by = [&](const std::string& name, const certificates::wishes& w) {
        return check({.responder = files.issue(name, w)});
    };
    const auto good = by("responder", {.name = "responder", .purposes = "OCSPSigning"});
    EXPECT_TRUE(good) << good.error().message;
    EXPECT_REFUSED(by("no purpose", {.name = "no purpose"}), nobody);
    EXPECT_REFUSED(by("server", {.name = "server", .purposes = "serverAuth"}), nobody);
    EXPECT_REFUSED(by("old", {.name = "old", .valid_until = -60, .purposes = "OCSPSigning"}),
                   nobody);
    EXPECT_REFUSED(check({.responder = ours}), nobody);
    // Another authority may not speak for it, trusted or not.
    for (const bool trusted : {false, true}) {
        if (trusted) X509_STORE_add_cert(store, files.other_ca().certificate);
        EXPECT_REFUSED(check({.signed_by_other = true}), nobody);
        EXPECT_REFUSED(
            by("stranger", {.name = "s", .signed_by_other = true, .purposes = "OCSPSigning"}),
            nobody);
    }
}
TEST_F(ocsp_responses, with_changed_bytes_are_not_signed) {
    std::string der =
        make_ocsp_response(files, ours.certificate, {.status = V_OCSP_CERTSTATUS_UNKNOWN});
    // [2] IMPLICIT NULL becomes [0], good; behind it is the time, of 15 bytes.
    const std::size_t at = der.find(std::string("\x82\x00\x18\x0f", 4));
    ASSERT_NE(at, std::string::npos);
    der[at] = '\x80';
    EXPECT_REFUSED(check(der), "is not signed by the certificate's issuer, nor in its name");
}
TEST_F(ocsp_responses, with_weak_signatures_are_refused) {
    EXPECT_REFUSED(check({.signature_digest = EVP_sha1()}), "is signed with a weak digest");
    EXPECT_TRUE(check({.signature_digest = EVP_sha512()}));
}
TEST_F(ocsp_responses, that_are_errors_or_no_responses) {
    OCSP_RESPONSE* const later = OCSP_response_create(OCSP_RESPONSE_STATUS_TRYLATER, nullptr);
    unsigned char* der = nullptr;
    const int size = i2d_OCSP_RESPONSE(later, &der);
    EXPECT_REFUSED(
        check(std::string_view(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size))),
        "is only an error: trylater");
    OPENSSL_free(der);
    OCSP_RESPONSE_free(later);
    const std::string good = make_ocsp_response(files, ours.certificate);
    for (std::size_t n = 0; n < good.size(); ++n)
        EXPECT_REFUSED(check(std::string_view(good).substr(0, n)), "is malformed");
    EXPECT_REFUSED(check(good + "x"), "is malformed");
    EXPECT_REFUSED(check(std::string(16'001, '0')), "is longer than 16000 bytes");
}
TEST_F(ocsp_responses, that_are_damaged_say_nothing_else) {
    const std::string good = make_ocsp_response(
        files, ours.certificate,
        {.responder = files.issue("r", {.name = "r", .purposes = "OCSPSigning"})});
    const auto times = check(good);
    ASSERT_TRUE(times);
    fuzz::damager damaged;
    for (int i = 0; i < 2000; ++i) {
        const auto got = check(damaged(good));
        if (!got) continue;
        EXPECT_EQ(got->since, times->since);
        EXPECT_EQ(got->until, times->until);
    }
}
TEST_F(ocsp_responses, need_to_know_the_issuer) {
    sk_X509_pop(chain);  // somebody trusts the certificate itself
    EXPECT_REFUSED(check(ocsp_wishes()), "cannot be checked: the certificate's issuer is unknown");
}
TEST_F(ocsp_responses, are_read_by_their_server_whatever_they_say) {
    const std::string der = make_ocsp_response(
        files, ours.certificate, {.status = V_OCSP_CERTSTATUS_REVOKED, .until = -7200});
    for (const X509* const by :
         {static_cast<const X509*>(issuer), static_cast<const X509*>(nullptr)}) {
        const auto got = read_ocsp(der, *leaf, by);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_LT(got->until, now);
    }
    EXPECT_REFUSED(read_ocsp(der, *issuer, nullptr), "is for another certificate");
    EXPECT_REFUSED(read_ocsp(der, *leaf, files.other_ca().certificate),
                   "is for another certificate");
}

}  // namespace wire::tls::detail::ocsp_response_test
