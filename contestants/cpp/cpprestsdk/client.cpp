// cpprestsdk's WebSocket client: the caller waits for each task, as in the library's tutorials.
#include "client.hpp"

#include <cpprest/ws_client.h>

#include <openssl/ssl.h>
#include <boost/asio/ssl.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace {

namespace ws = web::websockets::client;

// The library gives each connection a context of its own with the system's authorities, and calls
// back for more.
void trust(boost::asio::ssl::context& context, const std::string& ca_file) {
    if (ca_file.empty()) return;
    SSL_CTX_set_cert_store(context.native_handle(), X509_STORE_new());
    context.load_verify_file(ca_file);
}

class ws_client : public wirebench::client {
public:
    explicit ws_client(const wirebench::settings& settings) : settings_(settings) {
        config_.set_ssl_context_callback(
            [this](auto& context) { trust(context, settings_.ca_file); });
    }

    // A websocket_client is one connection.
    void open() override {
        client_.emplace(config_);
        client_->connect(settings_.url).get();
        ++connections_;
    }

    std::string_view operation() override {
        ws::websocket_outgoing_message message;
        message.set_utf8_message(settings_.message);
        client_->send(message).get();
        const auto reply = client_->receive().get();
        if (reply.message_type() != ws::websocket_message_type::text_message)
            throw std::runtime_error("expected a text message");
        received_ = reply.extract_string().get();
        return received_;
    }

    void close() override {
        client_->close().get();
        client_.reset();
    }
    std::uint64_t connections() const override { return connections_; }

private:
    wirebench::settings settings_;
    ws::websocket_client_config config_;
    std::optional<ws::websocket_client> client_;
    std::string received_;
    std::uint64_t connections_ = 0;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings& settings) {
    const auto scheme = web::uri(settings.url).scheme();
    if (scheme != "ws" && scheme != "wss")
        throw std::invalid_argument("WIREBENCH_URL: expected ws(s)://..., got " + settings.url);
    return std::make_unique<ws_client>(settings);
}
