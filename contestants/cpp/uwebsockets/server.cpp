// `http.hello`, `ws.echo`, `ws.count` and `ws.broadcast` with uWebSockets: an app in each thread,
// all listening on the same port. Topics are an app's own, so under `ws.broadcast` there is one.
#include <uWebSockets/App.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "json.hpp"

namespace {

struct session {};
using socket_t = uWS::WebSocket<false, true, session>;

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

void echo(socket_t* socket, std::string_view message, uWS::OpCode kind) {
    socket->send(message, kind);
}

void count(socket_t* socket, std::string_view message, uWS::OpCode) {
    thread_local rapidjson::StringBuffer answer;
    if (!wirebench::answer_count(message, answer)) return socket->end(1007, "expected {\"c\":n}");
    socket->send(wirebench::text_of(answer), uWS::OpCode::TEXT);
}

void serve(const std::string& workload, const std::string& host, int port) {
    constexpr unsigned max_message_bytes = 16 * 1024 * 1024;
    uWS::App app;
    if (workload == "http.hello") {
        for (const std::string route : {"route_01", "route_02"})
            app.get("/" + route, [text = "hello from " + route](auto* response, auto*) {
                response->writeHeader("Content-Type", "text/plain")->end(text);
            });
        app.any("/*", [](auto* response, auto*) {
            response->writeStatus("404 Not Found")->end("not found");
        });
    } else if (workload == "ws.broadcast") {
        app.ws<session>(
            "/*", {
                      .maxPayloadLength = max_message_bytes,
                      .idleTimeout = 120,
                      .open = [](auto* socket) { socket->subscribe("all"); },
                      .message = [&app](auto*, std::string_view message,
                                        uWS::OpCode kind) { app.publish("all", message, kind); },
                  });
    } else {
        app.ws<session>("/*", {
                                  .maxPayloadLength = max_message_bytes,
                                  .idleTimeout = 120,
                                  .maxBackpressure = 4 * max_message_bytes,
                                  .message = workload == "ws.count" ? count : echo,
                              });
    }
    app.listen(host, port, [&](auto* socket) {
        if (socket != nullptr) return;
        std::fprintf(stderr, "cannot listen on %s:%d\n", host.c_str(), port);
        std::exit(1);
    });
    app.run();
}

}  // namespace

int main() {
    const auto workload = variable("WIREBENCH_WORKLOAD", "ws.echo");
    const auto host = variable("WIREBENCH_HOST", "127.0.0.1");
    const auto port = std::stoi(variable("WIREBENCH_PORT", "9001"));
    const auto threads =
        workload == "ws.broadcast" ? 1 : std::stoul(variable("WIREBENCH_THREADS", "1"));
    std::vector<std::thread> others;
    for (unsigned long i = 1; i < threads; ++i) others.emplace_back(serve, workload, host, port);
    serve(workload, host, port);
    std::_Exit(1);  // run() returned: nothing is listening any more
}
