// `http.hello`, `rest`, `ws.echo` and `ws.count` with Boost.Beast and Asio's coroutines, after
// Beast's examples.
#include <utility>  // before Asio 1.74, which forgets it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "json.hpp"

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
namespace net = boost::asio;
using net::ip::tcp;

using request_t = http::request<http::string_body>;
using response_t = http::response<http::string_body>;

// For a request to come and for its response to go.
constexpr std::chrono::seconds idle_limit{60};
constexpr std::chrono::seconds accept_pause{1};

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

struct settings {
    std::string workload = variable("WIREBENCH_WORKLOAD", "http.hello");
    std::chrono::milliseconds delay{std::stol(variable("WIREBENCH_DELAY_MS", "0"))};
};

response_t reply(const request_t& request, http::status status, std::string body) {
    response_t response{status, request.version()};
    response.set(http::field::content_type, "text/plain");
    response.keep_alive(request.keep_alive());
    response.body() = std::move(body);
    response.prepare_payload();
    return response;
}

response_t not_found(const request_t& request) {
    return reply(request, http::status::not_found, "not found");
}

response_t wrong_method(const request_t& request, std::string_view allowed) {
    auto response = reply(request, http::status::method_not_allowed, "method not allowed");
    response.set(http::field::allow, beast::string_view(allowed.data(), allowed.size()));
    return response;
}

std::string path_of(const request_t& request) {
    const auto target = request.target();
    return std::string(target.substr(0, target.find('?')));
}

response_t hello(const request_t& request) {
    const auto path = path_of(request);
    if (path != "/route_01" && path != "/route_02") return not_found(request);
    if (request.method() != http::verb::get) return wrong_method(request, "GET");
    return reply(request, http::status::ok, "hello from " + path.substr(1));
}

response_t rest(const request_t& request, const settings& settings) {
    constexpr std::string_view labels = "/test/labels/";
    const auto path = path_of(request);
    if (path == "/test") {
        if (request.method() != http::verb::post) return wrong_method(request, "POST");
        if (!wirebench::is_json(request.body()))
            return reply(request, http::status::bad_request, "the body is not JSON");
        if (settings.delay.count() > 0) std::this_thread::sleep_for(settings.delay);
        return reply(request, http::status::ok, "Sending response: " + request.body());
    }
    const auto label = path.starts_with(labels) ? path.substr(labels.size()) : "";
    const bool is_label = !label.empty() && label.find('/') == label.npos;
    if (path != "/test/status" && !is_label) return not_found(request);
    if (request.method() != http::verb::get) return wrong_method(request, "GET");
    return reply(request, http::status::ok, is_label ? "label: " + label : "OK");
}

net::awaitable<void> serve_http(beast::tcp_stream stream, const settings& settings) {
    beast::flat_buffer buffer;
    for (;;) {
        request_t request;
        stream.expires_after(idle_limit);
        co_await http::async_read(stream, buffer, request, net::use_awaitable);
        auto response = settings.workload == "rest" ? rest(request, settings) : hello(request);
        co_await http::async_write(stream, response, net::use_awaitable);
        if (!response.keep_alive()) break;
    }
    beast::error_code ignored;
    stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

net::awaitable<void> serve_websocket(beast::tcp_stream stream, const settings& settings) {
    beast::websocket::stream<beast::tcp_stream> socket(std::move(stream));
    socket.set_option(beast::websocket::stream_base::timeout::suggested(beast::role_type::server));
    co_await socket.async_accept(net::use_awaitable);
    const bool counts = settings.workload == "ws.count";
    beast::flat_buffer buffer;
    rapidjson::StringBuffer answer;
    for (;;) {
        co_await socket.async_read(buffer, net::use_awaitable);
        socket.text(socket.got_text());
        if (counts) {
            const auto bytes = buffer.data();
            const auto* text = static_cast<const char*>(bytes.data());
            if (!wirebench::answer_count({text, bytes.size()}, answer))
                co_return co_await socket.async_close(beast::websocket::close_code::bad_payload,
                                                      net::use_awaitable);
            co_await socket.async_write(net::buffer(answer.GetString(), answer.GetSize()),
                                        net::use_awaitable);
        } else {
            co_await socket.async_write(buffer.data(), net::use_awaitable);
        }
        buffer.consume(buffer.size());
    }
}

// A connection ends by an exception, be it only that the client closed it.
net::awaitable<void> serve(tcp::socket socket, const settings& settings) {
    try {
        socket.set_option(tcp::no_delay(true));
        beast::tcp_stream stream(std::move(socket));
        if (settings.workload.starts_with("ws."))
            co_await serve_websocket(std::move(stream), settings);
        else co_await serve_http(std::move(stream), settings);
    } catch (const std::exception&) {}
}

net::awaitable<void> listen(net::io_context& context, tcp::endpoint where,
                            const settings& settings) {
    tcp::acceptor acceptor(context, where);
    net::steady_timer pause(context);
    for (;;) {
        beast::error_code failure;
        auto socket = co_await acceptor.async_accept(
            net::make_strand(context), net::redirect_error(net::use_awaitable, failure));
        if (failure) {
            // Mostly too many open files: the next attempt would fail at once, too.
            pause.expires_after(accept_pause);
            co_await pause.async_wait(net::use_awaitable);
            continue;
        }
        const auto strand = socket.get_executor();
        net::co_spawn(strand, serve(std::move(socket), settings), net::detached);
    }
}

}  // namespace

int main() {
    try {
        const settings settings;
        const auto threads = std::stoi(variable("WIREBENCH_THREADS", "1"));
        const auto port =
            static_cast<unsigned short>(std::stoul(variable("WIREBENCH_PORT", "8080")));
        const tcp::endpoint where(net::ip::make_address(variable("WIREBENCH_HOST", "127.0.0.1")),
                                  port);
        net::io_context context(threads);
        net::co_spawn(context, listen(context, where, settings), [](std::exception_ptr failure) {
            if (failure) std::rethrow_exception(failure);
        });
        std::vector<std::thread> others;
        for (int i = 1; i < threads; ++i) others.emplace_back([&] { context.run(); });
        context.run();
        return 0;
    } catch (const std::exception& failure) {
        std::cerr << "server: " << failure.what() << '\n';
        return 1;
    }
}
