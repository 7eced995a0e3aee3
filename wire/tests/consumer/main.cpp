// A user's program: find_package(wire) must be all that it needs to build.
#include <wire/client/client.hpp>
#include <wire/server/server.hpp>

namespace http = wire::http;

// What is not named is as it is by default, and no warning asks for it.
const auto fields_by_name = [] {
    (void)http::server_options{.host = "::1", .loops = 2};
    (void)wire::tls::server_options{.certificates = {{"cert.pem", "key.pem"}}};
    (void)wire::tls::client_options{.ca_file = "ca.pem"};
    (void)http::client_request{.url = "http://localhost/"};
    (void)http::body_source{.pull = {}};
    (void)http::response_pieces{.end = {}};
    (void)wire::open_options{.proxy = "http://localhost:3128"};
    (void)wire::connect_options{.no_delay = false};
};

int main() {
    // An address that cannot be listened on: it returns, with the reason.
    http::server_options options;
    options.host = "not an address";
    const auto failure = http::start_server(
        12345,
        [](http::response res) {
            res.body() = "hello";
            res.send();
        },
        options);
    return failure.code == wire::errc::bad_argument ? 0 : 1;
}
