// The shortest server: one loop, one handler for every request.
#include <wire/server/server.hpp>

#include <cstdio>

namespace http = wire::http;

int main() {
    const wire::error why = http::start_server(12345, [](http::response res) {
        res.body() = "hello";
        res.send();
    });
    std::fprintf(stderr, "hello: %s\n", why.message.c_str());
    return 1;
}
