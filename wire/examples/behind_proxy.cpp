// A server behind a reverse proxy on this machine and a load balancer in the network, which tell it
// of its clients.
#include <cstdio>
#include <string>

#include "wire/server/server.hpp"

namespace http = wire::http;

int main() {
    http::server_options options;
    for (const char* text : {"127.0.0.1", "10.0.0.0/8", "unix:"}) {
        const auto proxies = wire::network::parse(text);
        if (!proxies) {
            std::fprintf(stderr, "behind_proxy: %s\n", proxies.error().message.c_str());
            return 1;
        }
        options.trusted_proxies.push_back(*proxies);
    }
    options.forwarded_fields.x_forwarded_for = true;
    options.forwarded_fields.x_forwarded_proto = true;

    const wire::error why = http::start_server(
        12345,
        [](http::response res) {
            const http::request& r = res.request();
            res.send(r.client_address().host() + " asks for " + std::string(r.client_scheme()) +
                     "://" + std::string(r.client_authority()) + std::string(r.target()) + "\n");
        },
        options);
    std::fprintf(stderr, "behind_proxy: %s\n", why.message.c_str());
    return 1;
}
