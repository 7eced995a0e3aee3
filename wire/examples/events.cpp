// A tick each second for each page that listens: new EventSource("/ticks").
#include <wire/server/coroutine.hpp>
#include <wire/server/event_writer.hpp>
#include <wire/server/server.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace http = wire::http;

int main() {
    http::router routes;
    routes.get("/ticks", [](http::response res) -> wire::task<> {
        wire::event_loop& loop = res.loop();
        // A client that comes back goes on behind what it got.
        const std::string since(http::last_event_id(res.request()).value_or("0"));
        unsigned long n = std::strtoul(since.c_str(), nullptr, 10);
        http::event_writer out(std::move(res));
        while (out.is_open()) {  // until the client leaves, or the server stops
            const std::string id = std::to_string(++n);
            out.send({.data = "tick " + id, .type = "tick", .id = id});
            co_await wire::sleep_for(loop, std::chrono::seconds(1));
        }
    });
    const wire::error why = http::start_server(8080, std::move(routes));
    std::fprintf(stderr, "events: %s\n", why.message.c_str());
    return 1;
}
