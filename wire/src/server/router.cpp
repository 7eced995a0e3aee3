#include "wire/server/router.hpp"

#include <array>
#include <map>
#include <stdexcept>
#include <vector>

#include "exchange.hpp"

namespace wire::http {

namespace {

constexpr std::size_t method_count = static_cast<std::size_t>(method::other);

constexpr unsigned bit(method m) noexcept { return 1U << static_cast<unsigned>(m); }

// One place in the tree where requests can end.
struct endpoint {
    std::array<handler, method_count> by_method;
    unsigned methods = 0;  // bits of those that are set
    std::array<body_plan, method_count> plans;
};

[[noreturn]] void malformed(std::string_view pattern, std::string_view why) {
    throw std::invalid_argument("route \"" + std::string(pattern) + "\": " + std::string(why));
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

struct router::node {
    endpoint here;
    std::map<std::string, std::unique_ptr<node>, std::less<>> fixed;
    std::string param_name;
    std::unique_ptr<node> param;
    std::string rest_name;
    std::unique_ptr<endpoint> rest;
};

// What a search has come upon.
struct router::found {
    method wanted;
    std::vector<std::pair<std::string_view, std::string_view>>& params;
    handler* chosen = nullptr;
    body_plan plan{};   // its
    unsigned seen = 0;  // methods of all places that match the path

    bool try_here(endpoint& e) {
        seen |= e.methods;
        const bool as_get = wanted == method::head && (e.methods & bit(method::head)) == 0;
        const method m = as_get ? method::get : wanted;
        if (m == method::other || (e.methods & bit(m)) == 0) return false;
        chosen = &e.by_method[static_cast<std::size_t>(m)];
        plan = e.plans[static_cast<std::size_t>(m)];
        return true;
    }

    // `path` is what follows a '/'.
    bool search(node& n, std::string_view path) {
        const std::size_t slash = path.find('/');
        const bool last = slash == std::string_view::npos;
        const std::string_view segment = path.substr(0, slash);
        const auto go_on = [&](node& next) {
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
};

// Middleware of one of three kinds.
struct router::layer {
    std::string prefix;  // without a '/' at its end
    editor before{};
    editor after{};
    wrapper around{};

    bool covers(std::string_view path) const noexcept {
        return path.starts_with(prefix) &&
               (path.size() == prefix.size() || prefix.empty() || path[prefix.size()] == '/');
    }
};

struct router::table {
    node root;
    handler otherwise;
    std::vector<std::unique_ptr<layer>> layers;

    // What the search has found: a handler, or else the methods that there would have been.
    void answer(response res, handler* chosen, unsigned seen);
};

// `table` is not null.
struct next::place {
    std::shared_ptr<router::table> table;
    std::size_t layer;
    handler* chosen;
    unsigned seen;
};

router::router() : table_(std::make_shared<table>()) {}
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;
router::~router() = default;

router& router::add(method m, std::string_view pattern, handler h) {
    return add(m, pattern, std::move(h), body_plan());
}

router& router::add(method m, std::string_view pattern, handler h, body_plan plan) {
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
    node* at = &table_->root;
    endpoint* end = nullptr;
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
            if (at->rest == nullptr) at->rest = std::make_unique<endpoint>();
            end = at->rest.get();
        } else if (braces) {
            give_name(at->param_name, at->param != nullptr, name_of(segment, 0));
            if (at->param == nullptr) at->param = std::make_unique<node>();
            at = at->param.get();
        } else {
            auto& next = at->fixed[std::string(segment)];
            if (next == nullptr) next = std::make_unique<node>();
            at = next.get();
        }
    }
    if (end == nullptr) end = &at->here;
    end->by_method[static_cast<std::size_t>(m)] = std::move(h);
    end->plans[static_cast<std::size_t>(m)] = plan;
    end->methods |= bit(m);
    return *this;
}

router& router::stream(method m, std::string_view pattern, stream_handler h,
                       std::uint64_t max_body_bytes) {
    has_streams_ = true;
    handler at_head = [h = std::move(h)](response res) mutable {
        body_reader in = res.take_body();
        h(std::move(res), std::move(in));
    };
    return add(m, pattern, std::move(at_head),
               body_plan{.stream = true, .max_bytes = max_body_bytes});
}

body_plan router::plan_body(const request& req) const {
    const std::string_view path = req.path();
    std::vector<std::pair<std::string_view, std::string_view>> params;
    found f{.wanted = req.method(), .params = params};
    if (!path.empty() && path.front() == '/') f.search(table_->root, path.substr(1));
    return f.plan;
}

router& router::websocket(std::string_view pattern,
                          unique_function<void(ws::session&, const request&)> open,
                          ws::accept_options options) {
    auto shared =
        std::make_unique<unique_function<void(ws::session&, const request&)>>(std::move(open));
    return get(pattern, [open = std::move(shared), options](response res) {
        res.upgrade([&open = *open](ws::session& s, const request& r) { open(s, r); }, options);
    });
}

router& router::otherwise(handler h) {
    table_->otherwise = std::move(h);
    return *this;
}

router::layer& router::add_layer(std::string_view prefix) {
    if (prefix.empty() || prefix.front() != '/') malformed(prefix, "must begin with '/'");
    if (prefix.find_first_of("{}") != std::string_view::npos)
        malformed(prefix, "the prefix of middleware has no parameters");
    if (prefix.back() == '/') prefix.remove_suffix(1);
    return *table_->layers.emplace_back(
        std::make_unique<layer>(layer{.prefix = std::string(prefix)}));
}

router& router::before(std::string_view prefix, editor f) {
    add_layer(prefix).before = std::move(f);
    return *this;
}

router& router::after(std::string_view prefix, editor f) {
    add_layer(prefix).after = std::move(f);
    return *this;
}

router& router::around(std::string_view prefix, wrapper f) {
    add_layer(prefix).around = std::move(f);
    return *this;
}

void router::operator()(response res) {
    request& req = res.exchange_->req;
    found f{.wanted = req.method(), .params = req.params_};
    const std::string_view path = req.path();
    if (!path.empty() && path.front() == '/') f.search(table_->root, path.substr(1));
    if (table_->layers.empty()) {
        table_->answer(std::move(res), f.chosen, f.seen);
    } else {
        next(std::make_shared<next::place>(next::place{table_, 0, f.chosen, f.seen}))(
            std::move(res));
    }
}

void next::operator()(response res) const {
    const auto& [table, first, chosen, seen] = *place_;
    for (std::size_t i = first; i < table->layers.size(); ++i) {
        router::layer& layer = *table->layers[i];
        if (!layer.covers(res.request().path())) continue;
        if (layer.before) {
            layer.before(res);
            if (!res) return;
        } else if (layer.after) {
            res.on_send([table = table, &layer](response& r) { layer.after(r); });
        } else if (layer.around) {
            layer.around(std::move(res),
                         next(std::make_shared<place>(place{table, i + 1, chosen, seen})));
            return;
        }
    }
    table->answer(std::move(res), chosen, seen);
}

void router::table::answer(response res, handler* chosen, unsigned seen) {
    if (chosen != nullptr) {
        (*chosen)(std::move(res));
        return;
    }
    const request& req = res.request();
    const bool asks_for_options = req.method() == method::options;
    if (seen == 0 && !(asks_for_options && req.path() == "*")) {
        if (otherwise) {
            otherwise(std::move(res));
        } else {
            res.remove_header("Content-Type").exchange_->say(404);
            res.send();
        }
        return;
    }
    if (asks_for_options) {
        res.status(204);
    } else {
        res.remove_header("Content-Type").exchange_->say(405);
    }
    if (seen != 0) res.header("Allow", allow_list(seen));
    res.send();
}

}  // namespace wire::http
