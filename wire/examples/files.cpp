// Files of a directory at /static, with ranges and conditional requests, beside an ordinary route.
#include <wire/server/files.hpp>
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>

#include <cstdio>

namespace http = wire::http;

int main(int argc, char** argv) {
    http::router routes;
    routes.get("/", [](http::response res) {
        res.content_type("text/html").send("<a href=static/>files</a>\n");
    });

    auto files = http::serve_files(argc > 1 ? argv[1] : ".",
                                   {.cache_control = "max-age=60", .precompressed = true});
    if (!files) {
        std::fprintf(stderr, "files: %s\n", files.error().message.c_str());
        return 1;
    }
    routes.get("/static/{path...}", *std::move(files));

    const wire::error why = http::start_server(8080, std::move(routes));
    std::fprintf(stderr, "files: %s\n", why.message.c_str());
    return 1;
}
