// The tree of routes: how a pattern is added, how a path is searched, and what a router answers by
// itself (404, 405, 501, OPTIONS).
#include "route_table.hpp"

#include <stdexcept>

#include "exchange.hpp"
#include "wire/proto/url.hpp"

namespace wire::http::detail {

namespace {

[[noreturn]] void malformed(std::string_view pattern, std::string_view why) {
    throw std::invalid_argument("route \"" + std::string(pattern) + "\": " + std::string(why));
}

// Patterns and prefixes are compared with canonical paths, however they are written.
std::string canonical(std::string_view pattern, std::string_view part) {
    auto decoded = canonical_path(part);
    if (!decoded) malformed(pattern, decoded.error().message);
    return *std::move(decoded);
}

std::string allow_list(unsigned methods) {
    if ((methods & bit(method::get)) != 0) methods |= bit(method::head);
    methods |= bit(method::options);
    std::string text;
    for (unsigned m = 0; m < method_count; ++m) {
        if ((methods & 1U << m) == 0) continue;
        if (!text.empty()) text += ", ";
        text += to_string(static_cast<method>(m));
    }
    return text;
}

}  // namespace

bool middleware::covers(std::string_view path) const noexcept {
    std::size_t at = 0;
    for (const char c : prefix) {
        if (c != '/') {
            // Of a run of '/', the prefix has one.
            while (at != 0 && at < path.size() && path[at] == '/' && path[at - 1] == '/') ++at;
        }
        if (at == path.size() || path[at] != c) return false;
        ++at;
    }
    return prefix.empty() || at == path.size() || path[at] == '/';
}

bool route_match::try_here(route_end& e) {
    seen |= e.methods;
    const bool as_get = wanted == method::head && (e.methods & bit(method::head)) == 0;
    const method m = as_get ? method::get : wanted;
    if (m == method::other || (e.methods & bit(m)) == 0) return false;
    chosen = &e.by_method[static_cast<std::size_t>(m)];
    plan = e.plans[static_cast<std::size_t>(m)];
    return true;
}

bool route_match::search(route_node& n, std::string_view path) {
    const std::size_t slash = path.find('/');
    const bool last = slash == std::string_view::npos;
    const std::string_view segment = path.substr(0, slash);
    const auto go_on = [&](route_node& next) {
        return last ? try_here(next.here) : search(next, path.substr(slash + 1));
    };
    if (const auto it = n.fixed.find(segment); it != n.fixed.end() && go_on(*it->second))
        return true;
    if (n.param != nullptr && !segment.empty()) {
        params.emplace_back(n.param_name, segment);
        if (go_on(*n.param)) return true;
        params.pop_back();
    }
    if (n.rest != nullptr) {
        params.emplace_back(n.rest_name, path);
        if (try_here(*n.rest)) return true;
        params.pop_back();
    }
    return false;
}

void route_table::add(method m, std::string_view pattern, handler h, body_plan plan) {
    if (m == method::other) malformed(pattern, "a method without a name");
    if (pattern.empty() || pattern.front() != '/') malformed(pattern, "must begin with '/'");
    std::vector<std::string_view> names;
    const auto name_of = [&](std::string_view segment, std::size_t cut) {
        const std::string_view name = segment.substr(1, segment.size() - 2 - cut);
        if (name.empty()) malformed(pattern, "a parameter without a name");
        for (const auto other : names) {
            if (other == name) malformed(pattern, "a parameter's name twice");
        }
        names.push_back(name);
        return name;
    };
    const auto give_name = [&](std::string& known, bool exists, std::string_view name) {
        if (exists && known != name)
            malformed(pattern, "the same place is called {" + known + "} in another route");
        known = name;
    };
    route_node* at = &root;
    route_end* end = nullptr;
    std::string_view left = pattern.substr(1);
    for (bool last = false; !last;) {
        const std::size_t slash = left.find('/');
        last = slash == std::string_view::npos;
        const std::string_view segment = left.substr(0, slash);
        left = last ? std::string_view() : left.substr(slash + 1);
        const bool braces = segment.size() >= 2 && segment.front() == '{' && segment.back() == '}';
        if (!braces && segment.find_first_of("{}") != std::string_view::npos)
            malformed(pattern, "a parameter must be a whole segment");
        if (braces && segment.size() >= 5 && segment.substr(segment.size() - 4) == "...}") {
            if (!last) malformed(pattern, "{name...} must come last");
            give_name(at->rest_name, at->rest != nullptr, name_of(segment, 3));
            if (at->rest == nullptr) at->rest = std::make_unique<route_end>();
            end = at->rest.get();
        } else if (braces) {
            give_name(at->param_name, at->param != nullptr, name_of(segment, 0));
            if (at->param == nullptr) at->param = std::make_unique<route_node>();
            at = at->param.get();
        } else {
            auto& next = at->fixed[canonical(pattern, segment)];
            if (next == nullptr) next = std::make_unique<route_node>();
            at = next.get();
        }
    }
    if (end == nullptr) end = &at->here;
    end->by_method[static_cast<std::size_t>(m)] = std::move(h);
    end->plans[static_cast<std::size_t>(m)] = plan;
    end->methods |= bit(m);
}

middleware& route_table::add_layer(std::string_view prefix) {
    if (prefix.empty() || prefix.front() != '/') malformed(prefix, "must begin with '/'");
    if (prefix.find_first_of("{}") != std::string_view::npos)
        malformed(prefix, "the prefix of middleware has no parameters");
    std::string path;
    for (const char c : canonical(prefix, prefix)) {
        if (c != '/' || !path.ends_with('/')) path += c;
    }
    if (path.back() == '/') path.pop_back();
    return *layers.emplace_back(std::make_unique<middleware>(middleware{.prefix = path}));
}

void route_table::answer(response res, handler* chosen, unsigned seen) {
    if (chosen != nullptr) {
        (*chosen)(std::move(res));
        return;
    }
    const request& req = res.request();
    const bool asks_for_options = req.method() == method::options;
    const bool unknown_path = seen == 0 && !(asks_for_options && req.path() == "*");
    if (unknown_path && otherwise) {
        otherwise(std::move(res));
        return;
    }
    // RFC 9110 section 9.1: a method that is known nowhere is 501, one that is only not here 405.
    const int status = req.method() == method::other ? 501
                       : unknown_path                ? 404
                       : asks_for_options            ? 204
                                                     : 405;
    if (status == 204) {
        res.status(204);
    } else {
        response_access::of(res.remove_header("Content-Type")).say(status);
    }
    if (seen != 0 && status != 501) res.header("Allow", allow_list(seen));
    res.send();
}

}  // namespace wire::http::detail
