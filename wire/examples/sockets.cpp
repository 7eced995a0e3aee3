// A server on a Unix socket, on the sockets of a service manager, or on a port; and a client that
// asks by a Unix socket.
//
//     sockets serve | sockets ask | systemd-socket-activate -l 12345 sockets
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "wire/client/client.hpp"
#include "wire/loop/inherited_sockets.hpp"
#include "wire/server/server.hpp"

namespace http = wire::http;

namespace {

int complain(const wire::error& why) {
    std::fprintf(stderr, "sockets: %s\n", why.message.c_str());
    return 1;
}

void hello(http::response res) { res.send("hello " + res.request().peer().to_string() + "\n"); }

int serve() {
    http::server_options options;
    options.unix_socket = "/run/app/http.sock";  // "@app" is a name without a file
    options.unix_socket_mode = 0660;             // who may write to the file may connect
    return complain(http::start_server(0, hello, options));
}

int ask() {
    http::client_options options;
    options.unix_socket = "/run/app/http.sock";
    auto client = http::client::create(options);
    const auto reply = client->get("http://localhost/");  // only the Host field says "localhost"
    if (!reply) return complain(reply.error());
    std::printf("%.*s", static_cast<int>(reply->body().size()), reply->body().data());
    return 0;
}

int be_activated() {
    const char* const pid = std::getenv("LISTEN_PID");
    const char* const count = std::getenv("LISTEN_FDS");
    auto sockets = wire::listen_fds(pid != nullptr ? pid : "", count != nullptr ? count : "");
    if (!sockets) return complain(sockets.error());
    auto server = sockets->empty() ? http::server::listen(12345, hello)
                                   : http::server::listen(*std::move(sockets), hello);
    if (!server) return complain(server.error());
    server->run();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    return what == "serve" ? serve() : what == "ask" ? ask() : be_activated();
}
