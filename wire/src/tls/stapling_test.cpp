// OCSP responses in the handshake: of our server, for our client, and with OpenSSL at either end.
#include "stapling.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>

#include "ocsp_responses.hpp"
#include "openssl_peer.hpp"
#include "record_layers.hpp"
#include "session_cache.hpp"
#include "tls_contexts.hpp"

namespace wire::tls::stapling_test {

using testing::make_ocsp_response;
using testing::ocsp_wishes;

constexpr version both[] = {version::tls_1_2, version::tls_1_3};

struct stapling : testing::contexts {
    stapling() { client.ocsp = ocsp_response::required; }

    std::string about(const certificate_source& from, const ocsp_wishes& w = {}) {
        return make_ocsp_response(files, from.certificate_file, w);
    }
    void staple_it(const ocsp_wishes& w = {}) {
        server.certificates[0].ocsp_response_der = about(server.certificates[0], w);
    }
    void use(version v) { client.min_version = client.max_version = v; }
    void at(long from_now) {
        server.clock = [from_now] {
            return std::chrono::system_clock::now() + std::chrono::seconds(from_now);
        };
    }
    static bool is_good(const pair& p) {
        const auto seen = p.c.tls->info().certificate;
        return p.c.tls->is_open() && seen != nullptr && seen->ocsp_good;
    }
    static void expect_bad_status(const pair& p, const std::string& why) {
        EXPECT_EQ(p.c.failed.message, "TLS handshake: " + why);
        EXPECT_EQ(p.c.failed.code, errc::tls_failed);
        EXPECT_FALSE(p.c.tls->is_open());
        EXPECT_EQ(p.c.tls->alert().name, "bad_certificate_status_response");
        EXPECT_TRUE(p.c.tls->alert().sent);
        EXPECT_FALSE(p.s.tls->is_open());
        EXPECT_EQ(p.s.tls->alert().name, "bad_certificate_status_response");
        EXPECT_FALSE(p.s.tls->alert().sent);
    }
    std::string why_not() {
        const auto made = server_context::create(server);
        return made ? "" : made.error().message;
    }
};
WIRE_WITH_EACH_RECORD_LAYER(stapling);

TEST_P(stapling, a_good_response_is_told_of_also_after_resumption) {
    staple_it();
    for (const ocsp_response wanted : {ocsp_response::asked, ocsp_response::required}) {
        for (const version v : both) {
            client.ocsp = wanted;
            use(v);
            const auto ours = a_client();
            const auto theirs = a_server();
            for (const bool resumed : {false, true, true}) {
                const pair p = meet(*ours, *theirs);
                expect_open(p);
                EXPECT_EQ(p.c.tls->info().resumed, resumed);
                EXPECT_TRUE(is_good(p));
            }
        }
    }
}
TEST_P(stapling, nothing_comes_unasked) {
    staple_it({.status = V_OCSP_CERTSTATUS_REVOKED});
    client.ocsp = ocsp_response::not_asked;
    for (const version v : both) {
        use(v);
        const pair p = meet();
        expect_open(p);
        EXPECT_FALSE(is_good(p));
    }
}
TEST_P(stapling, a_server_without_a_response) {
    for (const version v : both) {
        use(v);
        client.ocsp = ocsp_response::asked;
        const pair p = meet();
        expect_open(p);
        EXPECT_FALSE(is_good(p));
        client.ocsp = ocsp_response::required;
        expect_bad_status(meet(), "the server sent no OCSP response, which is required");
    }
}
TEST_P(stapling, a_certificate_may_require_a_response) {
    client.ocsp = ocsp_response::asked;
    const auto expect = [&](const std::string& features, bool needed) {
        const auto own = files.issue(
            "own", {.name = "localhost", .alternatives = "DNS:localhost", .features = features});
        for (const version v : both) {
            use(v);
            server.certificates = {{own.certificate, own.key}};
            if (needed)
                expect_bad_status(
                    meet(), "the server sent no OCSP response, which its certificate requires");
            else expect_open(meet());
            staple_it();
            EXPECT_TRUE(is_good(meet())) << features;
        }
    };
    expect("status_request", true);
    expect("17, status_request", true);
    expect("17", false);
    expect("DER:0500", true);  // no list
}
TEST_P(stapling, bad_responses_end_the_handshake) {
    const struct {
        ocsp_wishes w;
        long clock;
        std::string why;
    } cases[] = {
        {{.status = V_OCSP_CERTSTATUS_REVOKED}, 0, "says that the certificate is revoked"},
        {{.status = V_OCSP_CERTSTATUS_UNKNOWN},
         0,
         "says that its responder does not know the certificate"},
        {{.until = -1200}, -2400, "has expired"},
        {{.since = 1200}, 2400, "is not valid yet"},
        {{.signed_by_other = true},
         0,
         "is not signed by the certificate's issuer, nor in its name"},
    };
    for (const auto& [w, clock, why] : cases) {
        staple_it(w);
        at(clock);
        for (const version v : both) {
            use(v);
            for (const ocsp_response wanted : {ocsp_response::asked, ocsp_response::required}) {
                client.ocsp = wanted;
                expect_bad_status(meet(), "the OCSP response " + why);
            }
        }
    }
}
TEST_P(stapling, a_delegated_responder) {
    const auto responder = files.issue("responder", {.name = "r", .purposes = "OCSPSigning"});
    staple_it({.responder = responder});
    for (const version v : both) {
        use(v);
        EXPECT_TRUE(is_good(meet()));
    }
}
// TLS 1.2 sends responses in the clear, and anybody on the way can change them.
TEST_P(stapling, a_response_that_was_damaged_on_its_way) {
    staple_it();
    use(version::tls_1_2);
    for (const ocsp_response wanted : {ocsp_response::asked, ocsp_response::required}) {
        client.ocsp = wanted;
        pair p{from(a_client()->connect("localhost", 443)), from(a_server()->accept())};
        ASSERT_TRUE(p.s.take(p.c.said()));
        std::string flight = p.s.said();
        const std::size_t at = flight.find(server.certificates[0].ocsp_response_der);
        ASSERT_NE(at, std::string::npos);
        flight[at] ^= 1;
        EXPECT_FALSE(p.c.take(flight));
        talk(p.c, p.s);
        expect_bad_status(p, "the OCSP response is malformed");
    }
}
TEST_P(stapling, each_certificate_has_its_own) {
    const auto b = files.issue("b", {.name = "b", .alternatives = "DNS:beta"});
    const auto c = files.issue("c", {.name = "c", .alternatives = "DNS:gamma"});
    server.certificates.push_back({b.certificate, b.key});
    server.certificates.push_back({c.certificate, c.key});
    const auto expect = [&](const std::string& good) {
        const auto theirs = a_server();
        for (const std::string name : {"localhost", "beta", "gamma"}) {
            for (const version v : both) {
                use(v);
                EXPECT_EQ(is_good(meet(*a_client(), *theirs, name)),
                          good.find(name) != std::string::npos)
                    << name << " of " << good;
            }
        }
    };
    server.certificates[1].ocsp_response_der = about(server.certificates[1]);
    expect("beta");
    staple_it();
    expect("localhost beta");
    server.certificates[2].ocsp_response_file =
        files.text_file("c.der", about(server.certificates[2]));
    expect("localhost beta gamma");
    server.certificates[1].ocsp_response_der.clear();
    expect("localhost gamma");
}
TEST_P(stapling, reload_reads_it_again) {
    const std::string file = files.text_file("staple.der", about(server.certificates[0]));
    server.certificates[0].ocsp_response_file = file;
    for (const version v : both) {
        use(v);
        const auto theirs = a_server();
        EXPECT_TRUE(is_good(meet(*a_client(), *theirs)));
        files.text_file("staple.der",
                        about(server.certificates[0], {.status = V_OCSP_CERTSTATUS_REVOKED}));
        EXPECT_TRUE(is_good(meet(*a_client(), *theirs)));
        ASSERT_TRUE(theirs->reload());
        expect_bad_status(meet(*a_client(), *theirs),
                          "the OCSP response says that the certificate is revoked");
        files.text_file("staple.der", "not a response");
        const auto failed = theirs->reload();
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().message,
                  "certificates[0]: the OCSP response in " + file + " is malformed");
        expect_bad_status(meet(*a_client(), *theirs),
                          "the OCSP response says that the certificate is revoked");
        // Other certificates, without and with one.
        certificate_source plain = server.certificates[0];
        plain.ocsp_response_file.clear();
        ASSERT_TRUE(theirs->reload({plain}));
        expect_bad_status(meet(*a_client(), *theirs),
                          "the server sent no OCSP response, which is required");
        plain.ocsp_response_der = about(plain);
        ASSERT_TRUE(theirs->reload({plain}));
        EXPECT_TRUE(is_good(meet(*a_client(), *theirs)));
        files.text_file("staple.der", about(plain));
    }
}
TEST_P(stapling, a_connection_keeps_the_response_of_its_files) {
    staple_it();
    const auto theirs = a_server();
    pair p{from(a_client()->connect("localhost", 443)), from(theirs->accept())};
    certificate_source plain = server.certificates[0];
    plain.ocsp_response_der.clear();
    ASSERT_TRUE(theirs->reload({plain}));
    talk(p.c, p.s);
    EXPECT_TRUE(is_good(p));
}
TEST_P(stapling, a_response_is_sent_in_its_time_alone) {
    staple_it({.since = -3600, .until = 3600});
    client.ocsp = ocsp_response::asked;
    for (const version v : both) {
        use(v);
        for (const long when : {-3700L, 3700L}) {
            at(when);
            const pair p = meet();
            expect_open(p);
            EXPECT_FALSE(is_good(p));
        }
        at(3500);
        EXPECT_TRUE(is_good(meet()));
    }
}
// The session's server has proved itself; its next full handshake has to do so again.
TEST_P(stapling, a_session_keeps_what_was_proved) {
    staple_it();
    for (const version v : both) {
        use(v);
        const auto ours = a_client();
        const auto theirs = a_server();
        EXPECT_TRUE(is_good(meet(*ours, *theirs)));
        certificate_source plain = server.certificates[0];
        plain.ocsp_response_der.clear();
        ASSERT_TRUE(theirs->reload({plain}));
        const pair again = meet(*ours, *theirs);
        EXPECT_TRUE(again.c.tls->info().resumed);
        EXPECT_TRUE(is_good(again));
        expect_bad_status(meet(*a_client(), *theirs),
                          "the server sent no OCSP response, which is required");
    }
}
TEST(sessions, end_with_the_response_that_was_checked) {
    using namespace detail;
    const std::time_t now = std::time(nullptr);
    const struct {
        std::time_t until;
        bool kept;
    } cases[] = {{0, true}, {now + 60, true}, {now - 200, true}, {now - 300, false}};
    for (const auto& [until, kept] : cases) {
        server_sessions sessions(4, true);
        session_ptr one(SSL_SESSION_new());
        SSL_SESSION_set_timeout(one.get(), 3600);
        ASSERT_TRUE(set_ocsp_until(*one, until));
        EXPECT_EQ(ocsp_until(*one), until);
        const session_ptr copy(SSL_SESSION_dup(one.get()));
        EXPECT_EQ(ocsp_until(*copy), until);
        sessions.put(std::move(one));
        EXPECT_EQ(sessions.get() != nullptr, kept) << until - now;
    }
}
TEST_P(stapling, mistakes_are_told_at_the_start) {
    const auto b = files.issue("b", {.name = "b", .alternatives = "DNS:b"});
    server.certificates.push_back({b.certificate, b.key});
    certificate_source& second = server.certificates[1];
    second.ocsp_response_der = about(server.certificates[0]);
    EXPECT_EQ(why_not(),
              "certificates[1]: the OCSP response in ocsp_response_der is for another certificate");
    second.ocsp_response_der = about(second).substr(0, 50);
    EXPECT_EQ(why_not(), "certificates[1]: the OCSP response in ocsp_response_der is malformed");
    second.ocsp_response_der = about(second, {.until = std::nullopt});
    EXPECT_EQ(why_not(),
              "certificates[1]: the OCSP response in ocsp_response_der does not say when it ends "
              "(nextUpdate)");
    second.ocsp_response_der = about(second);
    second.ocsp_response_file = files.path("none.der");
    EXPECT_EQ(why_not(), "certificates[1]: the OCSP response: " + files.path("none.der") +
                             " and ocsp_response_der; give one");
    second.ocsp_response_der.clear();
    EXPECT_EQ(why_not(), "certificates[1]: the OCSP response in " + files.path("none.der") +
                             " cannot be read: No such file or directory");
    second.ocsp_response_file = files.text_file("long.der", std::string(100'000, '0'));
    EXPECT_EQ(why_not(), "certificates[1]: the OCSP response in " + files.path("long.der") +
                             " is longer than 16000 bytes");
    client.insecure = true;
    for (const ocsp_response wanted : {ocsp_response::asked, ocsp_response::required}) {
        client.ocsp = wanted;
        const auto made = client_context::create(client);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, errc::bad_argument);
        EXPECT_EQ(made.error().message, "ocsp: an insecure client checks no certificate");
    }
}

struct stapling_with_openssl : testing::openssl_peers {
    std::string der = make_ocsp_response(files, names.certificate);

    int of_openssl(version v) { return v == version::tls_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION; }
};
WIRE_WITH_EACH_RECORD_LAYER(stapling_with_openssl);

TEST_P(stapling_with_openssl, our_server_sends_what_it_was_given) {
    server_options options;
    options.certificates = {{names.certificate, names.key}};
    options.certificates[0].ocsp_response_der = der;
    options.records = GetParam();
    const auto server = *server_context::create(options);
    for (const version v : both) {
        for (const bool asked : {false, true}) {
            ctx.reset(SSL_CTX_new(TLS_client_method()));
            SSL_CTX_set_max_proto_version(ctx.get(), of_openssl(v));
            if (asked) SSL_CTX_set_tlsext_status_type(ctx.get(), TLSEXT_STATUSTYPE_ocsp);
            testing::ssl_ptr ssl(SSL_new(ctx.get()));
            SSL_set_connect_state(ssl.get());
            begin_with_their_client(std::move(ssl), *server->accept());
            const char* got = nullptr;
            const long size = SSL_get_tlsext_status_ocsp_resp(theirs->ssl.get(), &got);
            if (asked) {
                ASSERT_GT(size, 0);
                EXPECT_TRUE(std::string(got, static_cast<std::size_t>(size)) == der);
            } else {
                EXPECT_LE(size, 0);
            }
            converse();
        }
    }
}
TEST_P(stapling_with_openssl, our_client_checks_what_it_gets) {
    client_options options;
    options.ca_file = files.ca_file();
    options.records = GetParam();
    options.ocsp = ocsp_response::required;
    const std::string revoked =
        make_ocsp_response(files, names.certificate, {.status = V_OCSP_CERTSTATUS_REVOKED});
    for (const version v : both) {
        for (const std::string& sent : {der, revoked}) {
            start_their_server();
            SSL_CTX_set_max_proto_version(ctx.get(), of_openssl(v));
            SSL_CTX_set_tlsext_status_cb(
                ctx.get(), +[](SSL* ssl, void* what) {
                    const auto& text = *static_cast<const std::string*>(what);
                    SSL_set_tlsext_status_ocsp_resp(ssl, OPENSSL_memdup(text.data(), text.size()),
                                                    static_cast<long>(text.size()));
                    return SSL_TLSEXT_ERR_OK;
                });
            SSL_CTX_set_tlsext_status_arg(ctx.get(), const_cast<std::string*>(&sent));
            begin_with_their_server(**client_context::create(options));
            EXPECT_EQ(ours->is_open(), sent == der);
            if (sent == der) {
                EXPECT_TRUE(ours->info().certificate->ocsp_good);
                converse();
            } else {
                EXPECT_EQ(failed.message,
                          "TLS handshake: the OCSP response says that the certificate is revoked");
            }
            failed = {};
        }
    }
}

}  // namespace wire::tls::stapling_test
