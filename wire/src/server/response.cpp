// What handlers do with a response; the life of the exchange behind it is described in
// exchange.hpp.
#include "wire/server/response.hpp"

#include <algorithm>
#include <exception>
#include <functional>

#include "exceptions.hpp"
#include "exchange.hpp"
#include "proto/char_tables.hpp"
#include "proto/rebase.hpp"
#include "worker.hpp"

namespace wire::http {

using detail::response_access;

namespace {

// What the library itself writes. `name` is a token.
bool is_own_field(std::string_view name) noexcept {
    using detail::name_is;
    return name_is(name, "content-length") || name_is(name, "transfer-encoding") ||
           name_is(name, "connection") || name_is(name, "date") || name_is(name, "upgrade");
}

// Where `part` begins in `whole`; npos when it lies elsewhere.
std::size_t offset_in(std::string_view whole, std::string_view part) noexcept {
    const std::less<> before;
    const bool inside =
        !before(part.data(), whole.data()) && before(part.data(), whole.data() + whole.size());
    return inside ? static_cast<std::size_t>(part.data() - whole.data()) : std::string_view::npos;
}

// `name` and `value` may lie in `to`, as what response::header() gave does.
void append_field(std::string& to, std::string_view name, std::string_view value) {
    const std::size_t before = to.size();
    const std::size_t name_at = offset_in(to, name);
    const std::size_t value_at = offset_in(to, value);
    to.resize(before + name.size() + value.size() + 4);
    if (name_at != std::string_view::npos) name = {to.data() + name_at, name.size()};
    if (value_at != std::string_view::npos) value = {to.data() + value_at, value.size()};
    char* p = to.data() + before;
    p = std::copy(name.begin(), name.end(), p);
    *p++ = ':';
    *p++ = ' ';
    p = std::copy(value.begin(), value.end(), p);
    *p++ = '\r';
    *p++ = '\n';
}

// An exception has left a hook, on the thread that sends.
void hook_failed(response& res, std::exception_ptr why) {
    if (!res) return;  // it was the hook's
    detail::exchange& e = response_access::of(res);
    e.threw = true;
    if (!e.handle->on_exception) {
        e.fail(500);
        return;
    }
    const std::shared_ptr<detail::loop_handle> handle = e.handle;
    detail::tell_of_exception(*handle, response_access::release(res), std::move(why));
}

// Calls the hooks of on_send(); false when one has taken the response over.
bool run_hooks(response& res) {
    const auto of = [&res]() -> detail::exchange& { return response_access::of(res); };
    if (of().refused) of().fail(500);
    while (!of().hooks.empty()) {
        auto hook = std::move(of().hooks.back());
        of().hooks.pop_back();
        try {
            hook(res);
        } catch (...) {
            hook_failed(res, std::current_exception());
        }
        if (!res) return false;
    }
    return true;
}

}  // namespace

void response::end_unanswered() noexcept {
    const detail::loop_handle& handle = *exchange_->handle;
    if (std::uncaught_exceptions() > 0 && handle.is_here() &&
        handle.owner->exceptions().keep(exchange_))
        return;
    exchange_->fail(500);
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
    if (detail::name_is(name, "server")) exchange_->has_server = true;
    append_field(exchange_->fields, name, value);
    return *this;
}

response& response::content_type(std::string_view type) {
    if (exchange_->has_type) return set_header("Content-Type", type);
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

response& response::set_header(std::string_view name, std::string_view value) {
    const std::string kept(value);  // it may lie in what is removed
    const std::string named(name);
    remove_header(named);
    return header(named, kept);
}

response& response::remove_header(std::string_view name) {
    std::string& fields = exchange_->fields;
    if (offset_in(fields, name) != std::string_view::npos) return remove_header(std::string(name));
    for (std::size_t at = 0; at < fields.size();) {
        const std::size_t next = fields.find('\n', at) + 1;
        if (equals_ignoring_case(std::string_view(fields).substr(at, fields.find(':', at) - at),
                                 name)) {
            fields.erase(at, next - at);
        } else {
            at = next;
        }
    }
    if (equals_ignoring_case(name, "content-type")) exchange_->has_type = false;
    if (equals_ignoring_case(name, "server")) exchange_->has_server = false;
    return *this;
}

std::string& response::body() noexcept { return exchange_->body; }

bool response::is_streamed() const noexcept {
    return exchange_->out != nullptr || exchange_->file != nullptr;
}

int response::status() const noexcept { return exchange_->status; }

std::optional<std::string_view> response::header(std::string_view name) const noexcept {
    const std::string_view fields = exchange_->fields;
    for (std::size_t at = 0; at < fields.size();) {
        const std::size_t colon = fields.find(':', at);
        const std::size_t end = fields.find('\r', colon);
        if (equals_ignoring_case(fields.substr(at, colon - at), name))
            return fields.substr(colon + 2, end - colon - 2);
        at = end + 2;
    }
    return std::nullopt;
}

response& response::on_send(unique_function<void(response&)> hook) {
    exchange_->hooks.push_back(std::move(hook));
    return *this;
}

void response::send() {
    if (exchange_->hooks.empty()) {
        detail::exchange::deliver(std::exchange(exchange_, nullptr));
        return;
    }
    response sending(std::move(*this));  // a hook may destroy this object
    if (run_hooks(sending)) detail::exchange::deliver(response_access::release(sending));
}

bool response::early_hints(std::initializer_list<header_field> fields) {
    const detail::exchange& e = *exchange_;
    if (!e.handle->is_here() || e.from == nullptr || e.req.head_.minor_version == 0) return false;
    std::string text = "HTTP/1.1 103 Early Hints\r\n";
    for (const auto& [name, value] : fields) {
        if (!is_token(name) || !is_field_value(value) || is_own_field(name)) return false;
        append_field(text, name, value);
    }
    text += "\r\n";
    e.from->send_interim(text);
    return true;
}

void response::redirect(std::string_view url, int status) {
    const bool fits = (status >= 301 && status <= 303) || status == 307 || status == 308;
    if (!fits) exchange_->refused = true;
    set_header("Location", url);
    exchange_->status = status;
    exchange_->body.clear();
    send();
}

body_writer response::start_body() {
    exchange_->out = std::make_shared<detail::body_channel>(exchange_->handle,
                                                            exchange_->handle->max_unsent_bytes);
    body_writer writer(exchange_->out);
    send();
    return writer;
}

body_writer response::start_body(std::uint64_t length) {
    exchange_->out_length = length;
    return start_body();
}

body_reader response::take_body() {
    detail::exchange& e = *exchange_;
    if (e.in == nullptr) {
        e.in = std::make_shared<detail::body_source>(e.handle);
        e.in->whole = std::move(e.req.body_);
        e.in->over = true;
    }
    return body_reader(e.in);
}

event_loop& response::loop() const noexcept { return exchange_->handle->owner->loop(); }

std::stop_token response::stop_token() const noexcept {
    return exchange_->handle->stopping.get_token();
}

void response::upgrade(open_handler open, ws::accept_options options) {
    exchange_->open = std::move(open);
    exchange_->accepting = std::move(options);
    exchange_->hooks.clear();
    send();
}

namespace detail {

void exchange::deliver(exchange* e) {
    loop_handle& handle = *e->handle;
    if (handle.is_here()) {
        handle.owner->complete(e);
        return;
    }
    std::unique_ptr<exchange> owned(e);
    const std::shared_ptr<loop_handle> alive = e->handle;
    const std::lock_guard lock(alive->mutex);
    if (alive->loop == nullptr) return;
    alive->loop->post([owned = std::move(owned)]() mutable {
        exchange* const e = owned.release();
        e->handle->owner->complete(e);
    });
}

exchange::~exchange() {
    if (out != nullptr) out->lost();  // what was sent came too late for its loop
}

void exchange::clear() noexcept {
    from = nullptr;
    req.clear();
    status = 200;
    empty(fields);
    empty(body);
    has_type = has_server = refused = close = false;
    if (open) {
        open = nullptr;
        accepting = {};
    }
    hooks.clear();
    bytes_in = bytes_out = head_bytes_out = 0;
    body_bytes = 0;
    held_back_since.reset();
    held = instead = threw = is_decoded = false;
    coroutine = 0;
    in = nullptr;
    out = nullptr;
    out_length.reset();
    if (file != nullptr) std::exchange(file, nullptr)->at = nullptr;
    tunnel = nullptr;
}

void exchange::fail(int code, std::string_view text) {
    fields.clear();
    has_type = has_server = refused = false;
    instead = true;
    say(code, text);
}

void exchange::start_afresh(int code) noexcept {
    status = code;
    fields.clear();
    body.clear();
    has_type = has_server = refused = close = instead = false;
    open = nullptr;
    if (out != nullptr) std::exchange(out, nullptr)->lost();
    out_length.reset();
    file = nullptr;
    tunnel = nullptr;
}

[[gnu::cold]] void exchange::say(int code, std::string_view text) {
    status = code;
    if (const error_pages::page* page = handle->pages.find(code); page != nullptr) {
        append_field(fields, "Content-Type", page->content_type);
        has_type = true;
        body = page->body;
    } else if (!text.empty()) {
        body.assign(text);
    } else {
        body.assign(reason_phrase(code));
        body += '\n';
    }
}

}  // namespace detail

}  // namespace wire::http
