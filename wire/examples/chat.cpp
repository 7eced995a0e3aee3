// A chat with topics: what one member says in a room goes to all others there, whichever loop they
// are on.
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>
#include <wire/websocket/topics.hpp>

#include <cstdio>
#include <string>

namespace http = wire::http;
namespace ws = wire::ws;

int main() {
    // Members who do not read miss messages rather than letting their unsent bytes grow.
    const ws::topics rooms;
    http::router routes;
    const auto enter = [rooms](ws::session& joined, const http::request& request) {
        const std::string room(request.param("room"));
        if (!rooms.subscribe(joined, room))
            return joined.close(ws::close_code::policy, "no such room");
        joined.on_message([rooms, room](ws::session& from, ws::message m) {
            rooms.publish_from(from, room, m.data, m.op);
        });
        joined.on_close([rooms, room](ws::session&, std::uint16_t, std::string_view) {
            rooms.publish(room, "someone left");
        });
    };
    routes.websocket("/chat/{room}", enter, {.allowed_origins = {"https://app.example.org"}});
    http::server_options options;
    options.loops = 2;
    const wire::error why = http::start_server(8080, std::move(routes), options);
    std::fprintf(stderr, "chat: %s\n", why.message.c_str());
    return 1;
}
