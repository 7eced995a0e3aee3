// TLS from bytes to bytes: the engine reads from a span and writes to a buffer, and never sees a
// socket. OpenSSL makes the handshake and the records; where record_layer::wire was asked for, TLS
// 1.3 goes on without it. engine.cpp has its states.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lent_bio.hpp"
#include "openssl.hpp"
#include "record_stream.hpp"
#include "session_cache.hpp"
#include "traffic_secrets.hpp"
#include "wire/tls/connection.hpp"

namespace wire::tls::detail {

// What a context's connections get of what was asked for: OpenSSL's where FIPS is configured.
record_layer usable_layer(record_layer asked) noexcept;

using server_check = std::function<error(const connection_info& info)>;

class engine final : public connection, private ticket_reader {
public:
    // `ssl` has its role; null when memory is short. `records`: `wire` only with a context that
    // log_keys() was called for with it. `sessions`: where a client's go and come from, or null.
    // `check` judges the server, unless it is null.
    static result<std::unique_ptr<connection>> create(
        ssl_ptr ssl, record_layer records, std::shared_ptr<server_sessions> sessions = nullptr,
        std::shared_ptr<const server_check> check = nullptr);
    ~engine() override;

    result<void> begin(buffer& to_peer) override;
    result<step> receive(std::span<const char> raw, std::span<char> plain,
                         buffer& to_peer) override;
    result<void> send(std::string_view plain, buffer& to_peer) override;
    void finish(buffer& to_peer) noexcept override;
    bool is_open() const noexcept override { return open_; }
    bool has_ended() const noexcept override { return records_ ? records_->has_ended() : ended_; }
    connection_info info() const override;
    handshake_alert alert() const noexcept override { return alert_; }

    // Connections of this context note the alerts of their handshakes.
    static void note_alerts(SSL_CTX& ctx) noexcept;
    // New sessions of this context's connections are kept.
    static void keep_sessions(SSL_CTX& ctx);
    // This context's secrets go to `key_log`, unless that is empty, and with record_layer::wire to
    // the engine. False when memory is short.
    static bool log_keys(SSL_CTX& ctx, record_layer records,
                         const std::function<void(std::string_view line)>& key_log);

private:
    engine(ssl_ptr ssl, record_layer records, std::shared_ptr<server_sessions> sessions);
    result<void> shake_hands();
    void note_info();
    bool openssl_is_needed() const;
    void go_on_alone(std::size_t records_sent);
    result<step> receive_by_openssl(std::span<char> plain);
    void count_messages() noexcept;
    error why(int returned, std::string_view doing);
    void take_tickets(std::span<const char> record) noexcept override;
    void no_more_tickets() noexcept override;

    ssl_ptr ssl_;  // null once nothing needs it
    std::shared_ptr<server_sessions> sessions_;
    std::unique_ptr<traffic_secrets> secrets_;  // null unless they are wanted
    std::optional<record_stream> records_;      // wire's own
    lent_bytes lent_;                           // for OpenSSL
    // What was agreed on.
    const char* version_ = "";
    const char* cipher_ = "";
    std::string protocol_;
    std::string peer_;
    std::shared_ptr<const peer_certificate> certificate_;
    std::shared_ptr<const server_check> check_;  // null without one, and once it was asked
    handshake_alert alert_;
    error refused_;               // by OpenSSL, to be told once what came before has been taken
    unsigned idle_messages_ = 0;  // by OpenSSL, in a row without a byte for the user
    bool resumed_ = false;
    bool open_ = false;
    bool ended_ = false;
    bool failed_ = false;
};

}  // namespace wire::tls::detail
