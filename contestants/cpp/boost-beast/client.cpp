// Boost.Beast as a client, http(s) and ws(s), with Asio's coroutines. The library has no client
// object: what is kept between connections is the io_context and the TLS context.
#include <utility>  // before Asio 1.74, which forgets it

#include "client.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace net = boost::asio;
namespace ssl = net::ssl;
using net::ip::tcp;

using plain = beast::tcp_stream;
using over_tls = beast::ssl_stream<beast::tcp_stream>;

constexpr std::chrono::seconds limit{10};

// Of "scheme://host:port/target".
struct address {
    explicit address(const std::string& url) {
        const auto host_at = url.find("://") + 3;
        const auto port_at = url.find(':', host_at) + 1;
        const auto target_at = url.find('/', port_at);
        if (host_at == 2 || port_at == 0 || target_at == url.npos)
            throw std::invalid_argument("WIREBENCH_URL: expected scheme://host:port/..., got " +
                                        url);
        host = url.substr(host_at, port_at - 1 - host_at);
        port = url.substr(port_at, target_at - port_at);
        target = url.substr(target_at);
    }
    std::string host, port, target;
};

ssl::context tls_of(const wirebench::settings& settings) {
    ssl::context context(ssl::context::tls_client);
    if (settings.ca_file.empty()) context.set_default_verify_paths();
    else context.load_verify_file(settings.ca_file);
    context.set_verify_mode(ssl::verify_peer);
    return context;
}

// Runs one coroutine to its end on this thread. Timers that it leaves behind are not waited for.
template <typename Coroutine> void run(net::io_context& io, Coroutine coroutine) {
    bool done = false;
    std::exception_ptr failure;
    net::co_spawn(io, std::move(coroutine), [&](std::exception_ptr how) {
        done = true;
        failure = how;
    });
    io.restart();
    while (!done) io.run_one();
    if (failure) std::rethrow_exception(failure);
}

template <typename Stream> class beast_client : public wirebench::client {
public:
    explicit beast_client(const wirebench::settings& settings)
        : message_(settings.message), to_(settings.url) {
        if constexpr (is_tls) tls_.emplace(tls_of(settings));
    }
    std::uint64_t connections() const override { return connections_; }

protected:
    static constexpr bool is_tls = std::is_same_v<Stream, over_tls>;

    Stream make_stream() {
        if constexpr (is_tls) {
            Stream stream(io_, *tls_);
            stream.set_verify_callback(ssl::host_name_verification(to_.host));
            return stream;
        } else {
            return Stream(io_);
        }
    }

    net::awaitable<void> connect(Stream& stream) {
        auto& socket = beast::get_lowest_layer(stream);
        socket.expires_after(limit);
        tcp::resolver resolver(io_);
        const auto found = co_await resolver.async_resolve(to_.host, to_.port, net::use_awaitable);
        co_await socket.async_connect(found, net::use_awaitable);
        socket.socket().set_option(tcp::no_delay(true));
        if constexpr (is_tls)
            co_await stream.async_handshake(ssl::stream_base::client, net::use_awaitable);
        ++connections_;
    }

    std::string message_;
    address to_;
    net::io_context io_{1};
    std::optional<ssl::context> tls_;
    beast::flat_buffer buffer_;

private:
    std::uint64_t connections_ = 0;
};

template <typename Stream> class http_client : public beast_client<Stream> {
public:
    explicit http_client(const wirebench::settings& settings)
        : beast_client<Stream>(settings),
          request_(settings.posts ? http::verb::post : http::verb::get, this->to_.target, 11) {
        request_.set(http::field::host, this->to_.host + ":" + this->to_.port);
        if (!settings.posts) return;
        request_.set(http::field::content_type, wirebench::octets);
        request_.body() = this->message_;
        request_.prepare_payload();
    }

    void open() override {
        stream_.emplace(this->make_stream());
        run(this->io_, this->connect(*stream_));
    }

    std::string_view operation() override {
        if (!response_.keep_alive()) {  // as the last response said
            close();
            open();
        }
        run(this->io_, ask());
        if (response_.result() != http::status::ok)
            throw std::runtime_error("expected status 200, got " +
                                     std::to_string(response_.result_int()));
        return response_.body();
    }

    void close() override {
        response_ = {};
        run(this->io_, give_up());
        stream_.reset();
        this->buffer_.clear();
    }

private:
    net::awaitable<void> ask() {
        beast::get_lowest_layer(*stream_).expires_after(limit);
        co_await http::async_write(*stream_, request_, net::use_awaitable);
        response_ = {};
        co_await http::async_read(*stream_, this->buffer_, response_, net::use_awaitable);
    }

    net::awaitable<void> give_up() {
        beast::error_code ignored;
        auto& socket = beast::get_lowest_layer(*stream_);
        socket.expires_after(limit);
        if constexpr (beast_client<Stream>::is_tls)
            co_await stream_->async_shutdown(net::redirect_error(net::use_awaitable, ignored));
        socket.socket().shutdown(tcp::socket::shutdown_both, ignored);
    }

    http::request<http::string_body> request_;
    std::optional<Stream> stream_;
    http::response<http::string_body> response_;
};

template <typename Stream> class ws_client : public beast_client<Stream> {
public:
    using beast_client<Stream>::beast_client;

    void open() override {
        socket_.emplace(this->make_stream());
        run(this->io_, shake_hands());
    }

    std::string_view operation() override {
        run(this->io_, exchange());
        if (!socket_->got_text()) throw std::runtime_error("expected a text message");
        return {static_cast<const char*>(this->buffer_.data().data()), this->buffer_.size()};
    }

    void close() override {
        run(this->io_,
            socket_->async_close(beast::websocket::close_code::normal, net::use_awaitable));
        socket_.reset();
    }

private:
    net::awaitable<void> shake_hands() {
        co_await this->connect(socket_->next_layer());
        // From here on the WebSocket has timeouts of its own.
        beast::get_lowest_layer(*socket_).expires_never();
        socket_->set_option(
            beast::websocket::stream_base::timeout::suggested(beast::role_type::client));
        co_await socket_->async_handshake(this->to_.host + ":" + this->to_.port, this->to_.target,
                                          net::use_awaitable);
        socket_->text(true);
    }

    net::awaitable<void> exchange() {
        co_await socket_->async_write(net::buffer(this->message_), net::use_awaitable);
        this->buffer_.clear();
        co_await socket_->async_read(this->buffer_, net::use_awaitable);
    }

    std::optional<beast::websocket::stream<Stream>> socket_;
};

}  // namespace

std::unique_ptr<wirebench::client> wirebench::make_client(const settings& settings) {
    const auto scheme = settings.url.substr(0, settings.url.find(':'));
    if (scheme == "http") return std::make_unique<http_client<plain>>(settings);
    if (scheme == "https") return std::make_unique<http_client<over_tls>>(settings);
    if (scheme == "ws") return std::make_unique<ws_client<plain>>(settings);
    if (scheme == "wss") return std::make_unique<ws_client<over_tls>>(settings);
    throw std::invalid_argument("WIREBENCH_URL: expected http(s)://... or ws(s)://..., got " +
                                settings.url);
}
