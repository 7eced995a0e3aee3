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
// goes before {name...}. The cost of a search grows with the segments of the path, not with the
// number of routes.
//
// Everything here looks at one path, request::path(): decoded once, without dot segments and
// encoded slashes, which are refused with 400 before a router is asked. Patterns and prefixes may
// be written either way, "/a b" or "/a%20b". Upper and lower case differ.
//
// By itself a router answers 404 to unknown paths, 405 with Allow to other methods of known ones,
// 501 to methods that http::method has no name for, HEAD where there is GET, and OPTIONS with
// Allow.
//
// Middleware surrounds the handlers of all paths that begin with a prefix, of whole segments:
// "/api" stands for "/api" and "/api/...", "/" for every request.
//
//     routes.before("/admin", [](http::response& res) {
//         if (!known(res.request())) res.status(401).send();
//     });
//     routes.after([](http::response& res) { res.header("X-Frame-Options", "DENY"); });
//     routes.around("/slow", [&pool](http::response res, http::next next) {
//         pool.run([res = std::move(res), next]() mutable { next(std::move(res)); });
//     });
//
// Middleware is called in the order in which it was added, whatever its kind: the first is
// outermost, sees a request first and its response last. It surrounds the router's own answers too
// (404, 405, 501, OPTIONS), and finds the route's parameters in the request.
//
// A prefix guards what lies below it: "/%61dmin/x" begins with "/admin" as "/admin/x" does, while
// "/a/../admin" and "/admin%2Fx" are 400. Empty segments count for routes ("//admin" is not
// "/admin") but not for prefixes: before("/admin", ...) sees "//admin" and "/admin//x" too, so that
// a {name...} which leads to the same place does not lead around it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/function.hpp"
#include "wire/server/handler.hpp"

namespace wire::http {

namespace detail {
struct route_place;
struct route_table;
}  // namespace detail

// The rest of a request's processing, as middleware of around() gets it: the middleware that was
// added later, then the handler. Copies are cheap; they keep the routes alive.
class WIRE_EXPORT next {
public:
    // For the router: middleware is given one.
    explicit next(std::shared_ptr<const detail::route_place> place) noexcept
        : place_(std::move(place)) {}

    // Goes on with the request of `res`. Call it at once or later, on any thread, at most once for
    // a request. `res` must be the response that came with this object. Exceptions of what it calls
    // pass through it on the loop's thread; on another they end here, as with any handler: the
    // answer is 500, and server_options::on_exception is told.
    void operator()(response res) const;

private:
    std::shared_ptr<const detail::route_place> place_;
};

class route_group;

// A set of routes and middleware, and a handler like any other. Add everything before the first
// request; after that a router does not change, so that several loops may share it. Handlers and
// middleware are then called from the threads of all loops at once.
//
// All functions that take a pattern or prefix throw std::invalid_argument when it is malformed: a
// mistake in the program, not in its input.
class WIRE_EXPORT router {
public:
    router();
    // The router that was moved from may only be assigned to or destroyed.
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;
    ~router();

    // ---- routes ----

    // Calls `h` for requests with method `m` whose path matches `pattern`, once their body is there
    // whole. A later route replaces an earlier one with the same pattern and method. Malformed are
    // patterns without a leading '/', with an unnamed or repeated parameter, with {name...} before
    // the end, with another name for a parameter at the same place of another route, or which no
    // path can match (canonical_path() in url.hpp: '%' without two hexadecimal digits, "..").
    router& add(method m, std::string_view pattern, handler h);
    // add() for the usual methods. get() also answers HEAD, unless HEAD has a route of its own.
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
    // DELETE.
    router& del(std::string_view pattern, handler h) {
        return add(method::delete_, pattern, std::move(h));
    }

    // A handler that is called when the request's head is there, and reads the body as it comes
    // (body.hpp). Its bodies may have up to `max_body_bytes`, whatever limits::max_body_bytes says.
    using stream_handler = handler_of<body_reader>;
    router& stream(method m, std::string_view pattern, stream_handler h,
                   std::uint64_t max_body_bytes = std::numeric_limits<std::uint64_t>::max());

    // A WebSocket: `open` is called on the connection's loop for each session, with the request
    // that opened it, which dies when `open` returns. Requests that are no WebSocket handshake get
    // 426 or 400, those of other sites' pages 403 (ws::accept_options::allowed_origins). For fields
    // of one's own on the 101: get() with response::upgrade(), or middleware.
    router& websocket(std::string_view pattern,
                      unique_function<void(ws::session&, const request&)> open,
                      ws::accept_options options = {});

    // Called for paths that no route matches, instead of the plain 404.
    router& otherwise(handler h);

    // ---- middleware ----

    using editor = unique_function<void(response&)>;
    using wrapper = unique_function<void(response, next)>;
    // `f` is called before the handler. It may set fields, and may answer itself or move the
    // response away: then nothing further is called.
    router& before(std::string_view prefix, editor f);
    router& before(editor f) { return before("/", std::move(f)); }
    // `f` is called when the response is sent, on the thread that sends it, before anything is
    // written, and may change it: response::on_send().
    router& after(std::string_view prefix, editor f);
    router& after(editor f) { return after("/", std::move(f)); }
    // `f` is called instead of the rest, which it may call as `next`, at once or later.
    router& around(std::string_view prefix, wrapper f);
    router& around(wrapper f) { return around("/", std::move(f)); }

    // A view of this router that puts `prefix` before everything: group("/api").get("/notes", ...)
    // is get("/api/notes", ...), and its middleware is that of "/api".
    route_group group(std::string_view prefix);

    // ---- for the server, and for handlers that wrap a router ----

    // Handles a request, on the thread that it is called on. Exceptions: as those of `next`.
    void operator()(response res);

    // How the body of `req` is to be received, for server_options::plan_body: `stream` where the
    // request goes to a stream() route. A router that is given to server::listen() itself is asked
    // without more ado.
    body_plan plan_body(const request& req) const;
    // Whether stream() was called.
    bool has_streams() const noexcept { return has_streams_; }

private:
    std::shared_ptr<detail::route_table> table_;  // shared with each `next`
    bool has_streams_ = false;
};

// A router seen from a prefix, from router::group(). It refers to the router, which must outlive it
// and must not be moved meanwhile. Every function is that of router with the prefix in front.
class route_group {
public:
    route_group(router& of, std::string_view prefix) : router_(&of), prefix_(prefix) {}

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
        router_->websocket(prefix_ + std::string(pattern), std::move(open), std::move(options));
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
    router* router_;
    std::string prefix_;
};

inline route_group router::group(std::string_view prefix) { return {*this, prefix}; }

}  // namespace wire::http
