// The router that users write to: it fills a route_table and takes requests through its middleware.
#include "wire/server/router.hpp"

#include <exception>

#include "exceptions.hpp"
#include "exchange.hpp"
#include "route_table.hpp"

namespace wire::http {

namespace {

// On the loop's thread whoever has called deals with exceptions. On another nobody is known to: one
// that left its function, such as that of a pool, would end the program.
template <typename Call> void on_any_thread(response res, const Call& call) {
    const std::shared_ptr<detail::loop_handle>& handle = detail::response_access::of(res).handle;
    if (handle->is_here()) return call(std::move(res));
    const std::shared_ptr<detail::loop_handle> kept = handle;
    try {
        call(std::move(res));
    } catch (...) {
        detail::exception_left_thread(kept, std::current_exception());
    }
}

// Runs what is left of the middleware, then the handler.
void go_on(const detail::route_place& place, response res) {
    const auto& [table, first, chosen, seen] = place;
    for (std::size_t i = first; i < table->layers.size(); ++i) {
        detail::middleware& layer = *table->layers[i];
        if (!layer.covers(res.request().path())) continue;
        if (layer.before) {
            layer.before(res);
            if (!res) return;
        } else if (layer.after) {
            res.on_send([table = table, &layer](response& r) { layer.after(r); });
        } else if (layer.around) {
            layer.around(std::move(res), next(std::make_shared<detail::route_place>(
                                             detail::route_place{table, i + 1, chosen, seen})));
            return;
        }
    }
    table->answer(std::move(res), chosen, seen);
}

}  // namespace

router::router() : table_(std::make_shared<detail::route_table>()) {}
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;
router::~router() = default;

router& router::add(method m, std::string_view pattern, handler h) {
    table_->add(m, pattern, std::move(h), body_plan());
    return *this;
}

router& router::stream(method m, std::string_view pattern, stream_handler h,
                       std::uint64_t max_body_bytes) {
    has_streams_ = true;
    handler at_head = [h = std::move(h)](response res) mutable {
        body_reader in = res.take_body();
        h(std::move(res), std::move(in));
    };
    table_->add(m, pattern, std::move(at_head),
                body_plan{.stream = true, .max_bytes = max_body_bytes});
    return *this;
}

body_plan router::plan_body(const request& req) const {
    const std::string_view path = req.path();
    std::vector<std::pair<std::string_view, std::string_view>> params;
    detail::route_match f{.wanted = req.method(), .params = params};
    if (!path.empty() && path.front() == '/') f.search(table_->root, path.substr(1));
    return f.plan;
}

router& router::websocket(std::string_view pattern,
                          unique_function<void(ws::session&, const request&)> open,
                          ws::accept_options options) {
    auto shared =
        std::make_unique<unique_function<void(ws::session&, const request&)>>(std::move(open));
    return get(pattern, [open = std::move(shared), options = std::move(options)](response res) {
        res.upgrade([&open = *open](ws::session& s, const request& r) { open(s, r); }, options);
    });
}

router& router::otherwise(handler h) {
    table_->otherwise = std::move(h);
    return *this;
}

router& router::before(std::string_view prefix, editor f) {
    table_->add_layer(prefix).before = std::move(f);
    return *this;
}

router& router::after(std::string_view prefix, editor f) {
    table_->add_layer(prefix).after = std::move(f);
    return *this;
}

router& router::around(std::string_view prefix, wrapper f) {
    table_->add_layer(prefix).around = std::move(f);
    return *this;
}

void router::operator()(response res) {
    detail::received_request& req = detail::response_access::of(res).req;
    detail::route_match f{.wanted = req.method(), .params = req.params_};
    const std::string_view path = req.path();
    if (!path.empty() && path.front() == '/') f.search(table_->root, path.substr(1));
    if (!req.params_.empty()) req.keep_names();
    if (table_->layers.empty()) {
        on_any_thread(std::move(res),
                      [&](response r) { table_->answer(std::move(r), f.chosen, f.seen); });
    } else {
        next(std::make_shared<detail::route_place>(
            detail::route_place{table_, 0, f.chosen, f.seen}))(std::move(res));
    }
}

void next::operator()(response res) const {
    on_any_thread(std::move(res), [this](response r) { go_on(*place_, std::move(r)); });
}

}  // namespace wire::http
