// Cipher suites, groups and versions: what is offered by default, and what options change of it, in
// each of a server's contexts.
#include "algorithms.hpp"

#include <gtest/gtest.h>

#include <openssl/ssl.h>
#include <cstring>

#include <string>
#include <vector>

#include "openssl_peer.hpp"
#include "tls_contexts.hpp"

namespace wire::tls {
namespace {

using testing::ctx_ptr;
using testing::openssl_peer;
using testing::ssl_ptr;

// OpenSSL's client and server, which may do anything, against ours.
struct algorithms_with_openssl : testing::contexts {
    ctx_ptr theirs;
    testing::party ours;

    void they(const SSL_METHOD* method, version v, const char* ciphers) {
        theirs.reset(SSL_CTX_new(method));
        const int number = v == version::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
        SSL_CTX_set_min_proto_version(theirs.get(), number);
        SSL_CTX_set_max_proto_version(theirs.get(), number);
        if (v == version::tls_1_3) {
            ASSERT_EQ(SSL_CTX_set_ciphersuites(theirs.get(), ciphers), 1) << ciphers;
        } else {
            ASSERT_EQ(SSL_CTX_set_cipher_list(theirs.get(), ciphers), 1) << ciphers;
        }
    }
    void they_serve(const testing::certificates::files& f) {
        ASSERT_EQ(SSL_CTX_use_certificate_chain_file(theirs.get(), f.certificate.c_str()), 1);
        ASSERT_EQ(SSL_CTX_use_PrivateKey_file(theirs.get(), f.key.c_str(), SSL_FILETYPE_PEM), 1);
    }
    // The suite and group agreed on; the error where there are none.
    std::string agree(std::unique_ptr<connection> made, bool we_serve, const char* name) {
        ssl_ptr ssl(SSL_new(theirs.get()));
        if (we_serve) {
            SSL_set_connect_state(ssl.get());
            SSL_set_tlsext_host_name(ssl.get(), name);
        } else {
            SSL_set_accept_state(ssl.get());
        }
        openssl_peer peer(std::move(ssl));
        ours = {};
        ours.tls = std::move(made);
        ours.begin();
        peer.take("");
        for (;;) {
            const std::string theirs_said = peer.said();
            if (!theirs_said.empty() && !ours.failed) ours.take(theirs_said);
            const std::string said = ours.said();
            if (said.empty()) break;
            peer.take(said);
        }
        if (!ours.tls->is_open()) return ours.failed.message;
        const int group = static_cast<int>(SSL_get_negotiated_group(peer.ssl.get()));
        return std::string(ours.tls->info().cipher) + " " + OBJ_nid2sn(group);
    }
    std::string with_our_server(const char* name = "localhost") {
        return agree(*a_server()->accept(), true, name);
    }
    std::string with_our_client() {
        return agree(*a_client()->connect("localhost", 443), false, "");
    }
};

INSTANTIATE_TEST_SUITE_P(records, algorithms_with_openssl,
                         ::testing::Values(record_layer::openssl));

TEST_P(algorithms_with_openssl, by_default_neither_role_takes_weak_suites) {
    const auto rsa = files.issue_rsa("rsa", {.name = "rsa", .alternatives = "DNS:localhost"});
    server.certificates.push_back({rsa.certificate, rsa.key});
    server.certificates[0] = {rsa.certificate, rsa.key};
    // RSA key exchange; CBC; ephemeral without elliptic curves; short tags.
    for (const char* weak :
         {"AES128-GCM-SHA256", "AES256-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384",
          "DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CAMELLIA256-SHA384", "ARIA128-GCM-SHA256"}) {
        // OpenSSL may have been built without the last two.
        const ctx_ptr any(SSL_CTX_new(TLS_method()));
        if (std::strstr(weak, "AES") == nullptr && SSL_CTX_set_cipher_list(any.get(), weak) != 1)
            continue;
        they(TLS_client_method(), version::tls_1_2, weak);
        EXPECT_EQ(with_our_server(), "TLS handshake: no shared cipher") << weak;
        they(TLS_server_method(), version::tls_1_2, weak);
        they_serve(rsa);
        SSL_CTX_set_dh_auto(theirs.get(), 1);
        EXPECT_EQ(with_our_client(), "TLS handshake: the peer's alert: handshake_failure") << weak;
    }
    for (const char* strong : {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384",
                               "ECDHE-RSA-CHACHA20-POLY1305"}) {
        they(TLS_client_method(), version::tls_1_2, strong);
        EXPECT_EQ(with_our_server().find(strong), 0U) << strong;
        they(TLS_server_method(), version::tls_1_2, strong);
        they_serve(rsa);
        EXPECT_EQ(with_our_client().find(strong), 0U) << strong;
    }
}
// Options times the certificates of a server, before and after reload().
TEST_P(algorithms_with_openssl, options_hold_in_all_contexts_of_a_server) {
    for (const std::string name : {"second.example", "third.example"}) {
        const auto more = files.issue(name, {.name = name, .alternatives = "DNS:" + name});
        server.certificates.push_back({more.certificate, more.key});
    }
    struct row {
        version v;
        const char* ciphers;
        const char* groups;
        std::string agreed;  // empty: refused
    };
    const std::vector<row> rows = {
        {version::tls_1_2, "ECDHE-ECDSA-AES256-GCM-SHA384", "P-384:P-256",
         "ECDHE-ECDSA-AES256-GCM-SHA384 secp384r1"},
        {version::tls_1_2, "ECDHE-ECDSA-AES128-SHA", "P-384:P-256",
         "ECDHE-ECDSA-AES128-SHA secp384r1"},
        {version::tls_1_2, "ECDHE-ECDSA-AES128-GCM-SHA256", "P-384:P-256", ""},
        {version::tls_1_2, "ECDHE-ECDSA-AES256-GCM-SHA384", "P-256", ""},
        {version::tls_1_3, "TLS_CHACHA20_POLY1305_SHA256", "P-384:X25519",
         "TLS_CHACHA20_POLY1305_SHA256 secp384r1"},
        {version::tls_1_3, "TLS_AES_128_GCM_SHA256", "P-384", ""},
        {version::tls_1_3, "TLS_CHACHA20_POLY1305_SHA256", "X25519", ""},
    };
    server.tls_1_2_ciphers = {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES128-SHA"};
    server.tls_1_3_ciphers = {"TLS_CHACHA20_POLY1305_SHA256"};
    server.groups = {"P-384"};
    const auto all = a_server();
    server.min_version = version::tls_1_3;
    const auto newest = a_server();
    for (const bool reloaded : {false, true}) {
        if (reloaded) {
            ASSERT_TRUE(all->reload());
            ASSERT_TRUE(newest->reload());
        }
        for (const char* name : {"localhost", "second.example", "third.example"}) {
            for (const row& r : rows) {
                they(TLS_client_method(), r.v, r.ciphers);
                ASSERT_EQ(SSL_CTX_set1_groups_list(theirs.get(), r.groups), 1);
                const std::string got = agree(*all->accept(), true, name);
                if (r.agreed.empty()) {
                    EXPECT_FALSE(ours.tls->is_open()) << name << ' ' << r.ciphers << ' ' << got;
                } else {
                    EXPECT_EQ(got, r.agreed) << name;
                }
                const std::string strict = agree(*newest->accept(), true, name);
                EXPECT_EQ(ours.tls->is_open(), !r.agreed.empty() && r.v == version::tls_1_3)
                    << name << ' ' << r.ciphers << ' ' << strict;
            }
        }
    }
}
TEST_P(algorithms_with_openssl, options_hold_in_clients) {
    client.tls_1_2_ciphers = {"ECDHE-ECDSA-AES128-SHA"};
    client.tls_1_3_ciphers = {"TLS_AES_128_CCM_SHA256"};
    client.groups = {"P-521", "P-256"};
    const auto f = files.for_localhost();
    const auto serve = [&](version v, const char* ciphers, const char* groups) {
        they(TLS_server_method(), v, ciphers);
        they_serve(f);
        EXPECT_EQ(SSL_CTX_set1_groups_list(theirs.get(), groups), 1);
        return with_our_client();
    };
    EXPECT_EQ(serve(version::tls_1_2, "ALL", "P-256:P-521"), "ECDHE-ECDSA-AES128-SHA secp521r1");
    EXPECT_EQ(serve(version::tls_1_3, "TLS_AES_128_GCM_SHA256:TLS_AES_128_CCM_SHA256", "P-256"),
              "TLS_AES_128_CCM_SHA256 prime256v1");
    EXPECT_EQ(serve(version::tls_1_3, "TLS_AES_128_GCM_SHA256", "P-256"),
              "TLS handshake: the peer's alert: handshake_failure");
    client.max_version = version::tls_1_2;
    EXPECT_EQ(serve(version::tls_1_3, "TLS_AES_128_CCM_SHA256", "P-256"),
              "TLS handshake: the peer's alert: protocol_version");
}
TEST_P(algorithms_with_openssl, errors_say_what_is_wrong) {
    const auto refused = [this](const std::string& message) {
        EXPECT_EQ(client_context::create(client).error().message, message);
        EXPECT_EQ(server_context::create(server).error().message, message);
        EXPECT_EQ(client_context::create(client).code(), errc::bad_argument);
    };
    const auto no_suite = [&](const std::string& name, const std::string& v) {
        refused("tls_1_" + v + "_ciphers: '" + name + "' is no cipher suite of TLS 1." + v +
                " that this OpenSSL has for certificates");
    };
    for (const char* name : {"", "ALL", "DEFAULT@SECLEVEL=0", "!aNULL", "NULL-SHA256",
                             "AECDH-AES128-SHA", "PSK-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256",
                             "ECDHE-RSA-AES128-GCM-SHA256:AES128-SHA"}) {
        client.tls_1_2_ciphers = server.tls_1_2_ciphers = {"ECDHE-RSA-AES128-GCM-SHA256", name};
        no_suite(name, "2");
    }
    client.tls_1_2_ciphers = server.tls_1_2_ciphers = {};
    client.tls_1_3_ciphers = server.tls_1_3_ciphers = {"ECDHE-RSA-AES128-GCM-SHA256"};
    no_suite("ECDHE-RSA-AES128-GCM-SHA256", "3");
    client.tls_1_3_ciphers = server.tls_1_3_ciphers = {};
    for (const char* name : {"", "P-255", "?P-256", "P-256:P-384", "x,y"}) {
        client.groups = server.groups = {"P-256", name};
        refused("groups: this OpenSSL has no group '" + std::string(name) + "' for TLS");
    }
    client.groups = server.groups = {"P-256", "P-384", "P-256"};
    refused("groups: 'P-256' stands there twice");
    client.groups = server.groups = {};
    client.min_version = server.min_version = version::tls_1_3;
    client.max_version = server.max_version = version::tls_1_2;
    refused("TLS versions: the lowest is above the highest");
}

}  // namespace
}  // namespace wire::tls
