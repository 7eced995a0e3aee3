#include "engine/http_connection.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/repeats.hpp"

namespace wireload {
namespace {

// What a report says of a reply that came in parts, of which `end` is at hand.
std::string told(int status, std::uint64_t body_bytes, std::string_view end = {}) {
    return fmt::format("status {} and {} bytes of body{}{}", status, body_bytes,
                       end.empty() ? "" : ", at the end: ", excerpt(end));
}

// A server that has waited for a request in vain may say so before it closes the connection (RFC
// 9110 section 15.5.9).
bool says_request_timeout(std::string_view in) {
    return in.starts_with("HTTP/1.1 408") || in.starts_with("HTTP/1.0 408");
}

}  // namespace

using wire::http::event;

std::size_t http_connection::append_request(wire::buffer& out, std::uint64_t counter,
                                            std::size_t offset, std::size_t most) {
    const prepared_request& r = request(counter);
    if (!r.constant()) {
        const std::size_t reached =
            r.pattern.walk(host_.the_plan().values_of(number(), counter), offset, most,
                           [&](std::string_view piece, std::size_t) { out.append(piece); });
        return reached - offset < most ? 0 : reached;
    }
    const std::string& request = r.bytes;
    if (request.size() - offset <= most) {
        out.append(std::string_view(request).substr(offset));
        return 0;
    }
    out.append(std::string_view(request).substr(offset, most));
    return offset + most;
}

std::string http_connection::sent_text(std::uint64_t counter) const {
    const prepared_request& r = request(counter);
    return r.constant() ? r.bytes : r.pattern.text(host_.the_plan().values_of(number(), counter));
}

std::string http_connection::expected_text(std::uint64_t counter) const {
    return request(counter).checks.expected(host_.the_plan().values_of(number(), counter));
}

void http_connection::on_data(std::span<char> bytes) {
    const nanos at = reply_time(bytes.size(), unfinished_ != nullptr);
    host_.window().count_in(bytes.size(), at);
    reply_begins();
    const std::string_view in(bytes.data(), bytes.size());
    if (unfinished_ == nullptr) {
        const std::string_view unknown = consume_known(in, at);
        if (unknown.empty()) return;
        reply r(host_.the_plan());
        const std::string_view rest = consume(r, unknown, at);
        if (is_open() && !(rest.empty() && r.parser.between_messages())) {
            r.whole = false;
            unfinished_ = std::make_unique<unfinished>(unfinished{std::move(r), std::string(rest)});
        }
        return;
    }
    // Held here: consume() may end in forget().
    std::unique_ptr<unfinished> held = std::move(unfinished_);
    std::string_view all = in;
    if (!held->head.empty()) all = held->head.append(in);
    const std::string_view rest = consume(held->r, all, at);
    if (!is_open() || (rest.empty() && held->r.parser.between_messages())) return;
    held->r.whole = false;
    std::string left(rest);  // `rest` may lie in what is assigned to
    held->head = std::move(left);
    unfinished_ = std::move(held);
}

std::string_view http_connection::consume_known(std::string_view in, nanos at) {
    while (in_flight() != 0) {
        const prepared_request& request = asked();
        const known_replies::reply& known = host_.known().to(request);
        if (known.text.empty()) break;
        // Of several requests the next reply is another's.
        const bool alike = host_.the_plan().only != nullptr;
        const std::size_t n = count_repeats(in, known.text, alike ? alike_at_most() : 1);
        if (n == 0) break;
        in.remove_prefix(n * known.text.size());
        if (is_counted(oldest())) {
            host_.window().count_status(known.status, n);
            host_.window().count_request(request, true);
        }
        answered_oldest(static_cast<std::uint32_t>(n), at);
        next_request(true);
    }
    return in;
}

std::string_view http_connection::consume(reply& r, std::string_view in, nanos at) {
    std::string_view text = in;  // from the start of the reply, as far as it is at hand
    wire::http::response_head& head = host_.head_scratch();
    while (true) {
        if (in_flight() == 0 && !in.empty()) {
            fail(says_request_timeout(in) ? error_kind::closed_early : error_kind::protocol,
                 fmt::format("bytes that answer no request: {}", excerpt(in)));
            return {};
        }
        if (in_flight() != 0 && r.parser.between_messages()) r.parser.expect(asked().method);
        const wire::http::step step = r.parser.parse(in, head);
        in.remove_prefix(step.consumed);
        switch (step.what) {
        case event::need_more: return in;
        case event::interim:
        case event::trailer: break;
        case event::head:
            r.status = head.status;
            r.keep_alive = head.keep_alive;
            if (asked().checks.varies())
                asked().checks.begin(r.checked, host_.the_plan().values_of(number(), oldest()));
            asked().checks.head(r.checked, head);
            break;
        case event::body: asked().checks.body(r.checked, step.data); break;
        case event::end:
            if (!complete(r, text.substr(0, text.size() - in.size()), at)) return {};
            in = consume_known(in, at);
            if (in.empty()) return {};
            text = in;
            break;
        case event::error:
            fail(error_kind::protocol,
                 fmt::format("{}: {}", wire::to_string(step.error), excerpt(text)));
            return {};
        }
    }
}

bool http_connection::complete(reply& r, std::string_view text, nanos at) {
    const options& o = host_.the_plan().asked;
    host_.window().advance(at);
    const bool counts = is_counted(oldest());
    if (counts) host_.window().count_status(r.status);
    if (r.parser.upgraded()) {
        fail(error_kind::protocol, "a switch of protocols that nobody asked for");
        return false;
    }
    const prepared_request& request = asked();
    if (const auto failed = request.checks.finish(r.checked, r.status)) {
        std::string right, parts;
        if (host_.wants_report()) {
            right =
                request.checks.expected(*failed, host_.the_plan().values_of(number(), oldest()));
            if (!r.whole && !text.starts_with("HTTP/"))
                parts = told(r.status, r.checked.body_bytes, text);
        }
        answered_wrongly(oldest(), at, failed->as_error(), parts.empty() ? text : parts, right);
        if (counts) host_.window().count_request(request, false);
    } else {
        answered(oldest(), at);
        if (counts) host_.window().count_request(request, true);
        // Remembered if it came whole, with its own end, leaves the connection open, and would be
        // right again.
        if (r.whole && r.keep_alive && o.keep_alive && !request.checks.varies())
            host_.known().remember(request, text, r.status);
    }
    const bool keep = may_stay() && r.keep_alive;
    r.checked = {};
    r.status = 0;
    r.whole = true;
    next_request(keep);
    return keep;
}

void http_connection::on_end() {
    if (unfinished_ != nullptr && in_flight() != 0) {
        const std::unique_ptr<unfinished> held = std::move(unfinished_);
        // A body without a length ends with the connection (RFC 9112 section 6.3).
        if (held->head.empty() && held->r.parser.finish().what == event::end) {
            complete(held->r, {}, reply_time(0, true));
            return;
        }
        fail(error_kind::closed_early,
             held->r.status == 0 ? fmt::format("the connection's end after {}",
                                               held->head.empty() ? "nothing" : excerpt(held->head))
                                 : fmt::format("the connection's end after {}",
                                               told(held->r.status, held->r.checked.body_bytes)),
             false);
        return;
    }
    fail(error_kind::closed_early, "the connection's end", false);
}

}  // namespace wireload
