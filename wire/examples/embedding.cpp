// wire inside a loop that is not its own: one thread, the program's poll(), and a server and a
// client that take part in it. Any loop that can wait for a descriptor and a timeout will do:
// epoll, GLib, Qt, libuv.
#include <wire/client/client.hpp>
#include <wire/server/server.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace http = wire::http;

namespace {

// What poll() takes: milliseconds rounded up, so that a timer has come when it returns; -1 for no
// limit.
int poll_timeout(wire::clock::duration longest) {
    if (longest == wire::event_loop::forever) return -1;
    return static_cast<int>(
        std::min(std::chrono::ceil<std::chrono::milliseconds>(longest).count(), 60'000L));
}

}  // namespace

int main() {
    http::server_options options;
    options.host = "127.0.0.1";
    auto server = http::server::listen(
        8080, [](http::response res) { res.send("hello from a guest\n"); }, options);
    if (!server) {
        std::fprintf(stderr, "embedding: %s\n", server.error().message.c_str());
        return 1;
    }
    http::async_client client(server->loop());  // on the same loop: one descriptor for both

    pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {server->descriptor(), POLLIN, 0}};
    do {
        ::poll(watched, 2, poll_timeout(server->next_timeout()));
        // The program's own: a line asks the server, the end of the input ends it.
        if (watched[0].revents != 0) {
            char line[256];
            if (::read(STDIN_FILENO, line, sizeof line) <= 0) {
                watched[0].fd = -1;
                server->stop();
            } else {
                client.get("http://127.0.0.1:8080/", [](wire::result<http::reply> r) {
                    std::printf("%s",
                                r ? std::string(r->body()).c_str() : r.error().message.c_str());
                });
            }
        }
    } while (server->run_once(wire::clock::duration::zero()));
}
