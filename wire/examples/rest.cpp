// A small REST service: routes with parameters, blocking work in a pool, two loops, an orderly end
// on Ctrl-C and SIGTERM.
#include <wire/loop/blocking_pool.hpp>
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace http = wire::http;

namespace {

// Handlers run on several loops at once, so what they share is guarded.
struct notes {
    std::mutex mutex;
    std::map<std::string, std::string, std::less<>> texts;
};

http::server* running = nullptr;

}  // namespace

int main() {
    notes kept;
    wire::blocking_pool pool(4);
    http::router routes;

    routes.put("/notes/{name}", [&kept](http::response res) {
        const std::lock_guard lock(kept.mutex);
        kept.texts.insert_or_assign(std::string(res.request().param("name")),
                                    std::string(res.request().body()));
        res.status(204).send();
    });
    routes.get("/notes/{name}", [&kept](http::response res) {
        const std::lock_guard lock(kept.mutex);
        const auto found = kept.texts.find(res.request().param("name"));
        if (found == kept.texts.end()) return res.status(404).send("no such note\n");
        res.send(found->second);
    });
    // A response may be moved away and sent later, from any thread.
    routes.get("/slow", [&pool](http::response res) {
        pool.run([res = std::move(res)]() mutable {
            std::this_thread::sleep_for(std::chrono::seconds(1));
            res.send("that took a while\n");
        });
    });

    http::server_options options;
    options.host = "127.0.0.1";
    options.loops = 2;
    options.limits.max_body_bytes = 64 * 1024;
    auto server = http::server::listen(8080, std::move(routes), options);
    if (!server) {
        std::fprintf(stderr, "rest: %s\n", server.error().message.c_str());
        return 1;
    }
    running = &*server;
    // Accepts no more, answers what is in progress.
    for (const int one : {SIGINT, SIGTERM}) std::signal(one, [](int) { running->stop(); });
    std::printf("http://127.0.0.1:%d/notes/first\n", server->port());
    server->run();
}
