// A note that clients fetch again only when it has changed (ETag, If-None-Match), and replace only
// when they have seen the last change (If-Match).
#include <wire/proto/conditional.hpp>
#include <wire/server/server.hpp>

#include <cstdio>
#include <string>

namespace http = wire::http;

int main() {
    std::string text = "nothing yet\n";
    unsigned version = 1;
    const auto tag = [&version] { return '"' + std::to_string(version) + '"'; };

    http::router routes;
    routes.get("/note", [&](http::response res) {
        const http::request& r = res.request();
        const std::string now = tag();
        res.header("ETag", now);
        switch (http::check_preconditions(r.headers(), r.method(), {.etag = now})) {
        case http::precondition::not_modified: return res.status(304).send();
        case http::precondition::failed: return res.status(412).send();
        case http::precondition::holds: res.send(text);
        }
    });
    routes.put("/note", [&](http::response res) {
        const http::request& r = res.request();
        // Who does not say what is to be replaced may not know what others have written.
        if (!r.header("If-Match")) return res.status(428).send("If-Match, please\n");
        if (http::check_preconditions(r.headers(), r.method(), {.etag = tag()}) !=
            http::precondition::holds)
            return res.status(412).send("it has changed\n");
        text = r.body();
        ++version;
        res.status(204).header("ETag", tag()).send();
    });

    http::server_options options;
    options.host = "127.0.0.1";
    const wire::error why = http::start_server(8080, std::move(routes), std::move(options));
    std::fprintf(stderr, "conditional: %s\n", why.message.c_str());
    return 1;
}
