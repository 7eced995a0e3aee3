// Subprotocols: a WebSocket that speaks graphql-transport-ws as far as its greeting, and one that
// chooses by the request and sends a field with the 101.
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>

#include <cstdio>
#include <string>

namespace http = wire::http;
namespace ws = wire::ws;

int main() {
    http::router routes;
    const auto serve = [](ws::session& s, const http::request&) {
        // A client that offers no subprotocol comes in all the same, and speaks what it likes.
        if (s.protocol().empty()) return s.close(ws::close_code::policy, "offer a subprotocol");
        s.on_message([](ws::session& from, ws::message m) {
            const bool greets = m.data.find("connection_init") != std::string_view::npos;
            from.send(greets ? R"({"type":"connection_ack"})" : R"({"type":"pong"})");
        });
    };
    routes.websocket("/graphql", serve, {.protocols = {"graphql-transport-ws", "graphql-ws"}});
    routes.get("/events/{topic}", [serve](http::response res) {
        const std::string speaks = "events." + std::string(res.request().param("topic"));
        res.header("Cache-Control", "no-store");
        res.upgrade(serve, {.protocols = {speaks}, .require_protocol = true});
    });
    const wire::error why = http::start_server(8080, std::move(routes));
    std::fprintf(stderr, "subprotocols: %s\n", why.message.c_str());
    return 1;
}
