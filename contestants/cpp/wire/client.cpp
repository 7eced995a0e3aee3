// HTTP and WebSocket with wire's blocking clients.
#include "client.hpp"

#include <wire/client/client.hpp>
#include <wire/client/websocket.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace {

template <typename T> T value_of(wire::result<T> got) {
    if (!got) throw std::runtime_error(got.error().message);
    return *std::move(got);
}

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

std::shared_ptr<wire::tls::client_context> tls_of(const wirebench::settings& settings) {
    if (!begins(settings.url, "https://") && !begins(settings.url, "wss://")) return nullptr;
    wire::tls::client_options options;
    options.ca_file = settings.ca_file;
    return value_of(wire::tls::client_context::create(options));
}

class http_client : public wirebench::client {
public:
    explicit http_client(const wirebench::settings& settings)
        : url_(settings.url),
          posts_(settings.posts),
          message_(settings.message),
          client_(value_of(wire::http::client::create(options_of(settings)))) {}

    void open() override {}  // the client connects with a request

    std::string_view operation() override {
        reply_ =
            value_of(posts_ ? client_.post(url_, message_, wirebench::octets) : client_.get(url_));
        if (reply_.status() != 200)
            throw std::runtime_error("expected status 200, got " + std::to_string(reply_.status()));
        return reply_.body();
    }

    void close() override {}  // as its options say
    std::uint64_t connections() const override { return client_.connections_opened(); }

private:
    static wire::http::client_options options_of(const wirebench::settings& settings) {
        wire::http::client_options options;
        options.tls = tls_of(settings);
        if (settings.new_connections) options.max_idle_per_host = 0;
        return options;
    }

    std::string url_;
    bool posts_;
    std::string message_;
    wire::http::client client_;
    wire::http::reply reply_;
};

class ws_client : public wirebench::client {
public:
    explicit ws_client(const wirebench::settings& settings) : settings_(settings) {
        options_.tls = tls_of(settings);
    }

    void open() override {
        client_.emplace(value_of(wire::ws::blocking_client::connect(settings_.url, options_)));
        ++connections_;
    }

    std::string_view operation() override {
        if (const auto sent = client_->send(settings_.message); !sent)
            throw std::runtime_error(sent.error().message);
        const auto reply = value_of(client_->receive(std::chrono::seconds(10)));
        if (!reply.is_text()) throw std::runtime_error("expected a text message");
        return reply.data;
    }

    void close() override {
        client_->close();
        client_.reset();
    }
    std::uint64_t connections() const override { return connections_; }

private:
    wirebench::settings settings_;
    wire::ws::dial_options options_;
    std::optional<wire::ws::blocking_client> client_;
    std::uint64_t connections_ = 0;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings& settings) {
    if (begins(settings.url, "http://") || begins(settings.url, "https://"))
        return std::make_unique<http_client>(settings);
    if (begins(settings.url, "ws://") || begins(settings.url, "wss://"))
        return std::make_unique<ws_client>(settings);
    throw std::invalid_argument("WIREBENCH_URL: expected http(s)://... or ws(s)://..., got " +
                                settings.url);
}
