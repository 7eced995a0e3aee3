// A chat: what one member says goes to all others.
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>

#include <cstdio>
#include <list>

namespace http = wire::http;
namespace ws = wire::ws;

int main() {
    // With one loop all of this runs on one thread, and nothing needs a lock.
    std::list<ws::session*> members;
    http::router routes;
    routes.websocket("/chat", [&members](ws::session& joined, const http::request&) {
        const auto place = members.insert(members.end(), &joined);
        joined.on_message([&members](ws::session& from, ws::message m) {
            for (ws::session* to : members) {
                // A member who does not read is left out rather than letting its unsent bytes grow.
                if (to != &from && !to->is_congested()) to->send(m);
            }
        });
        joined.on_close([&members, place](ws::session&, std::uint16_t, std::string_view) { members.erase(place); });
    });
    const wire::error why = http::start_server(8080, std::move(routes));
    std::fprintf(stderr, "chat: %s\n", why.message.c_str());
    return 1;
}
