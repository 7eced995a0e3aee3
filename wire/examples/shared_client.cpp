// One client for several threads: each waits for its own answer, and all share the connections.
#include <wire/client/shared_client.hpp>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace http = wire::http;

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "http://127.0.0.1:8080/";
    auto made = wire::shared_client::create();
    if (!made) {
        std::fprintf(stderr, "shared_client: %s\n", made.error().message.c_str());
        return 1;
    }
    wire::shared_client& client = **made;

    auto later = client.submit(http::make_request(http::method::get, url));
    client.send(http::make_request(http::method::head, url), [](wire::result<http::reply> got) {
        std::printf("head: %d\n", got ? got->status() : 0);  // on the client's thread
    });
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; ++i) {
        workers.emplace_back([&client, &url] {
            const auto got = client.get(url);  // waits
            std::printf("worker: %d\n", got ? got->status() : 0);
        });
    }
    for (std::thread& w : workers) w.join();
    const auto got = later.get();
    std::printf("later: %d\n", got ? got->status() : 0);
}
