// HTTP clients: one that waits, for a body whole or in pieces, and one that keeps many requests in
// flight on a loop.
#include <wire/client/client.hpp>
#include <wire/loop/event_loop.hpp>

#include <cstdio>
#include <string>

namespace http = wire::http;

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "http://127.0.0.1:12345/";

    auto client = http::client::create();
    if (!client) return 1;
    const auto reply = client->get(url);
    if (!reply) {
        std::fprintf(stderr, "client: %s: %s\n", url.c_str(), reply.error().message.c_str());
        return 1;
    }
    std::printf("%d, %zu bytes\n", reply->status(), reply->body().size());

    http::client_request large;
    large.url = url;
    std::size_t bytes = 0;
    const auto end = client->send(std::move(large), [&bytes](std::string_view piece) {
        bytes += piece.size();
        return true;
    });
    std::printf("in pieces: %zu bytes, %s\n", bytes, end ? "whole" : end.error().message.c_str());

    auto loop = wire::event_loop::create();
    if (!loop) return 1;
    http::client_options shared;
    shared.max_connections_per_host = 4;
    shared.max_pipelined = 8;  // on each of them
    http::async_client many(**loop, shared);
    int left = 100;
    for (int number = 0; number < 100; ++number) {
        many.get(url, [&](wire::result<http::reply> got) {
            if (!got) std::fprintf(stderr, "client: %s\n", got.error().message.c_str());
            if (--left == 0) (*loop)->stop();
        });
    }
    (*loop)->run();
    std::printf("100 requests over %llu connections\n",
                static_cast<unsigned long long>(many.connections_opened()));
}
