// OpenSSL as a machine that turns bytes into bytes: it reads from a span and writes to a buffer, and never sees a socket.
#pragma once

#include <memory>
#include <string>

#include "openssl.hpp"
#include "session_cache.hpp"
#include "wire/tls/connection.hpp"

namespace wire::tls::detail {

class engine final : public connection {
public:
    // `ssl` has its role; null when memory is short. `sessions`: where a client's go and come from, or null.
    static result<std::unique_ptr<connection>> create(ssl_ptr ssl, std::shared_ptr<server_sessions> sessions = nullptr);
    ~engine() override;

    result<void> begin(buffer& to_peer) override;
    result<step> receive(std::span<const char> raw, std::span<char> plain, buffer& to_peer) override;
    result<void> send(std::string_view plain, buffer& to_peer) override;
    void finish(buffer& to_peer) noexcept override;
    bool is_open() const noexcept override { return open_; }
    bool has_ended() const noexcept override { return ended_; }
    connection_info info() const override;

    // For new sessions of this connection.
    static void keep_sessions(SSL_CTX& ctx);

private:
    engine(ssl_ptr ssl, std::shared_ptr<server_sessions> sessions) noexcept;
    result<void> shake_hands();
    error why(int returned, std::string_view doing);

    struct bio_calls;

    ssl_ptr ssl_;
    std::shared_ptr<server_sessions> sessions_;
    // Of the call in progress.
    std::span<const char> raw_;
    buffer* to_peer_ = nullptr;
    bool open_ = false;
    bool ended_ = false;
    bool failed_ = false;
    const bool keeps_buffers_;  // client_options::keep_buffers
};

}  // namespace wire::tls::detail
