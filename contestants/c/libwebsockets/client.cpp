// A WebSocket client of libwebsockets: one protocol callback, and the library's loop served until
// what is waited for has come.
#include "client.hpp"

#include <libwebsockets.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

// The parts of "wss://127.0.0.1:443/", which the library takes apart in place.
struct address {
    explicit address(std::string url) : text(std::move(url)) {
        if (lws_parse_uri(text.data(), &scheme, &host, &port, &path) != 0)
            throw std::invalid_argument("WIREBENCH_URL: expected ws://..., got " + text);
    }
    address(const address &) = delete;
    address &operator=(const address &) = delete;

    std::string text;
    const char *scheme = nullptr;
    const char *host = nullptr;
    const char *path = nullptr;  // without its leading slash, unless it is all of it
    int port = 0;
};

class lws_client : public wirebench::client {
public:
    explicit lws_client(const wirebench::settings &settings)
        : address_(settings.url), message_(settings.message) {
        lws_set_log_level(LLL_ERR, nullptr);
        lws_context_creation_info info{};
        info.port = CONTEXT_PORT_NO_LISTEN;
        info.protocols = protocols;
        if (is_tls()) info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        if (!settings.ca_file.empty()) info.client_ssl_ca_filepath = settings.ca_file.c_str();
        context_ = lws_create_context(&info);
        if (context_ == nullptr) throw std::runtime_error("lws_create_context failed");
    }
    ~lws_client() override { lws_context_destroy(context_); }

    void open() override {
        state_ = state::opening;
        failure_ = "the server closed the connection";
        const auto path =
            address_.path == std::string_view("/") ? "/" : "/" + std::string(address_.path);
        lws_client_connect_info info{};
        info.context = context_;
        info.address = info.host = info.origin = address_.host;
        info.port = address_.port;
        info.path = path.c_str();
        info.ssl_connection = is_tls() ? LCCSCF_USE_SSL : 0;
        info.local_protocol_name = protocols[0].name;
        info.opaque_user_data = this;
        info.pwsi = &socket_;
        if (lws_client_connect_via_info(&info) == nullptr && state_ == state::opening)
            throw std::runtime_error("lws_client_connect_via_info failed");
        while (state_ == state::opening) serve();
        if (state_ != state::open) throw std::runtime_error(failure_);
        ++connections_;
    }

    std::string_view operation() override {
        received_.clear();
        state_ = state::sending;
        lws_callback_on_writable(socket_);
        while (state_ == state::sending || state_ == state::waiting) serve();
        if (state_ != state::open) throw std::runtime_error(failure_);
        return received_;
    }

    void close() override {
        if (state_ == state::closed) return;
        state_ = state::closing;
        lws_callback_on_writable(socket_);
        while (state_ != state::closed) serve();
    }

    std::uint64_t connections() const override { return connections_; }

private:
    // `sending` and `waiting` are an open connection before and after its message has been handed
    // to the library, which calls back as writeable again when it has sent the rest of a large one.
    enum class state { closed, opening, open, sending, waiting, closing };

    static int on_event(lws *socket, lws_callback_reasons reason, void *, void *bytes,
                        std::size_t size) {
        auto *self = static_cast<lws_client *>(lws_get_opaque_user_data(socket));
        return self == nullptr ? 0 : self->on(reason, static_cast<const char *>(bytes), size);
    }

    int on(lws_callback_reasons reason, const char *bytes, std::size_t size) {
        switch (reason) {
        case LWS_CALLBACK_CLIENT_ESTABLISHED:
            state_ = state::open;
            return 0;
        case LWS_CALLBACK_CLIENT_WRITEABLE:
            return on_writeable();
        case LWS_CALLBACK_CLIENT_RECEIVE:
            if (lws_frame_is_binary(socket_)) {
                failure_ = "expected a text message";
                return -1;  // ends the connection
            }
            received_.append(bytes, size);
            if (lws_is_final_fragment(socket_)) state_ = state::open;
            return 0;
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            failure_ = bytes != nullptr ? std::string(bytes, size) : "cannot connect";
            state_ = state::closed;
            return 0;
        case LWS_CALLBACK_CLIENT_CLOSED:
            state_ = state::closed;
            return 0;
        default:
            return 0;
        }
    }

    int on_writeable() {
        if (state_ == state::closing) {
            lws_close_reason(socket_, LWS_CLOSE_STATUS_NORMAL, nullptr, 0);
            return -1;  // the library sends the frame and waits for the answer
        }
        if (state_ != state::sending) return 0;
        state_ = state::waiting;
        frame_.assign(LWS_PRE, '\0').append(message_);
        auto *bytes = reinterpret_cast<unsigned char *>(frame_.data()) + LWS_PRE;
        return lws_write(socket_, bytes, message_.size(), LWS_WRITE_TEXT) < 0 ? -1 : 0;
    }

    void serve() {
        if (lws_service(context_, 0) < 0) throw std::runtime_error("lws_service failed");
    }

    bool is_tls() const { return std::strcmp(address_.scheme, "wss") == 0; }

    // The receive buffer is that of the server here.
    static constexpr lws_protocols protocols[] = {
        {"wirebench", on_event, 0, 16 * 1024, 0, nullptr, 0}, {}};

    address address_;
    std::string message_;
    std::string frame_;  // room for the head, then the message, which lws_write masks in place
    std::string received_;
    std::string failure_;
    lws_context *context_ = nullptr;
    lws *socket_ = nullptr;
    state state_ = state::closed;
    std::uint64_t connections_ = 0;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings &settings) {
    return std::make_unique<lws_client>(settings);
}
