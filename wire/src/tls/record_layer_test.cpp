// What OpenSSL agreed on and was configured with holds for records, whoever makes them; and key
// logs.
#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/evp.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms.hpp"
#include "engine.hpp"
#include "openssl_peer.hpp"
#include "pem.hpp"
#include "record_layers.hpp"

namespace wire::tls::record_layer_test {

using testing::ctx_ptr;
using testing::ssl_ptr;

struct record_layers : testing::openssl_peers {
    // A context of ours as create() makes it, for settings that only OpenSSL's configuration has.
    ctx_ptr our_context(const SSL_METHOD* method) {
        ctx_ptr made = *detail::new_context(method, detail::algorithms_of(client_options()));
        EXPECT_TRUE(detail::engine::log_keys(*made, GetParam(), {}));
        return made;
    }
    ssl_ptr our_server(SSL_CTX& made) {
        EXPECT_TRUE(detail::use_certificate(made, {names.certificate, names.key}));
        ssl_ptr ssl(SSL_new(&made));
        SSL_set_accept_state(ssl.get());
        return ssl;
    }
    ssl_ptr their_client() {
        ctx.reset(SSL_CTX_new(TLS_client_method()));
        ssl_ptr ssl(SSL_new(ctx.get()));
        SSL_set_connect_state(ssl.get());
        return ssl;
    }
    // The most that one record of our `text` carries behind its header.
    std::size_t longest_record(std::string_view text) {
        buffer out;
        EXPECT_TRUE(ours->send(text, out));
        std::size_t longest = 0;
        for (std::string_view left = out.view(); !left.empty();) {
            const auto octet = [&](std::size_t i) {
                return static_cast<std::size_t>(static_cast<unsigned char>(left[i]));
            };
            const std::size_t size = octet(3) << 8 | octet(4);
            longest = std::max(longest, size);
            left.remove_prefix(std::min(left.size(), 5 + size));
        }
        talk([&](buffer& to_peer) { to_peer.append(out.view()); });
        return longest;
    }
};
WIRE_WITH_EACH_RECORD_LAYER(record_layers);

TEST_P(record_layers, are_the_one_asked_for_and_openssls_in_tls_1_2) {
    begin_with_their_client(their_client(), *a_server()->accept());
    EXPECT_EQ(ours->info().records, GetParam());
    start_their_server();
    begin_with_their_server(*a_client());
    EXPECT_EQ(ours->info().records, GetParam());
    ssl_ptr older = their_client();
    SSL_set_max_proto_version(older.get(), TLS1_2_VERSION);
    begin_with_their_client(std::move(older), *a_server()->accept());
    EXPECT_EQ(ours->info().records, record_layer::openssl);
    converse();
}
// RFC 6066 section 4: a client with little memory. It refuses longer records.
TEST_P(record_layers, keep_the_length_that_was_agreed_on) {
    for (const int most : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        ssl_ptr small = their_client();
        SSL_set_max_proto_version(small.get(), most);
        ASSERT_EQ(SSL_set_tlsext_max_fragment_length(small.get(), TLSEXT_max_fragment_length_1024),
                  1);
        begin_with_their_client(std::move(small), *a_server()->accept());
        ASSERT_TRUE(ours->is_open()) << failed.message;
        EXPECT_EQ(ours->info().records, record_layer::openssl);
        const std::string reply(20'000, 'r');
        EXPECT_LE(longest_record(reply), 1024U + 256U);
        EXPECT_EQ(theirs->failed, 0);
        EXPECT_TRUE(theirs->heard == reply);
        theirs->heard.clear();
        converse();
    }
}
TEST_P(record_layers, are_padded_where_openssl_is_configured_so) {
    constexpr std::size_t block = 512;
    {
        const ctx_ptr padded = our_context(TLS_server_method());
        ASSERT_EQ(SSL_CTX_set_block_padding(padded.get(), block), 1);
        auto made = detail::engine::create(our_server(*padded), GetParam());
        begin_with_their_client(their_client(), *std::move(made));
        ASSERT_TRUE(ours->is_open()) << failed.message;
        EXPECT_EQ(ours->info().records, record_layer::openssl);
        EXPECT_GE(longest_record("x"), block);
        EXPECT_EQ(theirs->heard, "x");
    }
    const ctx_ptr padded = our_context(TLS_client_method());
    ASSERT_EQ(SSL_CTX_set_block_padding(padded.get(), block), 1);
    ssl_ptr ssl(SSL_new(padded.get()));
    SSL_set_connect_state(ssl.get());
    start_their_server();
    begin_with_their_server(*detail::engine::create(std::move(ssl), GetParam()));
    ASSERT_TRUE(ours->is_open()) << failed.message;
    EXPECT_EQ(ours->info().records, record_layer::openssl);
    EXPECT_GE(longest_record("y"), block);
    EXPECT_EQ(theirs->heard, "y");
}
TEST_P(record_layers, are_openssls_under_fips) {
    EXPECT_EQ(detail::usable_layer(GetParam()), GetParam());
    ASSERT_EQ(EVP_default_properties_enable_fips(nullptr, 1), 1);
    EXPECT_EQ(detail::usable_layer(GetParam()), record_layer::openssl);
    ASSERT_EQ(EVP_default_properties_enable_fips(nullptr, 0), 1);
}
TEST_P(record_layers, refuse_a_new_handshake) {
    ssl_ptr older = their_client();
    SSL_set_max_proto_version(older.get(), TLS1_2_VERSION);
    begin_with_their_client(std::move(older), *a_server()->accept());
    ASSERT_TRUE(ours->is_open());
    ASSERT_EQ(SSL_renegotiate(theirs->ssl.get()), 1);
    SSL_do_handshake(theirs->ssl.get());
    talk();
    EXPECT_NE(theirs->failed, 0);  // OpenSSL's client gives up
    EXPECT_EQ(heard, "");
}
TEST_P(record_layers, take_a_new_key_after_their_own_end) {
    begin_with_their_client(their_client(), *a_server()->accept());
    talk([&](buffer& to_peer) { ours->finish(to_peer); });
    EXPECT_TRUE(theirs->ended);
    ASSERT_EQ(SSL_key_update(theirs->ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    theirs->say("under a new key");
    talk();
    EXPECT_EQ(heard, "under a new key");
    EXPECT_FALSE(failed) << failed.message;
}
// Each makes us derive a key, and brings no data.
TEST_P(record_layers, bound_new_keys_without_data) {
    const auto renew = [&](unsigned times) {
        for (unsigned i = 0; i < times; ++i) {
            ASSERT_EQ(SSL_key_update(theirs->ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
            ASSERT_EQ(SSL_do_handshake(theirs->ssl.get()), 1);
        }
        talk();
    };
    begin_with_their_client(their_client(), *a_server()->accept());
    constexpr unsigned most = detail::record_stream::max_idle_records;
    renew(most);
    theirs->say("data");
    talk();
    renew(most);
    EXPECT_EQ(heard, "data");
    EXPECT_FALSE(failed) << failed.message;
    renew(1);
    EXPECT_EQ(failed.message, "TLS: too many records without data");
}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A connection under which nothing is under way keeps no buffer of 16 KiB, whatever came before.
TEST_P(record_layers, hold_no_buffers_between_records) {
    begin_with_their_client(their_client(), *a_server()->accept());
    theirs->say(std::string(40'000, 'x'));
    const std::string raw = theirs->said();
    std::string plain(50'000, '\0');
    buffer to_peer;
    to_peer.prepare(50'000);
    const auto receive = [&](std::string_view part) {
        const auto s = ours->receive({part.data(), part.size()}, plain, to_peer);
        return s ? s->produced : 0;
    };
    const std::size_t before = ::mallinfo2().uordblks;
    constexpr std::size_t cut = 20'000;  // inside of a record, which is kept
    std::size_t got = receive(std::string_view(raw).substr(0, cut));
    EXPECT_GT(::mallinfo2().uordblks, before + 2'000);
    got += receive(std::string_view(raw).substr(cut));
    EXPECT_EQ(got, 40'000U);
    EXPECT_LT(::mallinfo2().uordblks, before + 1'000);
    ASSERT_TRUE(ours->send(std::string_view(plain).substr(0, 40'000), to_peer));
    EXPECT_LT(::mallinfo2().uordblks, before + 1'000);
}
#endif

TEST_P(record_layers, tell_an_applications_key_log) {
    std::vector<std::string> server_lines;
    std::vector<std::string> client_lines;
    server_options keys;
    keys.certificates = {{names.certificate, names.key}};
    keys.records = GetParam();
    keys.key_log = [&](std::string_view line) { server_lines.emplace_back(line); };
    begin_with_their_client(their_client(), *(*server_context::create(keys))->accept());
    converse();
    const auto labels = [](const std::vector<std::string>& lines) {
        std::string out;
        for (const std::string& line : lines) out += line.substr(0, line.find(' ')) + "\n";
        return out;
    };
    EXPECT_NE(labels(server_lines).find("CLIENT_TRAFFIC_SECRET_0\n"), std::string::npos);
    EXPECT_NE(labels(server_lines).find("SERVER_TRAFFIC_SECRET_0\n"), std::string::npos);

    client_options trusting;
    trusting.ca_file = files.ca_file();
    trusting.records = GetParam();
    trusting.key_log = [&](std::string_view line) { client_lines.emplace_back(line); };
    const auto client = *client_context::create(trusting);
    start_their_server();
    begin_with_their_server(*client);
    converse();
    EXPECT_EQ(client_lines.size(), server_lines.size());
    EXPECT_EQ(client_lines.front().find_first_of("\r\n"), std::string::npos);
}

}  // namespace wire::tls::record_layer_test
