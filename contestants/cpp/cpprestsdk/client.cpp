// cpprestsdk's HTTP and WebSocket clients: the caller waits for each task, as in the library's
// tutorials.
#include "client.hpp"

#include <cpprest/http_client.h>
#include <cpprest/ws_client.h>

#include <openssl/ssl.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace http = web::http;
namespace ws = web::websockets::client;
using boost::asio::ip::tcp;

// The library gives each connection a context of its own with the system's authorities, and calls
// back for more.
void trust(boost::asio::ssl::context& context, const std::string& ca_file) {
    if (ca_file.empty()) return;
    SSL_CTX_set_cert_store(context.native_handle(), X509_STORE_new());
    context.load_verify_file(ca_file);
}

// An http_client is a pool of connections, which alone ends them: the library adds
// `Connection: Keep-Alive` to each request, whatever its headers say. So giving up a connection is
// giving up the client.
class http_client : public wirebench::client {
public:
    explicit http_client(const wirebench::settings& settings)
        : uri_(settings.url),
          ca_file_(settings.ca_file),
          posts_(settings.posts),
          message_(settings.message.begin(), settings.message.end()) {
        config_.set_timeout(std::chrono::seconds(10));
        config_.set_ssl_context_callback([this](auto& context) { trust(context, ca_file_); });
        // Called for each request, with the socket of its connection: not open yet, if that is new.
        config_.set_nativehandle_options([this](http::client::native_handle socket) {
            connections_ += is_open(socket) ? 0 : 1;
        });
    }

    void open() override { client_.emplace(uri_.authority(), config_); }

    std::string_view operation() override {
        http::http_request request(posts_ ? http::methods::POST : http::methods::GET);
        request.set_request_uri(uri_.resource());
        if (posts_) request.set_body(message_);  // as application/octet-stream
        const auto reply = client_->request(request).get();
        body_ = reply.extract_vector().get();
        if (reply.status_code() != http::status_codes::OK)
            throw std::runtime_error("expected status 200, got " +
                                     std::to_string(reply.status_code()));
        return {reinterpret_cast<const char*>(body_.data()), body_.size()};
    }

    void close() override { client_.reset(); }
    std::uint64_t connections() const override { return connections_; }

private:
    bool is_open(http::client::native_handle socket) const {
        if (uri_.scheme() == "http") return static_cast<tcp::socket*>(socket)->is_open();
        return static_cast<boost::asio::ssl::stream<tcp::socket&>*>(socket)->next_layer().is_open();
    }

    web::uri uri_;
    std::string ca_file_;
    bool posts_;
    std::vector<unsigned char> message_;
    std::atomic<std::uint64_t> connections_ = 0;
    http::client::http_client_config config_;
    std::optional<http::client::http_client> client_;
    std::vector<unsigned char> body_;
};

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
    if (scheme == "http" || scheme == "https") return std::make_unique<http_client>(settings);
    if (scheme == "ws" || scheme == "wss") return std::make_unique<ws_client>(settings);
    throw std::invalid_argument("WIREBENCH_URL: expected http(s)://... or ws(s)://..., got " +
                                settings.url);
}
