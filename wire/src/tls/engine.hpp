// TLS from bytes to bytes: the engine reads from a span and writes to a buffer, and never sees a
// socket. OpenSSL makes the handshake, and carries TLS 1.2; TLS 1.3 goes on without it. engine.cpp
// has its states.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "openssl.hpp"
#include "record_stream.hpp"
#include "session_cache.hpp"
#include "wire/tls/connection.hpp"

namespace wire::tls::detail {

class engine final : public connection, private ticket_reader {
public:
    // `ssl` has its role; null when memory is short. `sessions`: where a client's go and come from,
    // or null.
    static result<std::unique_ptr<connection>> create(
        ssl_ptr ssl, std::shared_ptr<server_sessions> sessions = nullptr);
    ~engine() override;

    result<void> begin(buffer& to_peer) override;
    result<step> receive(std::span<const char> raw, std::span<char> plain,
                         buffer& to_peer) override;
    result<void> send(std::string_view plain, buffer& to_peer) override;
    void finish(buffer& to_peer) noexcept override;
    bool is_open() const noexcept override { return open_; }
    bool has_ended() const noexcept override { return records_ ? records_->has_ended() : ended_; }
    connection_info info() const override;

    // For connections of these contexts: new sessions are kept; TLS 1.3 goes on without OpenSSL
    // after the handshake.
    static void keep_sessions(SSL_CTX& ctx);
    static void take_secrets(SSL_CTX& ctx);

private:
    // Of one direction of TLS 1.3; there during the handshake.
    struct secret {
        std::array<std::uint8_t, 48> bytes{};
        std::size_t size = 0;
        ~secret();
    };
    struct secrets {
        secret client;
        secret server;
    };
    struct bio_calls;

    engine(ssl_ptr ssl, std::shared_ptr<server_sessions> sessions);
    result<void> shake_hands();
    void note_info();
    void go_on_alone(std::string_view last_flight);
    result<step> receive_by_openssl(std::span<char> plain);
    error why(int returned, std::string_view doing);
    void take_tickets(std::span<const char> record) noexcept override;
    void no_more_tickets() noexcept override;

    ssl_ptr ssl_;  // null once nothing needs it
    std::shared_ptr<server_sessions> sessions_;
    std::unique_ptr<secrets> secrets_;
    std::optional<record_stream> records_;
    // Of the call in progress.
    std::span<const char> raw_;
    buffer* to_peer_ = nullptr;
    // What was agreed on.
    const char* version_ = "";
    const char* cipher_ = "";
    std::string protocol_;
    std::string peer_;
    bool resumed_ = false;
    bool open_ = false;
    bool ended_ = false;
    bool failed_ = false;
};

}  // namespace wire::tls::detail
