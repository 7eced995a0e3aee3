// The two workloads that are measured over TLS, with wire's own TLS 1.3 records.
#include <wire/server/server.hpp>

#include <sys/resource.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace http = wire::http;
namespace ws = wire::ws;

namespace {

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

void hello(http::router& routes) {
    for (const std::string name : {"route_01", "route_02"}) {
        routes.get("/" + name, [text = "hello from " + name](http::response res) {
            res.content_type("text/plain").body() = text;
            res.send();
        });
    }
}

void echo(http::router& routes) {
    routes.websocket("/",
                     [](ws::session& s, const http::request&) {
                         s.on_message([](ws::session& s, ws::message m) { s.send(m); });
                     },
                     {.deflate = ws::deflate_options{}});
}

}  // namespace

int main() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    http::router routes;
    if (variable("WIREBENCH_WORKLOAD", "http.hello") == "ws.echo") {
        echo(routes);
    } else {
        hello(routes);
    }
    http::server_options options;
    options.host = variable("WIREBENCH_HOST", "127.0.0.1");
    if (const std::string certificate = variable("WIREBENCH_TLS_CERT", ""); !certificate.empty()) {
        wire::tls::server_options tls;
        tls.certificates = {{certificate, variable("WIREBENCH_TLS_KEY", "")}};
        tls.records = wire::tls::record_layer::wire;
        auto context = wire::tls::server_context::create(tls);
        if (!context) {
            std::cerr << "server: " << context.error().message << '\n';
            return 1;
        }
        options.tls = *std::move(context);
    }
    options.loops = static_cast<unsigned>(std::stoul(variable("WIREBENCH_THREADS", "1")));
    const auto port = static_cast<std::uint16_t>(std::stoul(variable("WIREBENCH_PORT", "8080")));
    const auto failure = http::start_server(port, std::move(routes), options);
    std::cerr << "server: " << failure.message << '\n';
    return 1;
}
