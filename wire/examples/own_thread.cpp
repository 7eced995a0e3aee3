// wire inside a program that has a main loop of its own: the server on a thread, reached by handles
// from any other.
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace http = wire::http;
namespace ws = wire::ws;

int main() {
    std::mutex mutex;
    std::vector<ws::handle> watchers;  // guarded by mutex
    http::router routes;
    routes.websocket("/ticks", [&](ws::session& s, const http::request&) {
        const std::lock_guard lock(mutex);
        watchers.push_back(s.handle());
    });
    http::server_options options;
    options.host = "127.0.0.1";
    auto server = http::server::listen(8080, std::move(routes), options);
    if (!server) {
        std::fprintf(stderr, "own_thread: %s\n", server.error().message.c_str());
        return 1;
    }
    std::thread serving([&] { server->run(); });
    for (int tick = 0; tick < 10; ++tick) {  // the program's own loop
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const std::lock_guard lock(mutex);
        for (const ws::handle& watcher : watchers) watcher.send("tick " + std::to_string(tick));
    }
    server->stop();
    serving.join();
}
