// `rest` and `http.hello` with Pistache's router, after its guide.
#include <pistache/endpoint.h>
#include <pistache/peer.h>
#include <pistache/router.h>

#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "json.hpp"

namespace {

using namespace Pistache;

std::string variable(const char* name, const char* otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

// Two things of RFC 9112 section 9 that the library leaves out: it takes a request of HTTP/1.1
// without a Connection field for one that asks to close, and then does not close.
Rest::Route::Result reply(const Rest::Request& request, Http::ResponseWriter& response,
                          Http::Code status, const std::string& body) {
    const auto connection = request.headers().tryGet<Http::Header::Connection>();
    const bool keep_alive = connection ? connection->control() != Http::ConnectionControl::Close
                                       : request.version() == Http::Version::Http11;
    response.headers().remove<Http::Header::Connection>();
    response.headers().add<Http::Header::Connection>(keep_alive ? Http::ConnectionControl::KeepAlive
                                                                : Http::ConnectionControl::Close);
    const auto peer = response.peer();
    response.send(status, body, MIME(Text, Plain))
        .then(
            [peer, keep_alive](ssize_t) {
                if (!keep_alive) ::shutdown(peer->fd(), SHUT_WR);
            },
            Async::IgnoreException);
    return Rest::Route::Result::Ok;
}

// The router itself answers 404, and 405 where only the method is wrong.
void add_routes(Rest::Router& router, const std::string& workload,
                std::chrono::milliseconds delay) {
    using Rest::Routes::Get;
    using Rest::Routes::Post;
    if (workload == "http.hello") {
        for (const std::string route : {"route_01", "route_02"})
            Get(router, "/" + route,
                [route](const Rest::Request& request, Http::ResponseWriter response) {
                    return reply(request, response, Http::Code::Ok, "hello from " + route);
                });
        return;
    }
    Post(router, "/test", [delay](const Rest::Request& request, Http::ResponseWriter response) {
        if (!wirebench::is_json(request.body()))
            return reply(request, response, Http::Code::Bad_Request, "the body is not JSON");
        if (delay.count() > 0) std::this_thread::sleep_for(delay);
        return reply(request, response, Http::Code::Ok, "Sending response: " + request.body());
    });
    Get(router, "/test/status", [](const Rest::Request& request, Http::ResponseWriter response) {
        return reply(request, response, Http::Code::Ok, "OK");
    });
    Get(router, "/test/labels/:label",
        [](const Rest::Request& request, Http::ResponseWriter response) {
            return reply(request, response, Http::Code::Ok,
                         "label: " + request.param(":label").as<std::string>());
        });
}

}  // namespace

int main() {
    try {
        Http::Endpoint endpoint(Address(variable("WIREBENCH_HOST", "127.0.0.1") + ":" +
                                        variable("WIREBENCH_PORT", "8080")));
        endpoint.init(Http::Endpoint::options()
                          .threads(std::stoi(variable("WIREBENCH_THREADS", "1")))
                          .flags(Tcp::Options::ReuseAddr | Tcp::Options::NoDelay)
                          .maxRequestSize(1024 * 1024)
                          .keepaliveTimeout(std::chrono::seconds(75))
                          .backlog(4096));
        Rest::Router router;
        add_routes(router, variable("WIREBENCH_WORKLOAD", "rest"),
                   std::chrono::milliseconds(std::stol(variable("WIREBENCH_DELAY_MS", "0"))));
        endpoint.setHandler(router.handler());
        endpoint.serve();
        return 0;
    } catch (const std::exception& failure) {
        std::cerr << "server: " << failure.what() << '\n';
        return 1;
    }
}
