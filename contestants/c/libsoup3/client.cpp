// An HTTP client of libsoup 3: a SoupSession and its blocking send.
#include "client.hpp"

#include <libsoup/soup.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace {

struct unref {
    void operator()(gpointer object) const { g_object_unref(object); }
};
template <typename Object> using owned = std::unique_ptr<Object, unref>;

struct unref_bytes {
    void operator()(GBytes *bytes) const { g_bytes_unref(bytes); }
};
using bytes_t = std::unique_ptr<GBytes, unref_bytes>;

[[noreturn]] void fail(GError *error) {
    const std::string why = error->message;
    g_error_free(error);
    throw std::runtime_error(why);
}

void count_connection(SoupMessage *, GSocketClientEvent event, GIOStream *, gpointer connections) {
    if (event == G_SOCKET_CLIENT_CONNECTED) ++*static_cast<std::uint64_t *>(connections);
}

class soup_client : public wirebench::client {
public:
    explicit soup_client(const wirebench::settings &settings)
        : session_(soup_session_new_with_options("max-conns-per-host", 1, "timeout", 10, nullptr)),
          url_(settings.url),
          closes_(settings.new_connections),
          sent_(settings.posts ? g_bytes_new(settings.message.data(), settings.message.size())
                               : nullptr) {
        // Whatever the environment says of proxies.
        soup_session_set_proxy_resolver(session_.get(), nullptr);
        if (settings.ca_file.empty()) return;
        GError *error = nullptr;
        const owned<GTlsDatabase> authorities(
            g_tls_file_database_new(settings.ca_file.c_str(), &error));
        if (error != nullptr) fail(error);
        soup_session_set_tls_database(session_.get(), authorities.get());
    }

    void open() override {}  // libsoup connects with the first request

    std::string_view operation() override {
        const auto message = new_message();
        GError *error = nullptr;
        body_.reset(soup_session_send_and_read(session_.get(), message.get(), nullptr, &error));
        if (error != nullptr) fail(error);
        const auto status = soup_message_get_status(message.get());
        if (status != SOUP_STATUS_OK)
            throw std::runtime_error("expected status 200, got " + std::to_string(status));
        gsize size = 0;
        const auto *data = static_cast<const char *>(g_bytes_get_data(body_.get(), &size));
        return {data, size};
    }

    void close() override {}  // as the request has asked
    std::uint64_t connections() const override { return connections_; }

private:
    owned<SoupMessage> new_message() {
        owned<SoupMessage> message(soup_message_new(sent_ ? "POST" : "GET", url_.c_str()));
        if (message == nullptr) throw std::invalid_argument("not a URL: " + url_);
        g_signal_connect(message.get(), "network-event", G_CALLBACK(count_connection),
                         &connections_);
        if (sent_) {
            soup_message_set_request_body_from_bytes(message.get(), wirebench::octets, sent_.get());
            soup_message_add_flags(message.get(), SOUP_MESSAGE_IDEMPOTENT);
        }
        if (closes_)
            soup_message_headers_append(soup_message_get_request_headers(message.get()),
                                        "Connection", "close");
        return message;
    }

    owned<SoupSession> session_;
    std::string url_;
    bool closes_;
    bytes_t sent_;  // null: GET
    bytes_t body_;
    std::uint64_t connections_ = 0;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings &settings) {
    if (settings.url.rfind("http", 0) != 0)
        throw std::invalid_argument("WIREBENCH_URL: expected http://..., got " + settings.url);
    return std::make_unique<soup_client>(settings);
}
