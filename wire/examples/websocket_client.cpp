// A WebSocket client that waits for each answer.
#include <wire/client/websocket.hpp>

#include <cstdio>
#include <string>

namespace ws = wire::ws;

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "ws://127.0.0.1:8080/chat";
    ws::dial_options options;
    options.deflate.emplace();  // messages are compressed if the server agrees
    auto client = ws::blocking_client::connect(url, options);
    if (!client) {
        std::fprintf(stderr, "websocket_client: %s: %s\n", url.c_str(),
                     client.error().message.c_str());
        return 1;
    }
    if (auto sent = client->send("hello"); !sent) return 1;
    const auto answer = client->receive(std::chrono::seconds(5));
    if (answer) {
        std::printf("%.*s\n", static_cast<int>(answer->data.size()), answer->data.data());
    } else {
        std::fprintf(stderr, "websocket_client: %s\n", answer.error().message.c_str());
    }
    client->close();
}
