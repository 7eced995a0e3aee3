// OpenSSL's whole TLS as the peer of ours, in memory.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "certificates.hpp"
#include "tls/openssl.hpp"
#include "wire/tls/client_context.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::testing {

using tls::detail::ctx_ptr;
using tls::detail::ssl_ptr;

// OpenSSL with two memory BIOs.
struct openssl_peer {
    ssl_ptr ssl;
    std::string heard;
    bool ended = false;
    int failed = 0;

    explicit openssl_peer(ssl_ptr made) : ssl(std::move(made)) {
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

// Our end, of either record layer, and theirs.
struct openssl_peers : ::testing::TestWithParam<tls::record_layer> {
    certificates files;
    certificates::files names = files.for_localhost();
    ctx_ptr ctx;
    std::unique_ptr<tls::connection> ours;
    std::unique_ptr<openssl_peer> theirs;
    std::string heard;
    error failed;

    std::shared_ptr<tls::client_context> a_client(bool resume = true) const {
        tls::client_options options;
        options.ca_file = files.ca_file();
        options.resume = resume;
        options.records = GetParam();
        return *tls::client_context::create(options);
    }
    void start_their_server() {
        ctx.reset(SSL_CTX_new(TLS_server_method()));
        ASSERT_EQ(SSL_CTX_use_certificate_chain_file(ctx.get(), names.certificate.c_str()), 1);
        ASSERT_EQ(SSL_CTX_use_PrivateKey_file(ctx.get(), names.key.c_str(), SSL_FILETYPE_PEM), 1);
    }
    void begin_with_their_server(tls::client_context& client) {
        begin_with_their_server(*client.connect("localhost", 443));
    }
    void begin_with_their_server(std::unique_ptr<tls::connection> client) {
        ssl_ptr ssl(SSL_new(ctx.get()));
        SSL_set_accept_state(ssl.get());
        theirs = std::make_unique<openssl_peer>(std::move(ssl));
        ours = std::move(client);
        talk([&](buffer& to_peer) { ASSERT_TRUE(ours->begin(to_peer)); });
    }
    std::shared_ptr<tls::server_context> a_server() const {
        tls::server_options options;
        options.certificates = {{names.certificate, names.key}};
        options.records = GetParam();
        auto made = tls::server_context::create(options);
        EXPECT_TRUE(made);
        return *made;
    }
    void begin_with_their_client() {
        ssl_ptr ssl(SSL_new(ctx.get()));
        SSL_set_connect_state(ssl.get());
        begin_with_their_client(std::move(ssl), *a_server()->accept());
    }
    void begin_with_their_client(ssl_ptr ssl, std::unique_ptr<tls::connection> server) {
        theirs = std::make_unique<openssl_peer>(std::move(ssl));
        ours = std::move(server);
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

}  // namespace wire::testing
