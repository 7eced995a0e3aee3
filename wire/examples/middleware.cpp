// What surrounds handlers: middleware, forms and cookies, error pages, an access log and metrics.
#include <wire/proto/cookies.hpp>
#include <wire/server/compress.hpp>
#include <wire/server/forms.hpp>
#include <wire/server/router.hpp>
#include <wire/server/server.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace http = wire::http;

int main() {
    const auto counts = std::make_shared<http::metrics>();
    http::router routes;

    // In the order of adding, the first one outermost.
    routes.after(http::compress());
    routes.after([](http::response& res) { res.set_header("X-Content-Type-Options", "nosniff"); });
    auto members = routes.group("/members");
    members.before([](http::response& res) {
        const auto cookies = http::cookies(res.request());
        // And nothing else is called.
        if (!cookies || !cookies->find("__Host-name")) res.status(403).send("log in first\n");
    });
    members.get("/{page}", [](http::response res) {
        res.send("this is " + std::string(res.request().param("page")) + "\n");
    });

    routes.post("/login", [](http::response res) {
        const auto form = http::form(res.request());
        if (!form)
            return res.status(http::status_for(form.error().code)).send(form.error().message);
        const bool known = form->get("password") == "guess";
        if (!known) return res.status(403).send("no\n");
        res.cookie({.name = "__Host-name",
                    .value = "somebody",
                    .path = "/",
                    .secure = true,
                    .http_only = true,
                    .same_site = http::same_site::lax});
        res.send("welcome\n");
    });
    routes.get("/metrics", [counts](http::response res) {
        res.content_type(http::metrics::content_type).send(counts->text());
    });

    http::server_options options;
    options.host = "127.0.0.1";
    options.limits.handler_timeout = std::chrono::seconds(30);
    options.error_pages.set(404, "text/html", "<h1>Nothing here</h1>\n")
        .set(5, "application/json", "{\"error\": \"ours\"}\n");
    options.metrics = counts;
    options.on_finished = [](const http::access_record& r) {
        std::puts(http::combined_log(r).c_str());
    };
    options.on_exception = [](http::response res, std::exception_ptr why) {
        try {
            std::rethrow_exception(why);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "handler: %s\n", e.what());
        } catch (...) {}
        if (res) res.status(503).send("try again later\n");
    };
    const wire::error why = http::start_server(8080, std::move(routes), options);
    std::fprintf(stderr, "middleware: %s\n", why.message.c_str());
    return 1;
}
