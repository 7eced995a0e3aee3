// Both roles in memory, without sockets: what one says is handed to the other, cut as the test
// likes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "engine.hpp"
#include "record_layers.hpp"
#include "tls_contexts.hpp"
#include "wire/tls/client_context.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::tls::engine_test {

using testing::certificates;
using testing::contexts;
using testing::party;

WIRE_WITH_EACH_RECORD_LAYER(contexts);

TEST_P(contexts, carry_bytes_both_ways_in_either_version) {
    for (const version v : {version::tls_1_2, version::tls_1_3}) {
        client.min_version = client.max_version = v;
        auto [c, s] = meet();
        ASSERT_TRUE(c.tls->is_open() && s.tls->is_open()) << c.failed.message << s.failed.message;
        const auto info = c.tls->info();
        EXPECT_EQ(info.version, v == version::tls_1_3 ? "TLSv1.3" : "TLSv1.2");
        EXPECT_EQ(info.protocol, "http/1.1");
        EXPECT_EQ(info.peer, "localhost");
        EXPECT_FALSE(info.resumed);
        EXPECT_EQ(s.tls->info().cipher, info.cipher);
        EXPECT_EQ(s.tls->info().peer, "");
        std::string large;
        for (int i = 0; large.size() < 100'000; ++i) large += std::to_string(i);
        c.say(large);
        s.say("hello");
        EXPECT_EQ(c.to_peer.view().find("1234567"), std::string_view::npos);
        talk(c, s);
        EXPECT_TRUE(s.heard == large);
        EXPECT_EQ(c.heard, "hello");
    }
}
TEST_P(contexts, handshake_and_data_cut_at_every_byte) {
    for (const version v : {version::tls_1_2, version::tls_1_3}) {
        client.max_version = v;
        auto [c, s] = pair{from(a_client()->connect("localhost", 443)), from(a_server()->accept())};
        for (bool spoken = false; !spoken || !c.to_peer.empty() || !s.to_peer.empty();) {
            for (const char byte : c.said()) ASSERT_TRUE(s.take({&byte, 1}, 3)) << s.failed.message;
            for (const char byte : s.said()) ASSERT_TRUE(c.take({&byte, 1}, 3)) << c.failed.message;
            if (!spoken && c.tls->is_open() && s.tls->is_open()) {
                spoken = true;
                c.say("from the client");
                s.say("from the server");
                c.tls->finish(c.to_peer);
            }
        }
        EXPECT_EQ(s.heard, "from the client");
        EXPECT_EQ(c.heard, "from the server");
        EXPECT_TRUE(s.tls->has_ended());
        EXPECT_FALSE(c.tls->has_ended());
    }
}
TEST_P(contexts, flights_cut_in_two_at_every_place) {
    const auto ours = a_client();
    const auto theirs = a_server();
    std::size_t longest = 1;
    for (std::size_t cut = 1; cut < longest; cut += 7) {
        auto [c, s] = pair{from(ours->connect("localhost", 443)), from(theirs->accept())};
        ASSERT_TRUE(s.take(c.said()));
        const std::string flight = s.said();
        longest = flight.size();
        const std::size_t at = std::min(cut, longest - 1);  // no two are of one length
        ASSERT_TRUE(c.take(std::string_view(flight).substr(0, at)));
        EXPECT_FALSE(c.tls->is_open());
        ASSERT_TRUE(c.take(std::string_view(flight).substr(at)));
        EXPECT_TRUE(c.tls->is_open());
    }
    longest = 2;
    for (std::size_t cut = 1; cut < longest; cut += 7) {
        auto [c, s] = pair{from(ours->connect("localhost", 443)), from(theirs->accept())};
        const std::string flight = c.said();
        longest = flight.size();
        const std::size_t at = std::min(cut, longest - 1);  // no two are of one length
        ASSERT_TRUE(s.take(std::string_view(flight).substr(0, at)));
        EXPECT_TRUE(s.to_peer.empty());
        ASSERT_TRUE(s.take(std::string_view(flight).substr(at)));
        talk(c, s);
        EXPECT_TRUE(c.tls->is_open() && s.tls->is_open());
    }
}
TEST_P(contexts, data_behind_the_handshake_in_the_same_bytes) {
    auto [c, s] = pair{from(a_client()->connect("localhost", 443)), from(a_server()->accept())};
    ASSERT_TRUE(s.take(c.said()));
    ASSERT_TRUE(c.take(s.said()));
    c.say("at once");
    ASSERT_TRUE(s.take(c.said()));
    EXPECT_EQ(s.heard, "at once");
}
// What a call lends is its caller's again when it returns, also with an error.
TEST(engine, keeps_nothing_of_a_call_that_failed) {
    detail::ctx_ptr context(SSL_CTX_new(TLS_client_method()));
    detail::ssl_ptr ssl(SSL_new(context.get()));
    SSL_set_connect_state(ssl.get());
    SSL* const inside = ssl.get();
    const auto made = detail::engine::create(std::move(ssl), record_layer::openssl);
    ASSERT_TRUE(made);
    buffer to_peer;
    ASSERT_TRUE((*made)->begin(to_peer));
    char plain[100];
    const std::string_view garbage = "no record of TLS, and something behind it";
    EXPECT_FALSE((*made)->receive(garbage, plain, to_peer));
    to_peer.clear();
    EXPECT_LE(BIO_read(SSL_get_rbio(inside), plain, 1), 0);
    EXPECT_LE(BIO_write(SSL_get_wbio(inside), "x", 1), 0);
    EXPECT_TRUE(to_peer.empty());
}
TEST_P(contexts, changed_bytes_are_never_taken_for_data) {
    auto [c, s] = meet();
    c.say("exactly this");
    std::string record = c.said();
    record[record.size() / 2] = static_cast<char>(record[record.size() / 2] ^ 1);
    EXPECT_FALSE(s.take(record));
    EXPECT_EQ(s.failed.message, "TLS: decryption failed or bad record mac");
    EXPECT_EQ(s.heard, "");
    EXPECT_FALSE(s.to_peer.empty());  // the alert
}
TEST_P(contexts, garbage_instead_of_a_handshake) {
    {
        party c = from(a_client()->connect("localhost", 443));
        EXPECT_FALSE(c.take("HTTP/1.1 400 Bad Request\r\n\r\n"));
        EXPECT_EQ(c.failed.message,
                  "TLS handshake: wrong version number (does the server speak TLS on this port?)");
    }
    {
        party s = from(a_server()->accept());
        EXPECT_FALSE(s.take("GET / HTTP/1.1\r\n\r\n"));
        EXPECT_EQ(s.failed.message, "TLS handshake: http request");
    }
    const auto theirs = a_server();
    unsigned state = 1;
    for (int round = 0; round < 500; ++round) {
        std::string noise =
            round % 2 == 0 ? std::string("\x16\x03\x01\x00\x50\x01\x00\x00\x4c", 9) : std::string();
        for (int i = 0; i < 200; ++i)
            noise += static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
        party s = from(theirs->accept());
        s.take(noise);
        EXPECT_FALSE(s.tls->is_open());
    }
}
TEST_P(contexts, a_wrong_authority) {
    client.ca_file = files.other_ca_file();
    const pair p = meet();
    expect_refused(
        p, "the server's certificate is not to be trusted: unable to get local issuer certificate");
    EXPECT_EQ(p.s.failed.message, "TLS handshake: the peer's alert: unknown_ca");
}
TEST_P(contexts, the_systems_authorities_do_not_know_ours) {
    client.ca_file = "";
    expect_refused(meet(), "unable to get local issuer certificate");
}
TEST_P(contexts, insecure_only_when_asked_for) {
    client.ca_file = "";
    client.insecure = true;
    expect_open(meet("wrong.example"));
}
TEST_P(contexts, a_certificate_may_be_trusted_itself) {
    client.ca_file = server.certificates[0].certificate_file;
    expect_open(meet());
}
TEST_P(contexts, names_and_addresses_must_fit) {
    expect_open(meet("localhost"));
    expect_open(meet("localhost."));
    expect_open(meet("127.0.0.1"));
    expect_open(meet("::1"));
    expect_refused(meet("example.com"), "hostname mismatch");
    expect_refused(meet("127.0.0.2"), "IP address mismatch");
    client.server_name = "localhost";
    expect_open(meet("127.0.0.2"));
    client.server_name = "example.com";
    expect_refused(meet("localhost"), "hostname mismatch");
    client.server_name = "";
    for (const std::string& name : {std::string(300, 'x'), std::string(), std::string(".example"),
                                    std::string("localhost\0.example", 18)})
        EXPECT_EQ(a_client()->connect(name, 443).code(), errc::bad_argument) << name;
    client.server_name = std::string(300, 'x');
    EXPECT_EQ(a_client()->connect("localhost", 443).code(), errc::bad_argument);
}
// RFC 9525: not by the common name, and an address not by a DNS name that looks like it.
TEST_P(contexts, names_stand_in_the_subject_alternative_name_alone) {
    const auto serve = [this](const certificates::wishes& w) {
        const auto f = files.issue("named", w);
        server.certificates = {{f.certificate, f.key}};
    };
    serve({.name = "localhost"});
    expect_refused(meet(), "hostname mismatch");
    serve({.name = "localhost", .alternatives = "email:a@localhost"});
    expect_refused(meet(), "hostname mismatch");
    serve({.name = "127.0.0.1"});
    expect_refused(meet("127.0.0.1"), "IP address mismatch");
    serve({.name = "x", .alternatives = "DNS:127.0.0.1"});
    expect_refused(meet("127.0.0.1"), "IP address mismatch");
    serve({.name = "x", .alternatives = "IP:127.0.0.1,IP:2001:db8::1"});
    expect_open(meet("127.0.0.1"));
    expect_open(meet("2001:db8:0::1"));
    expect_refused(meet("2001:db8::2"), "IP address mismatch");
    // Nor does a server choose by the common name.
    const auto first = files.for_localhost();
    const auto second = files.issue("second", {.name = "second.example"});
    server.certificates = {{first.certificate, first.key}, {second.certificate, second.key}};
    client.insecure = true;
    EXPECT_EQ(meet("second.example").c.tls->info().peer, "localhost");
}
TEST_P(contexts, wildcards_stand_for_one_label) {
    const auto wild = files.issue("wild", {.name = "wild", .alternatives = "DNS:*.example.com"});
    server.certificates = {{wild.certificate, wild.key}};
    expect_open(meet("a.example.com"));
    expect_refused(meet("a.b.example.com"), "hostname mismatch");
    expect_refused(meet("example.com"), "hostname mismatch");
}
TEST_P(contexts, out_of_date) {
    const auto old = files.issue("old", {.name = "localhost",
                                         .alternatives = "DNS:localhost",
                                         .valid_from = -7200,
                                         .valid_until = -3600});
    server.certificates = {{old.certificate, old.key}};
    expect_refused(meet(), "certificate has expired");
    const auto early = files.issue(
        "early", {.name = "localhost", .alternatives = "DNS:localhost", .valid_from = 3600});
    server.certificates = {{early.certificate, early.key}};
    expect_refused(meet(), "certificate is not yet valid");
}
TEST_P(contexts, the_certificate_that_the_name_asks_for) {
    const auto a = files.issue("a", {.name = "a", .alternatives = "DNS:a.example"});
    const auto b = files.issue("b", {.name = "b", .alternatives = "DNS:b.example,DNS:*.b.example"});
    server.certificates.push_back({a.certificate, a.key});
    server.certificates.push_back({b.certificate, b.key});
    EXPECT_EQ(meet("a.example").c.tls->info().peer, "a");
    EXPECT_EQ(meet("b.example").c.tls->info().peer, "b");
    EXPECT_EQ(meet("www.b.example").c.tls->info().peer, "b");
    EXPECT_EQ(meet("127.0.0.1").c.tls->info().peer, "localhost");  // no name is sent for an address
    client.insecure = true;
    EXPECT_EQ(meet("unknown.example").c.tls->info().peer, "localhost");
}
TEST_P(contexts, protocols) {
    server.protocols = {"b", "a"};
    client.protocols = {"a", "b"};
    EXPECT_EQ(meet().c.tls->info().protocol, "b");
    client.protocols = {};
    EXPECT_EQ(meet().c.tls->info().protocol, "");
    client.protocols = {"c"};
    expect_refused(meet(), "the peer's alert: no_application_protocol");
    server.protocols = {};
    EXPECT_EQ(meet().c.tls->info().protocol, "");
    client.protocols = {""};
    EXPECT_EQ(client_context::create(client).error().message,
              "ALPN: '' is not from 1 to 255 bytes long");
    client.protocols.assign(300, std::string(255, 'x'));
    EXPECT_EQ(client_context::create(client).code(), errc::bad_argument);
}
// Of the certificate that a client asks for by name, whichever of the server's it is.
TEST_P(contexts, all_certificates_of_a_server_are_alike_in_all_else) {
    for (const std::string name : {"second.example", "third.example"}) {
        const auto more = files.issue(name, {.name = name, .alternatives = "DNS:" + name});
        server.certificates.push_back({more.certificate, more.key});
    }
    const auto me = files.issue("me", {.name = "me"});
    const auto stranger = files.issue("stranger", {.name = "stranger", .signed_by_other = true});
    server.protocols = {"b", "a"};
    server.tickets_with_client_certificates = true;
    server.client_ca_file = files.ca_file();
    client.protocols = {"a", "b"};
    for (const auto asked : {client_certificate::not_asked, client_certificate::optional,
                             client_certificate::required}) {
        server.client = asked;
        const auto theirs = a_server();
        for (const bool reloaded : {false, true}) {
            if (reloaded) {
                ASSERT_TRUE(theirs->reload());
            }
            for (const version v : {version::tls_1_2, version::tls_1_3}) {
                client.max_version = v;
                client.protocols = {"a", "b"};
                client.certificate_file = me.certificate;
                client.key_file = me.key;
                const auto ours = a_client();
                for (const std::string name : {"localhost", "second.example", "third.example"}) {
                    const pair first = meet(*ours, *theirs, name);
                    expect_open(first);
                    EXPECT_EQ(first.c.tls->info().peer, name);
                    EXPECT_EQ(first.c.tls->info().protocol, "b");
                    EXPECT_EQ(first.s.tls->info().protocol, "b");
                    const std::string_view seen =
                        asked == client_certificate::not_asked ? "" : "me";
                    EXPECT_EQ(first.s.tls->info().peer, seen);
                    const pair again = meet(*ours, *theirs, name);
                    expect_open(again);
                    EXPECT_TRUE(again.c.tls->info().resumed) << name;
                    EXPECT_EQ(again.s.tls->info().peer, seen);
                    EXPECT_EQ(again.s.tls->info().protocol, "b");
                }
                client.certificate_file = client.key_file = "";
                for (const std::string name : {"localhost", "second.example"}) {
                    const bool open = meet(*a_client(), *theirs, name).s.tls->is_open();
                    EXPECT_EQ(open, asked != client_certificate::required) << name;
                }
                if (asked != client_certificate::not_asked) {
                    client.certificate_file = stranger.certificate;
                    client.key_file = stranger.key;
                    for (const std::string name : {"localhost", "second.example"})
                        EXPECT_FALSE(meet(*a_client(), *theirs, name).s.tls->is_open()) << name;
                }
                client.protocols = {"c"};
                client.certificate_file = me.certificate;
                client.key_file = me.key;
                for (const std::string name : {"localhost", "third.example"})
                    expect_refused(meet(*a_client(), *theirs, name),
                                   "the peer's alert: no_application_protocol");
            }
        }
    }
}
TEST_P(contexts, versions) {
    server.max_version = version::tls_1_2;
    client.min_version = version::tls_1_3;
    expect_refused(meet(), "protocol_version");
    client.max_version = version::tls_1_2;
    EXPECT_EQ(client_context::create(client).error().message,
              "TLS versions: the lowest is above the highest");
}
TEST_P(contexts, certificates_of_clients) {
    server.client_ca_file = files.ca_file();
    const auto me = files.issue("me", {.name = "me"});
    for (const version v : {version::tls_1_2, version::tls_1_3}) {
        client.max_version = v;
        client.certificate_file = client.key_file = "";
        server.client = client_certificate::required;
        pair without = meet();
        EXPECT_EQ(without.s.failed.message, "TLS handshake: peer did not return a certificate");
        EXPECT_TRUE(without.c.failed);  // in TLS 1.3 after its own handshake is complete
        server.client = client_certificate::optional;
        expect_open(meet());
        client.certificate_file = me.certificate;
        client.key_file = me.key;
        EXPECT_EQ(meet().s.tls->info().peer, "me");
        server.client = client_certificate::required;
        EXPECT_EQ(meet().s.tls->info().peer, "me");
    }
    server.client_ca_file = files.other_ca_file();
    EXPECT_NE(meet().s.failed.message.find("the client's certificate is not to be trusted"),
              std::string::npos);
    server.client_ca_file = "";
    EXPECT_EQ(server_context::create(server).error().message,
              "to check clients' certificates takes authorities");
    client.key_file = "";
    EXPECT_EQ(client_context::create(client).code(), errc::bad_argument);
}
TEST_P(contexts, sessions_are_taken_up_again) {
    for (const version v : {version::tls_1_2, version::tls_1_3}) {
        client.max_version = v;
        const auto ours = a_client();
        const auto theirs = a_server();
        EXPECT_FALSE(meet(*ours, *theirs).c.tls->info().resumed);
        for (int i = 0; i < 5; ++i) {
            const pair again = meet(*ours, *theirs);
            EXPECT_TRUE(again.c.tls->info().resumed) << i;
            EXPECT_TRUE(again.s.tls->info().resumed);
        }
        // Not with another server name, nor with a server that cannot read the ticket.
        EXPECT_FALSE(meet(*ours, *theirs, "127.0.0.1").c.tls->info().resumed);
        EXPECT_FALSE(meet(*ours, *a_server()).c.tls->info().resumed);
    }
}
TEST_P(contexts, a_ticket_serves_once_unless_allowed_otherwise) {
    client.max_sessions_per_server = 1;
    for (const bool once : {true, false}) {
        client.single_use_tickets = once;
        const auto ours = a_client();
        const auto theirs = a_server();
        meet(*ours, *theirs);
        pair a{from(ours->connect("localhost", 443)), from(theirs->accept())};
        pair b{from(ours->connect("localhost", 443)), from(theirs->accept())};
        talk(a.c, a.s);
        talk(b.c, b.s);
        EXPECT_TRUE(a.c.tls->info().resumed);
        EXPECT_EQ(b.c.tls->info().resumed, !once);
    }
}
TEST_P(contexts, resumption_can_be_switched_off_on_either_side) {
    for (const version v : {version::tls_1_2, version::tls_1_3}) {
        client.max_version = v;
        client.resume = false;
        server.tickets = true;
        {
            const auto ours = a_client();
            const auto theirs = a_server();
            meet(*ours, *theirs);
            EXPECT_FALSE(meet(*ours, *theirs).c.tls->info().resumed);
        }
        client.resume = true;
        server.tickets = false;
        const auto ours = a_client();
        const auto theirs = a_server();
        meet(*ours, *theirs);
        EXPECT_FALSE(meet(*ours, *theirs).c.tls->info().resumed);
    }
}
TEST_P(contexts, the_cache_of_sessions_is_bounded) {
    client.max_servers = 2;
    client.insecure = true;
    const auto ours = a_client();
    const auto theirs = a_server();
    for (const char* host : {"a", "b", "c"}) meet(*ours, *theirs, host);
    EXPECT_TRUE(meet(*ours, *theirs, "c").c.tls->info().resumed);
    EXPECT_TRUE(meet(*ours, *theirs, "b").c.tls->info().resumed);
    EXPECT_FALSE(meet(*ours, *theirs, "a").c.tls->info().resumed);
}
TEST_P(contexts, reload_takes_new_files_and_keeps_old_connections_and_tickets) {
    const auto ours = a_client();
    const auto theirs = a_server();
    pair before = meet(*ours, *theirs);
    pair half{from(ours->connect("localhost", 443)), from(theirs->accept())};
    const auto next =
        files.issue("localhost", {.name = "renewed", .alternatives = "DNS:localhost"});
    ASSERT_EQ(next.certificate, server.certificates[0].certificate_file);
    ASSERT_TRUE(theirs->reload());
    client.resume = false;
    EXPECT_EQ(meet(*a_client(), *theirs).c.tls->info().peer, "renewed");
    EXPECT_TRUE(meet(*ours, *theirs).c.tls->info().resumed);
    talk(half.c, half.s);
    expect_open(half);
    before.c.say("still here");
    talk(before.c, before.s);
    EXPECT_EQ(before.s.heard, "still here");

    files.text_file("localhost.pem", "nothing");
    EXPECT_EQ(theirs->reload().error().message,
              "cannot use the certificate in " + next.certificate + ": no start line");
    EXPECT_EQ(meet(*a_client(), *theirs).c.tls->info().peer, "renewed");
}
TEST_P(contexts, the_end_is_told_apart) {
    auto [c, s] = meet();
    s.say("last");
    s.tls->finish(s.to_peer);
    talk(c, s);
    EXPECT_EQ(c.heard, "last");
    EXPECT_TRUE(c.tls->has_ended());
    c.say("the other direction goes on");
    talk(c, s);
    EXPECT_EQ(s.heard, "the other direction goes on");
    EXPECT_FALSE(s.tls->has_ended());
}
TEST_P(contexts, files_that_are_no_use_are_named_with_the_reason) {
    const auto ours = files.for_localhost();
    const auto theirs = files.issue("theirs", {.name = "x"});
    const auto fails = [&](const std::string& certificate, const std::string& key,
                           const std::string& message) {
        server.certificates = {{certificate, key}};
        EXPECT_EQ(server_context::create(server).error().message, message);
        client.certificate_file = certificate;
        client.key_file = key;
        EXPECT_EQ(client_context::create(client).error().message, message);
    };
    const std::string missing = files.path("missing.pem");
    const std::string empty = files.text_file("empty.pem", "");
    const std::string locked = files.encrypted_key("locked.key");
    fails(missing, ours.key,
          "cannot use the certificate in " + missing + ": No such file or directory");
    fails(empty, ours.key, "cannot use the certificate in " + empty + ": no start line");
    fails(ours.certificate, missing,
          "cannot use the key in " + missing + ": No such file or directory");
    fails(ours.certificate, theirs.key,
          "the key in " + theirs.key + " is not that of the certificate in " + ours.certificate);
    fails(ours.certificate, locked,
          "cannot use the key in " + locked + ": it is encrypted, and no key_password is given");
    client.certificate_file = client.key_file = "";
    client.ca_file = missing;
    EXPECT_EQ(client_context::create(client).error().message,
              "cannot use the authorities in " + missing + ": No such file or directory");
    server.certificates = {};
    EXPECT_EQ(server_context::create(server).error().message,
              "a TLS server needs at least one certificate");
}

}  // namespace wire::tls::engine_test
