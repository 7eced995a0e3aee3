// A router's routes and middleware: the tree that is searched, and what is called in which order.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/server/router.hpp"

namespace wire::http::detail {

constexpr std::size_t method_count = static_cast<std::size_t>(method::other);

constexpr unsigned bit(method m) noexcept { return 1U << static_cast<unsigned>(m); }

// One place in the tree where requests can end.
struct route_end {
    std::array<handler, method_count> by_method;
    unsigned methods = 0;  // bits of those that are set
    std::array<body_plan, method_count> plans;
};

// What one segment of a path leads to. Fixed segments go before {name}, which goes before
// {name...}.
struct route_node {
    route_end here;
    std::map<std::string, std::unique_ptr<route_node>, std::less<>> fixed;
    std::string param_name;
    std::unique_ptr<route_node> param;
    std::string rest_name;
    std::unique_ptr<route_end> rest;
};

// What a search has come upon.
struct route_match {
    method wanted;
    std::vector<std::pair<std::string_view, std::string_view>>& params;
    handler* chosen = nullptr;
    body_plan plan{};   // of `chosen`
    unsigned seen = 0;  // methods of all places that match the path

    // `path` is what follows a '/'.
    bool search(route_node& n, std::string_view path);

private:
    bool try_here(route_end& e);
};

// Middleware: one of the three is set.
struct middleware {
    std::string prefix;  // canonical, without empty segments nor a '/' at its end
    router::editor before{};
    router::editor after{};
    router::wrapper around{};

    // Whether `path` begins with the prefix, empty segments of `path` apart: what a handler opens
    // by it may be the same with and without them.
    bool covers(std::string_view path) const noexcept;
};

// Shared by the router and each `next` that is under way. Does not change once requests come, so
// that several loops may use it; the handlers in it are called from all of them.
struct route_table {
    route_node root;
    handler otherwise;
    std::vector<std::unique_ptr<middleware>> layers;

    // Throw std::invalid_argument for a malformed pattern or prefix.
    void add(method m, std::string_view pattern, handler h, body_plan plan);
    middleware& add_layer(std::string_view prefix);

    // Answers with what the search has found: a handler, or else the methods that there would have
    // been.
    void answer(response res, handler* chosen, unsigned seen);
};

// Where a request stands between middleware and its handler: the next layer to look at, and what
// the search has found.
struct route_place {
    std::shared_ptr<route_table> table;  // not null
    std::size_t layer;
    handler* chosen;
    unsigned seen;
};

}  // namespace wire::http::detail
