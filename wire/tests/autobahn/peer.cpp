// What Autobahn's test suite talks to: an echo server for its fuzzing client, and an echo client
// for its fuzzing server.
//
//     wire_autobahn server PORT
//     wire_autobahn client ws://127.0.0.1:PORT
//     wire_autobahn takeover ws://127.0.0.1:PORT      (a client that offers context takeover)
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "wire/client/websocket.hpp"
#include "wire/loop/event_loop.hpp"
#include "wire/server/router.hpp"
#include "wire/server/server.hpp"

namespace {

namespace http = wire::http;
namespace ws = wire::ws;

constexpr std::string_view agent = "wire";

// The suite's largest messages: cases 9.* and 12.*.
constexpr std::uint64_t max_message_bytes = 16 * 1024 * 1024;

int fail(std::string_view what, const wire::error& why) {
    std::fprintf(stderr, "wire_autobahn: %.*s: %s\n", static_cast<int>(what.size()), what.data(),
                 why.message.c_str());
    return 1;
}

int serve(std::uint16_t port) {
    http::router routes;
    ws::accept_options agreeable;
    agreeable.deflate =
        ws::deflate_options{.context_takeover = true, .peer_context_takeover = true};
    routes.websocket(
        "/",
        [](ws::session& s, const http::request&) {
            s.on_message([](ws::session& s, ws::message m) { s.send(m); });
        },
        agreeable);
    http::server_options options;
    options.host = "127.0.0.1";
    options.limits.max_message_bytes = max_message_bytes;
    return fail("server", http::start_server(port, std::move(routes), options));
}

// Opens a session and stays until it is over. The callback client: it answers a message before it
// looks at the next frame, as the strict cases ask, while the blocking one reads ahead.
wire::error converse(const std::string& url, bool context_takeover,
                     ws::session::message_handler on_message) {
    auto loop = wire::event_loop::create();
    if (!loop) return loop.error();
    wire::error failure;
    ws::dialer dialer(**loop);
    ws::dial_options options;
    options.limits.max_message_bytes = max_message_bytes;
    options.deflate = ws::deflate_options{.context_takeover = context_takeover,
                                          .peer_context_takeover = context_takeover};
    dialer.dial(url, options, [&](wire::result<ws::session*> opened) {
        if (!opened) {
            failure = opened.error();
            (*loop)->stop();
            return;
        }
        (*opened)->on_message(std::move(on_message));
        (*opened)->on_close(
            [&](ws::session&, std::uint16_t, std::string_view) { (*loop)->stop(); });
    });
    (*loop)->run();
    return failure;
}

int ask(const std::string& url, bool context_takeover) {
    int cases = 0;
    const wire::error none =
        converse(url + "/getCaseCount", context_takeover, [&](ws::session& s, ws::message m) {
            cases = std::atoi(std::string(m.data).c_str());
            s.close();
        });
    if (none) return fail("getCaseCount", none);
    const std::string by = std::string("agent=") + std::string(agent);
    for (int number = 1; number <= cases; ++number) {
        // Cases that end in an error are meant to: the server judges what it saw.
        const std::string path = "/runCase?case=" + std::to_string(number) + "&" + by;
        if (auto failure = converse(url + path, context_takeover,
                                    [](ws::session& s, ws::message m) { s.send(m); }))
            return fail(path, failure);
    }
    const wire::error unwritten =
        converse(url + "/updateReports?" + by, context_takeover, [](ws::session&, ws::message) {});
    return unwritten ? fail("updateReports", unwritten) : cases > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view role = argc == 3 ? argv[1] : "";
    if (role == "server") return serve(static_cast<std::uint16_t>(std::atoi(argv[2])));
    if (role == "client") return ask(argv[2], false);
    if (role == "takeover") return ask(argv[2], true);
    std::fputs("usage: wire_autobahn server PORT | client URL | takeover URL\n", stderr);
    return 64;
}
