// The other half of MIGRATING.md: its programs for other libraries, written with wire.
#include <wire/client/client.hpp>
#include <wire/client/websocket.hpp>
#include <wire/loop/blocking_pool.hpp>
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>
#include <wire/websocket/topics.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

namespace http = wire::http;
namespace ws = wire::ws;
using namespace std::chrono_literals;

namespace {

// ---- cpprestsdk ----

int from_http_listener() {
    http::router routes;
    routes.get("/hello/{name}", [](http::response res) {
        res.send("hello " + std::string(res.request().param("name")));
    });
    auto server = http::server::listen(8080, std::move(routes));
    if (!server) {
        std::fprintf(stderr, "%s\n", server.error().message.c_str());
        return 1;
    }
    server->run();  // until server->stop(), from any thread or signal handler
    return 0;
}

int from_http_client() {
    auto loop = wire::event_loop::create();
    if (!loop) return 1;
    http::async_client client(**loop);
    client.get("http://127.0.0.1:8080/hello/you", [&](wire::result<http::reply> r) {
        if (r) {
            std::printf("%d %s\n", r->status(), std::string(r->body()).c_str());
        } else {
            std::fprintf(stderr, "%s\n", r.error().message.c_str());
        }
        (*loop)->stop();
    });
    (*loop)->run();
    return 0;
}

// ---- libcurl and websocketpp ----

int from_easy_handle() {
    http::client_options options;
    options.connect_timeout = 2s;
    options.response_timeout = 10s;
    options.limits.max_body_bytes = 1 << 20;
    auto client = http::client::create(options);
    if (!client) return 1;
    const auto reply = client->get("https://127.0.0.1:8443/data");
    if (!reply) {
        std::fprintf(stderr, "%s\n", reply.error().message.c_str());
        return 1;
    }
    if (reply->status() != 200) return 1;
    std::printf("%zu bytes of %s\n", reply->body().size(),
                std::string(reply->header("Content-Type").value_or("?")).c_str());
    return 0;
}

int from_websocketpp() {
    auto loop = wire::event_loop::create();
    if (!loop) return 1;
    ws::dialer dialer(**loop);
    dialer.dial("ws://127.0.0.1:8080/chat", {}, [&](wire::result<ws::session*> opened) {
        if (!opened) {
            std::fprintf(stderr, "%s\n", opened.error().message.c_str());
            (*loop)->stop();
            return;
        }
        ws::session& s = **opened;
        s.on_message([](ws::session& from, ws::message m) {
            std::printf("%s\n", std::string(m.data).c_str());
            from.close();
        });
        s.on_close([&](ws::session&, std::uint16_t, std::string_view) { (*loop)->stop(); });
        s.send("hello");
    });
    (*loop)->run();
    return 0;
}

// ---- cpp-httplib ----

int from_cpp_httplib() {
    wire::blocking_pool pool(8);
    http::router routes;
    routes.get("/hi", [](http::response res) { res.send("hello"); });
    routes.get("/report", [&pool](http::response res) {
        pool.run([res = std::move(res)]() mutable {
            std::this_thread::sleep_for(1s);  // whatever takes its time
            res.content_type("text/csv").send("a,b\n1,2\n");
        });
    });
    const wire::error why = http::start_server(8080, std::move(routes));
    std::fprintf(stderr, "%s\n", why.message.c_str());
    return 1;
}

// ---- uWebSockets ----

int from_uwebsockets() {
    ws::topics rooms;
    http::router routes;
    routes.websocket("/room/{name}", [rooms](ws::session& s, const http::request& asked) {
        const std::string room(asked.param("name"));
        if (!rooms.subscribe(s, room)) return s.close(ws::close_code::policy);
        s.on_message([rooms, room](ws::session& from, ws::message m) {
            rooms.publish_from(from, room, m.data, m.op);
        });
    });
    http::server_options options;
    options.loops = 4;
    options.limits.max_message_bytes = 16 * 1024;
    options.limits.max_unsent_bytes = 64 * 1024;
    const wire::error why = http::start_server(9001, std::move(routes), options);
    std::fprintf(stderr, "%s\n", why.message.c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "http_listener") return from_http_listener();
    if (what == "http_client") return from_http_client();
    if (what == "libcurl") return from_easy_handle();
    if (what == "websocketpp") return from_websocketpp();
    if (what == "cpp-httplib") return from_cpp_httplib();
    if (what == "uwebsockets") return from_uwebsockets();
    std::fprintf(stderr,
                 "migrating: http_listener, http_client, libcurl, websocketpp, cpp-httplib or "
                 "uwebsockets\n");
    return 64;
}
