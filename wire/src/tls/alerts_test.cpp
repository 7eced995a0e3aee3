// Alerts by name, as errors give them.
#include "alerts.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "tls_contexts.hpp"

namespace wire::tls::alerts_test {

using detail::alert_name;

TEST(alert_names, include_all_that_openssl_knows) {
    for (int i = 0; i < 256; ++i) {
        std::string theirs = SSL_alert_desc_string_long(i);
        if (theirs == "unknown") continue;
        std::replace(theirs.begin(), theirs.end(), ' ', '_');
        const std::string_view ours = alert_name(static_cast<std::uint8_t>(i));
        // Theirs: "unknown PSK identity".
        std::transform(theirs.begin(), theirs.end(), theirs.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        EXPECT_EQ(ours, theirs) << i;
    }
}
TEST(alert_names, include_those_that_openssl_3_0_does_not) {
    EXPECT_EQ(alert_name(52), "too_many_cids_requested");
    EXPECT_EQ(alert_name(109), "missing_extension");
    EXPECT_EQ(alert_name(116), "certificate_required");
    EXPECT_EQ(alert_name(117), "general_error");
    EXPECT_EQ(alert_name(121), "ech_required");
    EXPECT_EQ(alert_name(200), "unknown");
}

struct alerts : testing::contexts {};
INSTANTIATE_TEST_SUITE_P(records, alerts,
                         ::testing::Values(record_layer::openssl, record_layer::wire));

TEST_P(alerts, are_named_in_errors) {
    server.client = client_certificate::required;
    server.client_ca_file = files.ca_file();
    EXPECT_EQ(meet().c.failed.message, "TLS: the peer's alert: certificate_required");
    client.max_version = version::tls_1_2;
    EXPECT_EQ(meet().c.failed.message, "TLS handshake: the peer's alert: handshake_failure");
    client.max_version = version::tls_1_3;
    client.ca_file = files.other_ca_file();
    EXPECT_EQ(meet().s.failed.message, "TLS handshake: the peer's alert: unknown_ca");
}

}  // namespace wire::tls::alerts_test
