// A client that follows redirects, tries again, keeps its cookies from one run to the next and
// takes compressed answers.
#include <wire/client/client.hpp>
#include <wire/client/cookie_jar.hpp>
#include <wire/proto/url.hpp>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace http = wire::http;

int main(int argc, char** argv) {
    const std::string url = argc > 1 ? argv[1] : "http://127.0.0.1:12345/";
    const std::string kept = argc > 2 ? argv[2] : "cookies.txt";

    auto jar = std::make_shared<http::cookie_jar>();
    if (std::ifstream file(kept); file) {
        const std::string text(std::istreambuf_iterator<char>(file), {});
        if (auto read = jar->load(text, std::time(nullptr)); !read) {
            std::fprintf(stderr, "polite_client: %s: %s\n", kept.c_str(),
                         read.error().message.c_str());
            return 1;
        }
    }
    http::client_options options;
    options.max_redirects = 5;
    options.retry.max_retries = 3;
    options.cookies = jar;
    options.decompress = true;
    auto client = http::client::create(options);
    if (!client) return 1;

    http::client_request request =
        http::make_request(http::method::get, wire::with_query(url, "q", "fish & chips"));
    request.headers.push_back(http::basic_auth("me", "secret"));
    const auto reply = client->send(request);
    if (!reply) {
        std::fprintf(stderr, "polite_client: %s\n", reply.error().message.c_str());
        return 1;
    }
    for (const http::redirect& step : reply->redirects())
        std::printf("%d %s\n", step.status, step.url.c_str());
    std::printf("%d %s: %zu bytes\n", reply->status(), reply->url().c_str(), reply->body().size());
    std::ofstream(kept) << jar->save(std::time(nullptr));
}
