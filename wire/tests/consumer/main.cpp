// A user's program: find_package(wire) must be all that it needs to build.
#include <wire/server/server.hpp>

namespace http = wire::http;

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
