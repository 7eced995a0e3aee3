// Handlers that wait without a thread of their own: for another server, a timer, a pool, the pieces
// of a body.
#include <wire/client/coroutine.hpp>
#include <wire/loop/stop.hpp>
#include <wire/server/coroutine.hpp>
#include <wire/server/server.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace http = wire::http;

int main() {
    wire::blocking_pool pool(4);
    // One for the one loop: connections are kept between requests.
    std::optional<http::async_client> client;

    http::router routes;
    routes.get("/elsewhere", [&client](http::response res) -> wire::task<> {
        const wire::result<http::reply> got = co_await client->get("http://127.0.0.1:12345/");
        if (!got) res.status(502);
        res.send(got ? std::string(got->body()) : got.error().message + "\n");
    });
    routes.get("/slow", [](http::response res) -> wire::task<> {
        co_await wire::sleep_for(res.loop(), std::chrono::seconds(1));
        res.send("that took a while\n");
    });
    routes.get("/host", [&pool](http::response res) -> wire::task<> {
        res.send(co_await wire::run_in(pool, res.loop(), [] {
            std::ifstream file("/etc/hostname");
            return std::string(std::istreambuf_iterator<char>(file), {});
        }));
    });
    routes.stream(http::method::put, "/count",
                  [](http::response res, http::body_reader in) -> wire::task<> {
                      http::body_pieces pieces(res.loop(), std::move(in));
                      std::size_t bytes = 0;
                      for (;;) {
                          const wire::result<std::string> piece = co_await pieces.next();
                          if (!piece) co_return;  // the peer has been told, or has gone
                          if (piece->empty()) break;
                          bytes += piece->size();
                      }
                      res.send(std::to_string(bytes) + "\n");
                  });

    routes.get("/ticks", [](http::response res) -> wire::task<> {
        wire::event_loop& loop = res.loop();
        const std::stop_token stopping = res.stop_token();
        http::body_writer out = res.start_body();
        while (co_await wire::sleep_for(loop, std::chrono::seconds(1), stopping)) {
            if (!out.write("tick\n")) co_return;  // the peer has gone, or does not read
        }
        out.finish();  // the server stops
    });

    auto server = http::server::listen(8080, std::move(routes));
    if (!server) {
        std::fprintf(stderr, "coroutine_handlers: %s\n", server.error().message.c_str());
        return 1;
    }
    client.emplace(server->loop());
    server->run();
    client.reset();  // before the loop
}
