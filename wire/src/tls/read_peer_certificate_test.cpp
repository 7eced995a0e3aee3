// What each side is told of the other's certificate.
#include "read_peer_certificate.hpp"

#include "tls_contexts.hpp"

namespace wire::tls::read_peer_certificate_test {

using names = std::vector<std::string>;

struct peer_certificates : testing::contexts {
    static std::string digest_of(const std::string& file) {
        std::FILE* const f = std::fopen(file.c_str(), "r");
        X509* const x = PEM_read_X509(f, nullptr, nullptr, nullptr);
        std::fclose(f);
        std::array<unsigned char, 32> digest{};
        EXPECT_EQ(X509_digest(x, EVP_sha256(), digest.data(), nullptr), 1);
        X509_free(x);
        std::string out;
        for (const unsigned char c : digest) {
            std::array<char, 3> two{};
            std::snprintf(two.data(), two.size(), "%02x", c);
            out += two.data();
        }
        return out;
    }
};
INSTANTIATE_TEST_SUITE_P(records, peer_certificates,
                         ::testing::Values(record_layer::openssl, record_layer::wire));

TEST_P(peer_certificates, are_told_on_both_sides_also_after_resumption) {
    const auto me = files.issue(
        "me",
        {.name = "me", .alternatives = "URI:spiffe://example/me,email:me@example.org,DNS:me"});
    client.certificate_file = me.certificate;
    client.key_file = me.key;
    server.client = client_certificate::required;
    server.client_ca_file = files.ca_file();
    server.tickets_with_client_certificates = true;
    for (const version v : {version::tls_1_2, version::tls_1_3}) {
        client.max_version = v;
        const auto ours = a_client();
        const auto theirs = a_server();
        for (const bool resumed : {false, true}) {
            const pair p = meet(*ours, *theirs);
            EXPECT_EQ(p.c.tls->info().resumed, resumed);
            const auto seen = p.c.tls->info().certificate;
            ASSERT_NE(seen, nullptr);
            EXPECT_EQ(seen->subject, "CN=localhost");
            EXPECT_EQ(seen->sha256, digest_of(server.certificates[0].certificate_file));
            EXPECT_EQ(seen->dns_names, names{"localhost"});
            EXPECT_EQ(seen->ip_addresses, (names{"127.0.0.1", "::1"}));
            const auto shown = p.s.tls->info().certificate;
            ASSERT_NE(shown, nullptr);
            EXPECT_EQ(shown->subject, "CN=me");
            EXPECT_EQ(shown->sha256, digest_of(me.certificate));
            EXPECT_EQ(shown->uris, names{"spiffe://example/me"});
            EXPECT_EQ(shown->email_addresses, names{"me@example.org"});
            EXPECT_EQ(shown->dns_names, names{"me"});
        }
    }
    server.client = client_certificate::optional;
    client.certificate_file = client.key_file = "";
    EXPECT_EQ(meet().s.tls->info().certificate, nullptr);
}
TEST_P(peer_certificates, hostile_ones_are_bounded_and_plain) {
    std::string many = "DNS:a b,DNS:caf\xC3\xA9,URI:x y";
    for (int i = 0; i < 400; ++i) many += ",DNS:n" + std::to_string(i);
    const auto f = files.issue("many", {.name = std::string(60, '\n'), .alternatives = many});
    server.certificates = {{f.certificate, f.key}};
    client.insecure = true;
    const pair p = meet();
    const auto seen = p.c.tls->info().certificate;
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->dns_names.size(), 253U);  // 256, but for the first three
    EXPECT_TRUE(seen->uris.empty());
    EXPECT_EQ(seen->subject.find('\n'), std::string::npos);
}
TEST_P(peer_certificates, may_be_judged_by_the_client) {
    const std::string pin = digest_of(server.certificates[0].certificate_file);
    std::string asked;
    client.check_server = [&](const connection_info& info) -> error {
        asked = info.certificate->sha256;
        if (asked == pin) return {};
        return {errc::tls_failed, "not the pinned certificate"};
    };
    expect_open(meet());
    EXPECT_EQ(asked, pin);
    server.certificates.clear();
    const auto other = files.issue("other", {.name = "x", .alternatives = "DNS:localhost"});
    server.certificates = {{other.certificate, other.key}};
    for (const version v : {version::tls_1_3, version::tls_1_2}) {
        client.max_version = v;
        const pair p = meet();
        EXPECT_EQ(p.c.failed.message, "TLS handshake: not the pinned certificate");
        EXPECT_EQ(p.c.failed.code, errc::tls_failed);
    }
}
// In TLS 1.2 it is shown before the server has proved anything.
TEST_P(peer_certificates, ours_is_not_shown_to_a_server_that_is_refused) {
    const auto me = files.issue("me", {.name = "me"});
    client.certificate_file = me.certificate;
    client.key_file = me.key;
    server.client = client_certificate::required;
    server.client_ca_file = files.ca_file();
    client.min_version = version::tls_1_3;
    client.check_server = [](const connection_info&) { return error(errc::tls_failed, "no"); };
    const pair p = meet();
    EXPECT_EQ(p.c.failed.message, "TLS handshake: no");
    EXPECT_FALSE(p.s.tls->is_open());
    EXPECT_FALSE(p.s.failed);
}

}  // namespace wire::tls::read_peer_certificate_test
