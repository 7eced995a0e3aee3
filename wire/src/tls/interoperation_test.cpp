// Our ends of TLS with OpenSSL's whole one as the peer, in memory.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "openssl_peer.hpp"
#include "record_layers.hpp"

namespace wire::tls::interoperation_test {

struct interoperation : testing::openssl_peers {};

constexpr const char* suites[] = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                  "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256"};

WIRE_WITH_EACH_RECORD_LAYER(interoperation);

TEST_P(interoperation, our_server_with_each_suite) {
    for (const char* const suite : suites) {
        ctx.reset(SSL_CTX_new(TLS_client_method()));
        ASSERT_EQ(SSL_CTX_set_ciphersuites(ctx.get(), suite), 1);
        begin_with_their_client();
        if (std::string_view(suite).find("CCM") != std::string_view::npos) {
            EXPECT_FALSE(ours->is_open());  // OpenSSL's servers do not offer it by themselves
            continue;
        }
        converse();
        EXPECT_EQ(ours->info().cipher, suite);
    }
}
TEST_P(interoperation, our_client_with_each_suite) {
    const auto client = a_client();
    for (const char* const suite : suites) {
        start_their_server();
        ASSERT_EQ(SSL_CTX_set_ciphersuites(ctx.get(), suite), 1);
        begin_with_their_server(*client);
        if (std::string_view(suite).find("CCM") != std::string_view::npos) continue;
        converse();
        EXPECT_EQ(ours->info().cipher, suite);
    }
}
TEST_P(interoperation, tls_1_2_with_either_role) {
    ctx.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_max_proto_version(ctx.get(), TLS1_2_VERSION);
    begin_with_their_client();
    converse();
    EXPECT_EQ(ours->info().version, "TLSv1.2");
    const auto client = a_client();
    start_their_server();
    SSL_CTX_set_max_proto_version(ctx.get(), TLS1_2_VERSION);
    begin_with_their_server(*client);
    converse();
    EXPECT_EQ(ours->info().version, "TLSv1.2");
}
TEST_P(interoperation, records_with_padding) {
    ctx.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_block_padding(ctx.get(), 1024);
    begin_with_their_client();
    converse();
}
TEST_P(interoperation, any_number_of_tickets_serves_and_none_too) {
    for (const std::size_t tickets : {0U, 1U, 2U, 7U}) {
        const auto client = a_client();
        start_their_server();
        SSL_CTX_set_num_tickets(ctx.get(), tickets);
        for (int round = 0; round < 3; ++round) {
            begin_with_their_server(*client);
            ASSERT_TRUE(ours->is_open());
            EXPECT_EQ(ours->info().resumed, round > 0 && tickets > 0);
            converse();
        }
    }
}
// RFC 6066 section 3. TLS 1.3 leaves the name to the client (RFC 8446 section 4.6.1).
TEST_P(interoperation, a_session_of_tls_1_2_goes_on_under_its_own_name_alone) {
    const auto second = files.issue("second", {.name = "x", .alternatives = "DNS:second.example"});
    server_options options;
    options.certificates = {{names.certificate, names.key}, {second.certificate, second.key}};
    options.records = GetParam();
    const auto server = *server_context::create(options);
    ctx.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_max_proto_version(ctx.get(), TLS1_2_VERSION);
    const auto resumes = [&](const std::string& name, SSL_SESSION* earlier) {
        detail::ssl_ptr ssl(SSL_new(ctx.get()));
        SSL_set_connect_state(ssl.get());
        if (!name.empty()) SSL_set_tlsext_host_name(ssl.get(), name.c_str());
        if (earlier != nullptr) SSL_set_session(ssl.get(), earlier);
        begin_with_their_client(std::move(ssl), *server->accept());
        EXPECT_TRUE(ours->is_open()) << failed.message;
        // Or its session is taken for a bad one.
        SSL_set_shutdown(theirs->ssl.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        return ours->info().resumed;
    };
    for (const std::string name : {"localhost", "second.example", ""}) {
        EXPECT_FALSE(resumes(name, nullptr));
        const detail::session_ptr session(SSL_get1_session(theirs->ssl.get()));
        for (const std::string other : {"localhost", "second.example", "", "unknown.example"})
            EXPECT_EQ(resumes(other, session.get()), other == name) << name << " " << other;
    }
}
TEST_P(interoperation, a_ticket_that_comes_later_does_no_harm) {
    const auto client = a_client();
    start_their_server();
    begin_with_their_server(*client);
    theirs->say("data");
    talk();
    ASSERT_EQ(SSL_new_session_ticket(theirs->ssl.get()), 1);
    theirs->say("more");
    talk();
    EXPECT_EQ(heard, "datamore");
    converse();
}
TEST_P(interoperation, without_resumption) {
    const auto client = a_client(false);
    start_their_server();
    begin_with_their_server(*client);
    converse();
}
TEST_P(interoperation, a_retried_hello) {
    ctx.reset(SSL_CTX_new(TLS_client_method()));
    // The share is for the first.
    ASSERT_EQ(SSL_CTX_set1_groups_list(ctx.get(), "P-521:X25519"), 1);
    begin_with_their_client();
    converse();
    const auto client = a_client();
    start_their_server();
    ASSERT_EQ(SSL_CTX_set1_groups_list(ctx.get(), "P-521"), 1);
    begin_with_their_server(*client);
    converse();
}

}  // namespace wire::tls::interoperation_test
