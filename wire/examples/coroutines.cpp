// Coroutines on one loop: requests one after another and at once, a pause, a WebSocket.
#include <wire/client/coroutine.hpp>
#include <wire/client/reply_stream.hpp>
#include <wire/loop/event_loop.hpp>
#include <wire/loop/task.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace http = wire::http;
namespace ws = wire::ws;

wire::task<> fetch(http::async_client& client, std::string url) {
    const wire::result<http::reply> reply = co_await client.get(url);
    if (reply) {
        std::printf("%s: %d, %zu bytes\n", reply->url().c_str(), reply->status(),
                    reply->body().size());
    } else {
        std::fprintf(stderr, "coroutines: %s\n", reply.error().message.c_str());
    }
}

wire::task<> count(http::async_client& client, std::string url) {
    http::client_request request = http::make_request(http::method::get, url);
    auto got = co_await http::stream(client, std::move(request));
    if (!got) co_return;
    std::size_t bytes = 0;
    for (;;) {
        const auto piece = co_await got->next();
        if (!piece || piece->empty()) break;  // broken off, or complete
        bytes += piece->size();
    }
    std::printf("%s: %d, %zu bytes in pieces\n", url.c_str(), got->head().status(), bytes);
}

wire::task<> chat(ws::dialer& dialer, std::string url) {
    wire::result<ws::channel> room = co_await ws::dial(dialer, url);
    if (!room) co_return;
    if (!co_await room->send("hello")) co_return;
    const auto answer = co_await room->receive();
    if (answer) std::printf("%s\n", answer->data.c_str());
}

wire::task<int> all(wire::event_loop& loop, std::string url) {
    http::async_client client(loop);
    co_await fetch(client, url);  // one after the other
    co_await wire::sleep_for(loop, std::chrono::milliseconds(100));
    co_await fetch(client, url);
    co_await count(client, url);

    wire::task_group beside;  // and ten beside each other
    for (int i = 0; i < 10; ++i) beside.spawn(fetch(client, url));
    co_await beside.join();

    ws::dialer dialer(loop);
    co_await chat(dialer, "ws" + url.substr(url.find(':')));
    co_return 0;
}

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "http://127.0.0.1:12345/";
    auto loop = wire::event_loop::create();
    if (!loop) return 1;
    return wire::block_on(**loop, all(**loop, url));
}
