// Chooses a handler by path and method.
//
//     http::router routes;
//     routes.get("/test/labels/{label}", [](http::response res) {
//         res.send("label: " + std::string(res.request().param("label")));
//     });
//     http::start_server(2001, std::move(routes));
//
// A pattern is a path whose segments may be {name}, which matches one non-empty segment, or, as the last, {name...}, which matches all the
// rest, even nothing. Fixed segments go before {name}, which goes before {name...}. Paths are compared as
// received, without decoding.
//
// By itself a router answers 404 to unknown paths, 405 with Allow to other methods of known ones, HEAD where there is GET,
// and OPTIONS with Allow.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "wire/base/function.hpp"
#include "wire/server/response.hpp"

namespace wire::http {

// A handler like any other. Routes are added before it is put to use; after that it does not change, so that
// several loops may share it.
class router {
public:
    router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;
    ~router();

    // A later route replaces an earlier one with the same pattern and method. A malformed pattern (no leading '/', an unnamed or
    // repeated parameter, {name...} before the end, the same place under two names) throws std::invalid_argument: a mistake
    // in the program, not in its input.
    router& add(method m, std::string_view pattern, handler h);
    router& get(std::string_view pattern, handler h) { return add(method::get, pattern, std::move(h)); }
    router& post(std::string_view pattern, handler h) { return add(method::post, pattern, std::move(h)); }
    router& put(std::string_view pattern, handler h) { return add(method::put, pattern, std::move(h)); }
    router& patch(std::string_view pattern, handler h) { return add(method::patch, pattern, std::move(h)); }
    router& del(std::string_view pattern, handler h) { return add(method::delete_, pattern, std::move(h)); }

    // A WebSocket: `open` is called for each session with the request that opened it.
    router& websocket(std::string_view pattern, unique_function<void(ws::session&, const request&)> open);

    // Instead of the plain 404.
    router& otherwise(handler h);

    void operator()(response res);

private:
    struct node;
    struct found;
    std::unique_ptr<node> root_;
    std::unique_ptr<handler> otherwise_;
};

}  // namespace wire::http
