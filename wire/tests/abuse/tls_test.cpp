// TLS handshakes that stall.
#include <thread>

#include "abused.hpp"
#include "certificates.hpp"
#include "wire/client/client.hpp"

namespace wire::testing::tls_test {

// The beginning of a ClientHello record whose rest never comes.
constexpr std::string_view half_a_hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

TEST(tls_abuse, handshakes_that_stall_end_and_others_are_served) {
    certificates made;
    const auto ours = made.for_localhost();
    auto options = small_limits();
    tls::server_options secret;
    secret.certificates = {{ours.certificate, ours.key}};
    auto context = tls::server_context::create(secret);
    ASSERT_TRUE(context) << context.error().message;
    options.tls = *context;
    served server(hello_and_echo(), std::move(options));
    const std::size_t before = resident_kib();
    std::deque<raw_peer> silent;
    std::deque<raw_peer> stalled;
    std::deque<raw_peer> wrong;
    for (int i = 0; i < 100; ++i) {
        silent.emplace_back(server.port());
        stalled.emplace_back(server.port()).send(half_a_hello);
        wrong.emplace_back(server.port()).send(get_root);
    }
    http::client_options asking;
    tls::client_options trusting;
    trusting.ca_file = made.ca_file();
    asking.tls = *tls::client_context::create(trusting);
    auto client = http::client::create(asking);
    ASSERT_TRUE(client);
    const auto reply = client->get("https://localhost:" + std::to_string(server.port()) + "/");
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->body(), "hello");
    std::printf("    VmRSS %zu KiB before, %zu KiB with 300 handshakes under way\n", before,
                resident_kib());
    for (raw_peer& p : silent) EXPECT_EQ(p.exactly(1), "");  // header_timeout
    for (raw_peer& p : stalled) EXPECT_EQ(p.exactly(1), "");
    for (raw_peer& p : wrong) p.rest();  // an alert, or not
}

}  // namespace wire::testing::tls_test
