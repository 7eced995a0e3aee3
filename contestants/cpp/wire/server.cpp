// Five workloads with wire.
#include <wire/loop/blocking_pool.hpp>
#include <wire/loop/socket.hpp>
#include <wire/server/server.hpp>
#include <wire/websocket/topics.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "json.hpp"

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

void answer(http::response res) {
    res.content_type("text/plain").body().append("Sending response: ").append(res.request().body());
    res.send();
}

void rest(http::router& routes, wire::blocking_pool& pool, std::chrono::milliseconds delay) {
    routes.post("/test", [&pool, delay](http::response res) {
        if (!wirebench::is_json(res.request().body())) {
            res.status(400).send("the body is not JSON\n");
        } else if (delay.count() == 0) {
            answer(std::move(res));
        } else {
            pool.run([res = std::move(res), delay]() mutable {
                std::this_thread::sleep_for(delay);
                answer(std::move(res));
            });
        }
    });
    routes.get("/test/status",
               [](http::response res) { res.content_type("text/plain").send("OK"); });
    routes.get("/test/labels/{label}", [](http::response res) {
        res.content_type("text/plain")
            .body()
            .append("label: ")
            .append(res.request().param("label"));
        res.send();
    });
}

void echo(http::router& routes) {
    routes.websocket("/",
                     [](ws::session& s, const http::request&) {
                         s.on_message([](ws::session& s, ws::message m) { s.send(m); });
                     },
                     {.deflate = ws::deflate_options{}});  // for clients that offer it; so it is
                                                           // held to RFC 7692 as well
}

void count(http::router& routes) {
    routes.websocket("/", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& s, ws::message m) {
            thread_local rapidjson::StringBuffer answer;
            if (!wirebench::answer_count(m.data, answer))
                return s.close(ws::close_code::unsupported, "expected {\"c\":n}");
            s.send(wirebench::text_of(answer));
        });
    });
}

void broadcast(http::router& routes) {
    routes.websocket("/", [rooms = ws::topics()](ws::session& s, const http::request&) {
        s.on_message([rooms](ws::session&, ws::message m) { rooms.publish("all", m.data, m.op); });
        (void)rooms.subscribe(s, "all");
    });
}

// Threads above one are processes with a loop each, so that each has open files of its own. The
// kernel spreads the connections over their sockets, which all listen before any process accepts.
wire::error serve(std::uint16_t port, http::router routes, http::server_options options,
                  std::vector<wire::unique_fd> sockets) {
    if (sockets.empty()) return http::start_server(port, std::move(routes), std::move(options));
    std::vector<wire::unique_fd> own;
    own.push_back(std::move(sockets.back()));
    sockets.clear();
    auto server = http::server::listen(std::move(own), std::move(routes), std::move(options));
    if (!server) return server.error();
    server->run();
    return {};
}

wire::result<std::vector<wire::unique_fd>> fork_processes(const std::string& host,
                                                          std::uint16_t port, unsigned count) {
    std::vector<wire::unique_fd> sockets;
    if (count == 1) return sockets;
    const auto at = wire::address::parse(host, port);
    if (!at) return at.error();
    for (unsigned i = 0; i < count; ++i) {
        auto one = wire::listen_tcp(*at, {.reuse_port = true});
        if (!one) return one.error();
        sockets.push_back(std::move(*one));
    }
    while (sockets.size() > 1) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            return sockets;
        }
        sockets.pop_back();
    }
    return sockets;
}

}  // namespace

int main() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    const std::string workload = variable("WIREBENCH_WORKLOAD", "http.hello");
    const auto threads = static_cast<unsigned>(std::stoul(variable("WIREBENCH_THREADS", "1")));
    const auto port = static_cast<std::uint16_t>(std::stoul(variable("WIREBENCH_PORT", "8080")));
    http::server_options options;
    options.host = variable("WIREBENCH_HOST", "127.0.0.1");
    auto sockets = fork_processes(options.host, port,
                                  workload == "rest" || workload == "ws.broadcast" ? 1 : threads);
    if (!sockets) {
        std::cerr << "server: " << sockets.error().message << '\n';
        return 1;
    }
    const std::chrono::milliseconds delay(std::stol(variable("WIREBENCH_DELAY_MS", "0")));
    wire::blocking_pool pool(delay.count() > 0 ? threads : 1);
    http::router routes;
    if (workload == "http.hello") hello(routes);
    if (workload == "rest") rest(routes, pool, delay);
    if (workload == "ws.echo") echo(routes);
    if (workload == "ws.count") count(routes);
    if (workload == "ws.broadcast") broadcast(routes);

    if (const std::string certificate = variable("WIREBENCH_TLS_CERT", ""); !certificate.empty()) {
        wire::tls::server_options tls;
        tls.certificates = {{certificate, variable("WIREBENCH_TLS_KEY", "")}};
        auto context = wire::tls::server_context::create(tls);
        if (!context) {
            std::cerr << "server: " << context.error().message << '\n';
            return 1;
        }
        options.tls = *std::move(context);
    }
    const auto failure = serve(port, std::move(routes), std::move(options), *std::move(sockets));
    std::cerr << "server: " << failure.message << '\n';
    return 1;
}
