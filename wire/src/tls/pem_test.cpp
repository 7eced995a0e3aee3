// Certificates, keys and authorities from memory, and encrypted keys.
#include "pem.hpp"

#include <fstream>
#include <sstream>

#include "tls_contexts.hpp"

namespace wire::tls::pem_test {

using testing::certificates;

std::string text_of(const std::string& file) {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
}

struct pem_contexts : testing::contexts {
    certificates::files me = files.issue("me", {.name = "me"});

    void from_memory() {
        certificate_source& c = server.certificates[0];
        c.certificate_pem = text_of(c.certificate_file);
        c.key_pem = text_of(c.key_file);
        c.certificate_file = c.key_file = "";
        client.ca_pem = server.client_ca_pem = text_of(files.ca_file());
        client.ca_file = "";
        server.client = client_certificate::required;
        client.certificate_pem = text_of(me.certificate);
        client.key_pem = text_of(me.key);
    }
};
INSTANTIATE_TEST_SUITE_P(records, pem_contexts, ::testing::Values(record_layer::openssl));

TEST_P(pem_contexts, need_no_files) {
    from_memory();
    const pair p = meet();
    expect_open(p);
    EXPECT_EQ(p.c.tls->info().peer, "localhost");
    EXPECT_EQ(p.s.tls->info().peer, "me");
    client.ca_pem = text_of(files.other_ca_file());
    expect_refused(meet(), "the server's certificate is not to be trusted");
}
TEST_P(pem_contexts, take_chains_and_several_authorities) {
    from_memory();
    server.certificates[0].certificate_pem += text_of(files.ca_file());
    client.ca_pem = text_of(files.other_ca_file()) + "a comment\n" + text_of(files.ca_file());
    expect_open(meet());
}
TEST_P(pem_contexts, reload_takes_other_text) {
    from_memory();
    client.resume = false;
    const auto ours = a_client();
    const auto theirs = a_server();
    const auto next = files.issue("next", {.name = "next", .alternatives = "DNS:localhost"});
    certificate_source fresh;
    fresh.certificate_pem = text_of(next.certificate);
    fresh.key_pem = text_of(next.key);
    ASSERT_TRUE(theirs->reload({fresh}));
    EXPECT_EQ(meet(*ours, *theirs).c.tls->info().peer, "next");
    ASSERT_TRUE(theirs->reload());
    EXPECT_EQ(meet(*ours, *theirs).c.tls->info().peer, "next");
    // What fails changes nothing, also not for the next reload().
    EXPECT_EQ(theirs->reload(std::vector<certificate_source>{}).error().message,
              "a TLS server needs at least one certificate");
    EXPECT_EQ(theirs->reload({fresh}, "nothing").error().message,
              "cannot use the authorities in client_ca_pem: no start line");
    ASSERT_TRUE(theirs->reload());
    EXPECT_EQ(meet(*ours, *theirs).c.tls->info().peer, "next");
    ASSERT_TRUE(theirs->reload({fresh}, text_of(files.other_ca_file())));
    EXPECT_FALSE(meet(*ours, *theirs).s.tls->is_open());
}
TEST_P(pem_contexts, keys_may_have_passwords) {
    const auto with = [this](auto change) {
        server.certificates[0].key_password = "";
        server.certificates[0].ask_key_password = nullptr;
        change(server.certificates[0]);
        const auto made = server_context::create(server);
        return made ? "" : made.error().message;
    };
    const std::string locked = files.lock(server.certificates[0].key_file, "locked.key");
    for (const bool in_memory : {false, true}) {
        certificate_source& c = server.certificates[0];
        c.key_file = in_memory ? "" : locked;
        c.key_pem = in_memory ? text_of(locked) : "";
        const std::string name = "cannot use the key in " + (in_memory ? "key_pem" : locked);
        EXPECT_EQ(with([](auto&) {}), name + ": it is encrypted, and no key_password is given");
        EXPECT_EQ(with([](auto& c) { c.key_password = "wrong"; }),
                  name + ": key_password is not its password, or it is damaged");
        EXPECT_EQ(with([](auto& c) { c.key_password.assign(1024, 'x'); }),
                  name + ": key_password is longer than 1023 bytes");
        EXPECT_EQ(with([](auto& c) { c.key_password = "secret"; }), "");
        expect_open(meet());
        int asked = 0;
        EXPECT_EQ(with([&](auto& c) {
                      c.ask_key_password = [&] {
                          ++asked;
                          return std::string("secret");
                      };
                  }),
                  "");
        EXPECT_EQ(asked, 1);
        const auto theirs = a_server();
        ASSERT_TRUE(theirs->reload());
        EXPECT_EQ(asked, 3);
        expect_open(meet(*a_client(), *theirs));
    }
    client.certificate_file = files.path("localhost.pem");
    client.key_file = locked;
    client.key_password = "secret";
    EXPECT_TRUE(client_context::create(client));
}
// A terminal would be asked for the password, and the program wait there.
TEST_P(pem_contexts, certificates_have_none) {
    std::string text = text_of(server.certificates[0].certificate_file);
    text.insert(text.find('\n') + 1,
                "Proc-Type: 4,ENCRYPTED\n"
                "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n");
    client.ca_file = server.certificates[0].certificate_file = files.text_file("locked.pem", text);
    EXPECT_EQ(server_context::create(server).error().message,
              "cannot use the certificate in " + client.ca_file + ": bad password read");
    EXPECT_EQ(client_context::create(client).error().message,
              "cannot use the authorities in " + client.ca_file + ": bad password read");
}
TEST_P(pem_contexts, one_place_for_each) {
    const std::string file = server.certificates[0].certificate_file;
    server.certificates[0].certificate_pem = "x";
    EXPECT_EQ(server_context::create(server).error().message,
              "the certificate: " + file + " and certificate_pem; give one");
    server.certificates[0].certificate_file = "";
    EXPECT_EQ(server_context::create(server).error().message,
              "cannot use the certificate in certificate_pem: no start line");
    server.certificates[0].certificate_pem = text_of(file);
    server.certificates[0].key_file = "";
    EXPECT_EQ(server_context::create(server).error().message,
              "the key: neither a file nor key_pem is given");
    // Damaged behind its first certificate.
    server.certificates[0].certificate_pem += "-----BEGIN CERTIFICATE-----\nAAAA\n";
    EXPECT_EQ(server_context::create(server).code(), errc::tls_failed);
    client.ca_pem = text_of(client.ca_file);
    EXPECT_EQ(client_context::create(client).code(), errc::bad_argument);
}

}  // namespace wire::tls::pem_test
