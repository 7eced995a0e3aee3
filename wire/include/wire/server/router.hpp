// Chooses a handler by path and method.
//
//     http::router routes;
//     routes.get("/test/labels/{label}", [](http::response res) {
//         res.send("label: " + std::string(res.request().param("label")));
//     });
//     http::start_server(2001, std::move(routes));
//
// A pattern is a path whose segments may be {name}, which matches one non-empty segment, or, as the
// last, {name...}, which matches all the rest, even nothing. Fixed segments go before {name}, which
// goes before {name...}. Paths are compared as received, without decoding.
//
// By itself a router answers 404 to unknown paths, 405 with Allow to other methods of known ones,
// HEAD where there is GET, and OPTIONS with Allow.
//
// Middleware surrounds the handlers of all paths that begin with a prefix, of whole segments:
// "/api" stands for "/api" and "/api/...", "/" for every request.
//
//     routes.before("/admin", [](http::response& res) { if (!known(res.request()))
//     res.status(401).send(); }); routes.after([](http::response& res) {
//     res.header("X-Frame-Options", "DENY"); }); routes.around("/slow", [&pool](http::response res,
//     http::next next) {
//         pool.run([res = std::move(res), next]() mutable { next(std::move(res)); });
//     });
//
// In the order in which it was added, whatever its kind: what was added first is outermost, sees a
// request first and its response last. It surrounds the router's own answers too (404, 405,
// OPTIONS), and finds the route's parameters in the request. Prefixes are compared as received,
// like paths: "/%61dmin" or "/a/../admin" does not begin with "/admin", and no route "/admin/..."
// matches it either; only a handler that decodes what its {name...} matched must see for itself
// where that leads.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "wire/base/function.hpp"
#include "wire/server/handler.hpp"

namespace wire::http {

// The rest of the way for a request that middleware has in hand. To be called at once or later, on
// any thread, with its response; copies are cheap.
class next {
public:
    void operator()(response res) const;

private:
    friend class router;
    struct place;
    explicit next(std::shared_ptr<const place> p) noexcept : place_(std::move(p)) {}
    std::shared_ptr<const place> place_;
};

class route_group;

// A handler like any other. Routes are added before it is put to use; after that it does not
// change, so that several loops may share it.
class router {
public:
    router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;
    ~router();

    // A later route replaces an earlier one with the same pattern and method. A malformed pattern
    // (no leading '/', an unnamed or repeated parameter, {name...} before the end, the same place
    // under two names) throws std::invalid_argument: a mistake in the program, not in its input.
    router& add(method m, std::string_view pattern, handler h);
    router& get(std::string_view pattern, handler h) {
        return add(method::get, pattern, std::move(h));
    }
    router& post(std::string_view pattern, handler h) {
        return add(method::post, pattern, std::move(h));
    }
    router& put(std::string_view pattern, handler h) {
        return add(method::put, pattern, std::move(h));
    }
    router& patch(std::string_view pattern, handler h) {
        return add(method::patch, pattern, std::move(h));
    }
    router& del(std::string_view pattern, handler h) {
        return add(method::delete_, pattern, std::move(h));
    }

    // A handler that is called when the request's head is there, and reads the body as it comes
    // (body.hpp). Its bodies may have up to `max_body_bytes`, whatever limits::max_body_bytes says.
    using stream_handler = handler_of<body_reader>;
    router& stream(method m, std::string_view pattern, stream_handler h,
                   std::uint64_t max_body_bytes = std::numeric_limits<std::uint64_t>::max());

    // A WebSocket: `open` is called for each session with the request that opened it.
    router& websocket(std::string_view pattern,
                      unique_function<void(ws::session&, const request&)> open,
                      ws::accept_options options = {});

    // Instead of the plain 404.
    router& otherwise(handler h);

    using editor = unique_function<void(response&)>;
    using wrapper = unique_function<void(response, next)>;
    // Called on the way in; may set fields, and answer itself (or move the response away): then
    // nothing further is called.
    router& before(std::string_view prefix, editor f);
    router& before(editor f) { return before("/", std::move(f)); }
    // Called when the response is sent, on the thread that sends it, before it is written:
    // response::on_send().
    router& after(std::string_view prefix, editor f);
    router& after(editor f) { return after("/", std::move(f)); }
    // Called instead of the rest, which is `next`.
    router& around(std::string_view prefix, wrapper f);
    router& around(wrapper f) { return around("/", std::move(f)); }

    // Adds to this router what has a common prefix: group("/api").get("/notes", ...) is
    // get("/api/notes", ...).
    route_group group(std::string_view prefix);

    void operator()(response res);

    // For server_options::plan_body, where the router is not the server's handler itself: whether a
    // request goes to a stream() route.
    body_plan plan_body(const request& req) const;
    bool has_streams() const noexcept { return has_streams_; }

private:
    friend class next;
    struct node;
    struct found;
    struct layer;
    struct table;
    layer& add_layer(std::string_view prefix);
    router& add(method m, std::string_view pattern, handler h, body_plan plan);

    std::shared_ptr<table> table_;  // shared with each `next`
    bool has_streams_ = false;
};

// A router seen from a prefix; dies with it.
class route_group {
public:
    route_group& add(method m, std::string_view pattern, handler h) {
        router_->add(m, prefix_ + std::string(pattern), std::move(h));
        return *this;
    }
    route_group& get(std::string_view pattern, handler h) {
        return add(method::get, pattern, std::move(h));
    }
    route_group& post(std::string_view pattern, handler h) {
        return add(method::post, pattern, std::move(h));
    }
    route_group& put(std::string_view pattern, handler h) {
        return add(method::put, pattern, std::move(h));
    }
    route_group& patch(std::string_view pattern, handler h) {
        return add(method::patch, pattern, std::move(h));
    }
    route_group& del(std::string_view pattern, handler h) {
        return add(method::delete_, pattern, std::move(h));
    }
    route_group& stream(method m, std::string_view pattern, router::stream_handler h,
                        std::uint64_t max_body_bytes = std::numeric_limits<std::uint64_t>::max()) {
        router_->stream(m, prefix_ + std::string(pattern), std::move(h), max_body_bytes);
        return *this;
    }
    route_group& websocket(std::string_view pattern,
                           unique_function<void(ws::session&, const request&)> open,
                           ws::accept_options options = {}) {
        router_->websocket(prefix_ + std::string(pattern), std::move(open), options);
        return *this;
    }
    route_group& before(router::editor f) {
        router_->before(prefix_, std::move(f));
        return *this;
    }
    route_group& after(router::editor f) {
        router_->after(prefix_, std::move(f));
        return *this;
    }
    route_group& around(router::wrapper f) {
        router_->around(prefix_, std::move(f));
        return *this;
    }
    route_group group(std::string_view prefix) {
        return router_->group(prefix_ + std::string(prefix));
    }

private:
    friend class router;
    route_group(router& r, std::string_view prefix) : router_(&r), prefix_(prefix) {}
    router* router_;
    std::string prefix_;
};

inline route_group router::group(std::string_view prefix) { return {*this, prefix}; }

}  // namespace wire::http
