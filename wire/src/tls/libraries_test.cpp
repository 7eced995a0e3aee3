// Other TLS libraries as peers, by their programs: GnuTLS's (Debian: gnutls-bin) and those of NSS,
// which browsers use (libnss3-tools). Each exchange is one GET over TLS 1.2 and over 1.3.
#include <gtest/gtest.h>

#include <string>

#include "certificates.hpp"
#include "command.hpp"
#include "record_layers.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"

namespace wire::tls::libraries_test {

using testing::command_server;
using testing::output_of;

struct libraries : ::testing::TestWithParam<record_layer> {
    testing::certificates files;
    testing::certificates::files names = files.for_localhost();
    const std::string request =
        files.text_file("request", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    // Longer than a record.
    const std::string body = std::string(40'000, 'b') + "the end";

    // What a program hears from our server at the end of `command`.
    std::string told(const std::string& command, const std::string& port_option) {
        server_options ours;
        ours.certificates = {{names.certificate, names.key}};
        ours.records = GetParam();
        http::server_options options;
        options.tls = *server_context::create(ours);
        testing::served s([this](http::response res) { res.send(body); }, std::move(options));
        return output_of("timeout 20 " + command + " " + port_option + " " +
                         std::to_string(s.port()) + " 2>&1");
    }
    void expect_reply(const std::string& heard) {
        EXPECT_NE(heard.find("HTTP/1.1 200 OK"), std::string::npos) << heard;
        EXPECT_NE(heard.find(body), std::string::npos);
    }
    void expect_reply_from(std::uint16_t port, version v) {
        client_options trusting;
        trusting.ca_file = files.ca_file();
        trusting.records = GetParam();
        trusting.min_version = trusting.max_version = v;
        http::client_options options;
        options.tls = *client_context::create(trusting);
        auto client = *http::client::create(options);
        // The second resumes the first one's session.
        for (int i = 0; i < 2; ++i) {
            const auto got = client.get("https://127.0.0.1:" + std::to_string(port) + "/");
            ASSERT_TRUE(got) << got.error().message;
            EXPECT_EQ(got->status(), 200);
            EXPECT_FALSE(got->body().empty());
        }
    }
    // NSS keeps certificates and keys in a database.
    std::string database() {
        const std::string folder = files.path("nss");
        const std::string at = "-d sql:" + folder;
        output_of("mkdir " + folder + " && certutil -N --empty-password " + at +
                  " && certutil -A -n authority -t C,, -a -i " + files.ca_file() + " " + at +
                  " && openssl pkcs12 -export -name ours -passout pass: -in " + names.certificate +
                  " -inkey " + names.key + " -out " + folder + "/ours.p12 && pk12util -W '' -i " +
                  folder + "/ours.p12 " + at);
        return at;
    }
};
WIRE_WITH_EACH_RECORD_LAYER(libraries);

TEST_P(libraries, gnutls_asks_our_server) {
    if (!testing::is_installed("gnutls-cli")) GTEST_SKIP() << "no gnutls-cli";
    for (const std::string v : {"TLS1.2", "TLS1.3"}) {
        expect_reply(told("gnutls-cli --x509cafile " + files.ca_file() +
                              " --verify-hostname=localhost --sni-hostname=localhost --alpn "
                              "http/1.1 --priority NORMAL:-VERS-ALL:+VERS-" +
                              v + " 127.0.0.1 <" + request,
                          "-p"));
    }
}
TEST_P(libraries, gnutls_answers_our_client) {
    if (!testing::is_installed("gnutls-serv")) GTEST_SKIP() << "no gnutls-serv";
    const std::uint16_t port = testing::free_port();
    const command_server s("gnutls-serv --http --quiet -p " + std::to_string(port) +
                               " --x509certfile " + names.certificate + " --x509keyfile " +
                               names.key,
                           port);
    expect_reply_from(port, version::tls_1_2);
    expect_reply_from(port, version::tls_1_3);
}
TEST_P(libraries, nss_asks_our_server) {
    if (!testing::is_installed("tstclnt")) GTEST_SKIP() << "no tstclnt";
    const std::string at = database();
    for (const std::string v : {"tls1.2", "tls1.3"})
        expect_reply(
            told("tstclnt -h 127.0.0.1 " + at + " -V " + v + ":" + v + " -A " + request, "-p"));
}
TEST_P(libraries, nss_answers_our_client) {
    if (!testing::is_installed("selfserv")) GTEST_SKIP() << "no selfserv";
    const std::uint16_t port = testing::free_port();
    // -u: with session tickets.
    const command_server s(
        "selfserv " + database() + " -n ours -u -V tls1.2:tls1.3 -p " + std::to_string(port), port);
    expect_reply_from(port, version::tls_1_2);
    expect_reply_from(port, version::tls_1_3);
}

}  // namespace wire::tls::libraries_test
