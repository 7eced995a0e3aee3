#include "wire/server/response.hpp"

#include <algorithm>

#include "../proto/char_tables.hpp"
#include "../proto/rebase.hpp"
#include "exchange.hpp"
#include "worker.hpp"

namespace wire::http {

namespace {

// Storage above this goes back to the heap between requests.
constexpr std::size_t kept_bytes = 16 * 1024;

void empty(std::string& text) noexcept {
    if (text.capacity() > kept_bytes) {
        text = {};
    } else {
        text.clear();
    }
}

// What the library itself writes. `name` is a token.
bool is_own_field(std::string_view name) noexcept {
    using detail::name_is;
    return name_is(name, "content-length") || name_is(name, "transfer-encoding") || name_is(name, "connection") ||
           name_is(name, "date") || name_is(name, "upgrade");
}

void append_field(std::string& to, std::string_view name, std::string_view value) {
    const std::size_t before = to.size();
    to.resize(before + name.size() + value.size() + 4);
    char* p = to.data() + before;
    p = std::copy(name.begin(), name.end(), p);
    *p++ = ':';
    *p++ = ' ';
    p = std::copy(value.begin(), value.end(), p);
    *p++ = '\r';
    *p++ = '\n';
}

}  // namespace

std::string_view request::param(std::string_view name) const noexcept {
    for (const auto& [key, value] : params_) {
        if (key == name) return value;
    }
    return {};
}

void request::keep(std::string_view raw) {
    raw_.assign(raw);
    const detail::rebase move(raw, raw_.data());
    move(head_.method_text);
    move(head_.target);
    move(head_.path);
    move(head_.query);
    move(head_.authority);
    move(head_.headers);
}

void request::clear() noexcept {
    empty(raw_);
    empty(body_);
    params_.clear();
}

response::~response() {
    if (exchange_ == nullptr) return;
    exchange_->status = 500;
    exchange_->fields.clear();
    exchange_->has_type = exchange_->refused = false;
    exchange_->body = "Internal Server Error\n";
    send();
}

const request& response::request() const noexcept { return exchange_->req; }

response& response::status(int code) noexcept {
    // Informational responses are not final, and three digits is all there is room for.
    if (code < 200 || code > 999) {
        exchange_->refused = true;
    } else {
        exchange_->status = code;
    }
    return *this;
}

response& response::header(std::string_view name, std::string_view value) {
    if (!is_token(name) || !is_field_value(value)) {
        exchange_->refused = true;
        return *this;
    }
    if (is_own_field(name)) return *this;
    if (detail::name_is(name, "content-type")) exchange_->has_type = true;
    append_field(exchange_->fields, name, value);
    return *this;
}

response& response::content_type(std::string_view type) {
    if (is_field_value(type)) {
        exchange_->has_type = true;
        append_field(exchange_->fields, "Content-Type", type);
    } else {
        exchange_->refused = true;
    }
    return *this;
}

response& response::close_connection() noexcept {
    exchange_->close = true;
    return *this;
}

std::string& response::body() noexcept { return exchange_->body; }

void response::send() { detail::exchange::deliver(std::exchange(exchange_, nullptr)); }

void response::upgrade(open_handler open) {
    exchange_->open = std::move(open);
    send();
}

namespace detail {

void exchange::deliver(exchange* e) {
    way_home& way = *e->way;
    if (way.thread.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
        way.home->complete(e);
        return;
    }
    std::unique_ptr<exchange> owned(e);
    const std::shared_ptr<way_home> alive = e->way;
    const std::lock_guard lock(alive->mutex);
    if (alive->loop == nullptr) return;
    alive->loop->post([owned = std::move(owned)]() mutable {
        exchange* const e = owned.release();
        e->way->home->complete(e);
    });
}

void exchange::clear() noexcept {
    from = nullptr;
    req.clear();
    status = 200;
    empty(fields);
    empty(body);
    has_type = refused = close = false;
    open = nullptr;
}

}  // namespace detail

}  // namespace wire::http
