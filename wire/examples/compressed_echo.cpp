// A WebSocket echo that compresses messages with clients that offer it (permessage-deflate).
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>

#include <cstdio>

namespace http = wire::http;
namespace ws = wire::ws;

int main() {
    http::router routes;
    ws::accept_options options;
    options.deflate = ws::deflate_options{
        .context_takeover = true,  // messages refer to those before them: they get smaller, and
                                   // each session holds memory
        .window_bits = 12,         // looks back 4 KiB at most
        .min_bytes = 64,           // shorter messages go as they are
    };
    routes.websocket(
        "/echo",
        [](ws::session& opened, const http::request&) {
            opened.on_message([](ws::session& s, ws::message m) { s.send(m); });
        },
        options);
    const wire::error why = http::start_server(8080, std::move(routes));
    std::fprintf(stderr, "compressed_echo: %s\n", why.message.c_str());
    return 1;
}
