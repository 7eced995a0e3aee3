// Our ends of TLS 1.3 with OpenSSL's whole one as the peer, in memory.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "certificates.hpp"
#include "openssl.hpp"
#include "wire/tls/client_context.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::tls {
namespace {

using detail::ctx_ptr;
using detail::ssl_ptr;

// OpenSSL with two memory BIOs.
struct peer {
    ssl_ptr ssl;
    std::string heard;
    bool ended = false;
    int failed = 0;

    explicit peer(ssl_ptr made) : ssl(std::move(made)) {
        SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    }

    void take(std::string_view raw) {
        if (!raw.empty())
            BIO_write(SSL_get_rbio(ssl.get()), raw.data(), static_cast<int>(raw.size()));
        char plain[4096];
        for (;;) {
            const int n = SSL_read(ssl.get(), plain, sizeof plain);
            if (n > 0) {
                heard.append(plain, static_cast<std::size_t>(n));
                continue;
            }
            const int why = SSL_get_error(ssl.get(), n);
            ended = why == SSL_ERROR_ZERO_RETURN;
            if (!ended && why != SSL_ERROR_WANT_READ) failed = why;
            return;
        }
    }
    void say(std::string_view text) {
        EXPECT_EQ(SSL_write(ssl.get(), text.data(), static_cast<int>(text.size())),
                  static_cast<int>(text.size()));
    }
    std::string said() {
        std::string out(BIO_ctrl_pending(SSL_get_wbio(ssl.get())), '\0');
        if (!out.empty())
            BIO_read(SSL_get_wbio(ssl.get()), out.data(), static_cast<int>(out.size()));
        return out;
    }
};

struct interoperation : ::testing::Test {
    testing::certificates files;
    testing::certificates::files names = files.for_localhost();
    ctx_ptr ctx;
    std::unique_ptr<connection> ours;
    std::unique_ptr<peer> theirs;
    std::string heard;
    error failed;

    std::shared_ptr<client_context> a_client(bool resume = true) const {
        client_options options;
        options.ca_file = files.ca_file();
        options.resume = resume;
        return *client_context::create(options);
    }
    void start_their_server() {
        ctx.reset(SSL_CTX_new(TLS_server_method()));
        ASSERT_EQ(SSL_CTX_use_certificate_chain_file(ctx.get(), names.certificate.c_str()), 1);
        ASSERT_EQ(SSL_CTX_use_PrivateKey_file(ctx.get(), names.key.c_str(), SSL_FILETYPE_PEM), 1);
    }
    void begin_with_their_server(client_context& client) {
        ssl_ptr ssl(SSL_new(ctx.get()));
        SSL_set_accept_state(ssl.get());
        theirs = std::make_unique<peer>(std::move(ssl));
        ours = *client.connect("localhost", 443);
        talk([&](buffer& to_peer) { ASSERT_TRUE(ours->begin(to_peer)); });
    }
    void begin_with_their_client() {
        server_options options;
        options.certificates = {{names.certificate, names.key}};
        const auto server = server_context::create(options);
        ASSERT_TRUE(server);
        ssl_ptr ssl(SSL_new(ctx.get()));
        SSL_set_connect_state(ssl.get());
        theirs = std::make_unique<peer>(std::move(ssl));
        ours = *(*server)->accept();
        theirs->take("");
        talk();
    }
    // Says what `first` appends, then to and fro until both are silent.
    void talk(const std::function<void(buffer&)>& first = [](buffer&) {}) {
        buffer to_peer;
        first(to_peer);
        std::string plain(1000, '\0');
        for (;;) {
            theirs->take(to_peer.view());
            to_peer.clear();
            const std::string raw = theirs->said();
            if (raw.empty()) return;
            std::span<const char> left(raw.data(), raw.size());
            for (bool more = true; more;) {
                const bool was_open = ours->is_open();
                const auto s = ours->receive(left, plain, to_peer);
                if (!s) {
                    failed = s.error();
                    break;
                }
                heard.append(plain, 0, s->produced);
                left = left.subspan(s->consumed);
                more = was_open != ours->is_open() || s->produced == plain.size();
            }
        }
    }
    void say(std::string_view text) {
        talk([&](buffer& to_peer) { ASSERT_TRUE(ours->send(text, to_peer)); });
    }
    // To and fro, and with new keys that either side begins and asks for.
    void converse() {
        ASSERT_TRUE(ours->is_open()) << failed.message;
        std::string large;
        for (int i = 0; large.size() < 70'000; ++i) large += std::to_string(i);
        for (const int kind : {-1, SSL_KEY_UPDATE_NOT_REQUESTED, SSL_KEY_UPDATE_REQUESTED, -1}) {
            heard.clear();
            theirs->heard.clear();
            if (kind >= 0 && SSL_version(theirs->ssl.get()) == TLS1_3_VERSION) {
                ASSERT_EQ(SSL_key_update(theirs->ssl.get(), kind), 1);
            }
            theirs->say("from them");
            say(large);
            theirs->say(large);
            say("from us");
            EXPECT_FALSE(failed) << failed.message;
            EXPECT_EQ(theirs->failed, 0);
            EXPECT_TRUE(heard == "from them" + large);
            EXPECT_TRUE(theirs->heard == large + "from us");
        }
        talk([&](buffer& to_peer) { ours->finish(to_peer); });
        EXPECT_TRUE(theirs->ended);
        EXPECT_FALSE(ours->has_ended());
        SSL_shutdown(theirs->ssl.get());
        talk();
        EXPECT_TRUE(ours->has_ended());
    }
};

constexpr const char* suites[] = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                  "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256"};

TEST_F(interoperation, our_server_with_each_suite) {
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
TEST_F(interoperation, our_client_with_each_suite) {
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
TEST_F(interoperation, tls_1_2_with_either_role) {
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
TEST_F(interoperation, records_with_padding) {
    ctx.reset(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_block_padding(ctx.get(), 1024);
    begin_with_their_client();
    converse();
}
TEST_F(interoperation, any_number_of_tickets_serves_and_none_too) {
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
TEST_F(interoperation, a_ticket_that_comes_later_does_no_harm) {
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
TEST_F(interoperation, without_resumption) {
    const auto client = a_client(false);
    start_their_server();
    begin_with_their_server(*client);
    converse();
}
TEST_F(interoperation, a_retried_hello) {
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

}  // namespace
}  // namespace wire::tls
