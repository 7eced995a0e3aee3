// @NAME@: http.hello.
//
// The lines to edit are marked EDIT: the library's headers, what it answers, and how it listens.
// The lab gives the workload, the address and the number of threads in the environment, takes the
// server for ready when it accepts, and ends it with SIGTERM.
#include <boost/asio/io_context.hpp>  // EDIT
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

namespace beast = boost::beast;
namespace http = beast::http;
using boost::asio::ip::tcp;

// GET /route_01 and /route_02 -> 200 and a text; everything else -> 404.
http::response<http::string_body> answer(const http::request<http::empty_body>& request) {  // EDIT
    const bool known = request.target() == "/route_01" || request.target() == "/route_02";
    http::response<http::string_body> response(known ? http::status::ok : http::status::not_found,
                                               request.version());
    response.set(http::field::content_type, "text/plain");
    response.keep_alive(request.keep_alive());
    response.body() = known ? "hello from " + std::string(request.target().substr(1)) : "not found";
    response.prepare_payload();
    return response;
}

struct connection : std::enable_shared_from_this<connection> {  // EDIT
    explicit connection(tcp::socket socket) : stream(std::move(socket)) {}

    void read() {
        request = {};
        http::async_read(stream, buffer, request,
                         [self = shared_from_this()](beast::error_code error, std::size_t) {
                             if (!error) self->write();
                         });
    }
    void write() {
        response = answer(request);
        http::async_write(stream, response,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (!error && self->response.keep_alive()) self->read();
                          });
    }

    beast::tcp_stream stream;
    beast::flat_buffer buffer;
    http::request<http::empty_body> request;
    http::response<http::string_body> response;
};

void accept(tcp::acceptor& acceptor) {  // EDIT
    acceptor.async_accept([&](beast::error_code error, tcp::socket socket) {
        if (!error) std::make_shared<connection>(std::move(socket))->read();
        accept(acceptor);
    });
}

int main() {
    try {
        const std::string host = std::getenv("WIREBENCH_HOST");
        const auto port = static_cast<unsigned short>(std::stoi(std::getenv("WIREBENCH_PORT")));
        boost::asio::io_context context;  // EDIT
        tcp::acceptor acceptor(context, {boost::asio::ip::make_address(host), port});
        accept(acceptor);
        context.run();
    } catch (const std::exception& failure) {
        std::cerr << "server: " << failure.what() << '\n';
        return 1;
    }
}
