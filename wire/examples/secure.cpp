// A server over TLS that tells its clients apart by their certificates, or by their addresses.
#include <wire/server/server.hpp>

#include <cstdio>
#include <string>

namespace http = wire::http;

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: secure CERTIFICATE.pem KEY.pem CLIENTS_CA.pem\n");
        return 2;
    }
    wire::tls::server_options keys;
    keys.client_ca_file = argv[3];
    keys.client = wire::tls::client_certificate::optional;
    keys.certificates = {{argv[1], argv[2]}};  // files in PEM: the chain, and its key
    auto context = wire::tls::server_context::create(keys);
    if (!context) {
        std::fprintf(stderr, "secure: %s\n", context.error().message.c_str());
        return 1;
    }
    http::server_options options;
    options.tls = *context;

    http::router routes;
    routes.before("/members", [](http::response& res) {
        const wire::tls::connection_info* const tls = res.request().tls();  // null without TLS
        if (tls == nullptr || tls->peer.empty()) res.status(403).send("show a certificate\n");
    });
    routes.get("/members", [](http::response res) {
        res.send("hello " + std::string(res.request().tls()->peer) + "\n");
    });
    routes.get("/", [](http::response res) {
        res.send("you are at " + res.request().peer().to_string() + "\n");
    });
    const wire::error why = http::start_server(8443, std::move(routes), std::move(options));
    std::fprintf(stderr, "secure: %s\n", why.message.c_str());
    return 1;
}
