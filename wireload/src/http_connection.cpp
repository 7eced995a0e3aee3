#include "http_connection.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace wireload {

using wire::http::event;

std::size_t http_connection::append_request(wire::buffer& out, std::uint64_t, std::size_t offset, std::size_t most) {
    const std::string& request = worker_.the_plan().request;
    if (request.size() - offset <= most) {
        out.append(std::string_view(request).substr(offset));
        return 0;
    }
    out.append(std::string_view(request).substr(offset, most));
    return offset + most;
}

std::string http_connection::sent_text(std::uint64_t) const { return worker_.the_plan().request.substr(0, 600); }

std::string http_connection::expected_text(std::uint64_t) const {
    const options& o = worker_.the_plan().asked;
    std::string out = fmt::format("status {}", o.expect_status.text());
    if (o.expect_body) out += fmt::format(", body \"{}\" ({} bytes)", printable(*o.expect_body, 256), o.expect_body->size());
    return out;
}

void http_connection::on_data(std::span<char> bytes) {
    worker_.count_in(bytes.size());
    const std::string_view in(bytes.data(), bytes.size());
    if (unfinished_ == nullptr) {
        const nanos at = arrival(bytes.size(), false);
        const std::string_view unknown = consume_known(in, at);
        if (unknown.empty()) return;
        reply r(worker_.the_plan());
        const std::string_view rest = consume(r, unknown, at);
        if (is_open() && !(rest.empty() && r.parser.between_messages())) {
            r.whole = false;
            unfinished_ = std::make_unique<unfinished>(unfinished{r, std::string(rest)});
        }
        return;
    }
    // Held here: consume() may end in forget().
    std::unique_ptr<unfinished> held = std::move(unfinished_);
    std::string_view all = in;
    if (!held->head.empty()) all = held->head.append(in);
    const std::string_view rest = consume(held->r, all, arrival(bytes.size(), true));
    if (!is_open() || (rest.empty() && held->r.parser.between_messages())) return;
    held->r.whole = false;
    std::string left(rest);  // `rest` may lie in what is assigned to
    held->head = std::move(left);
    unfinished_ = std::move(held);
}

std::string_view http_connection::consume_known(std::string_view in, nanos at) {
    const worker::known_reply& known = worker_.known();
    while (!known.text.empty() && in_flight() != 0 && in.starts_with(known.text)) {
        in.remove_prefix(known.text.size());
        worker_.advance(at);
        worker_.count_status(known.status);
        answered(oldest(), at);
        next_request(true);
    }
    return in;
}

std::string_view http_connection::consume(reply& r, std::string_view in, nanos at) {
    std::string_view text = in;  // from the start of the reply, as far as it is at hand
    wire::http::response_head& head = worker_.head_scratch();
    while (true) {
        if (in_flight() == 0 && !in.empty()) {
            fail(error_kind::protocol, fmt::format("bytes that answer no request: {}", in.substr(0, 600)));
            return {};
        }
        const wire::http::step step = r.parser.parse(in, head);
        in.remove_prefix(step.consumed);
        switch (step.what) {
            case event::need_more: return in;
            case event::interim: break;
            case event::head:
                r.status = head.status;
                r.keep_alive = head.keep_alive;
                break;
            case event::body: check_body(r, step.data); break;
            case event::end:
                if (!complete(r, text.substr(0, text.size() - in.size()), at)) return {};
                if (in.empty()) return {};
                text = in;
                break;
            case event::error:
                fail(error_kind::protocol, fmt::format("{}: {}", wire::to_string(step.error), text.substr(0, 600)));
                return {};
        }
    }
}

void http_connection::check_body(reply& r, std::string_view piece) {
    const auto& expected = worker_.the_plan().asked.expect_body;
    if (expected && r.body_right) {
        r.body_right = r.body_bytes + piece.size() <= expected->size() &&
                       std::memcmp(expected->data() + r.body_bytes, piece.data(), piece.size()) == 0;
    }
    r.body_bytes += piece.size();
}

bool http_connection::complete(reply& r, std::string_view text, nanos at) {
    const options& o = worker_.the_plan().asked;
    worker_.advance(at);
    worker_.count_status(r.status);
    if (r.parser.upgraded()) {
        fail(error_kind::protocol, "a switch of protocols that nobody asked for");
        return false;
    }
    if (!o.expect_status.contains(r.status)) {
        answered_wrongly(oldest(), at, error_kind::bad_status, text);
    } else if (o.expect_body && (!r.body_right || r.body_bytes != o.expect_body->size())) {
        answered_wrongly(oldest(), at, error_kind::bad_body, text);
    } else {
        answered(oldest(), at);
        // Remembered if it came whole, with its own end, and leaves the connection open.
        if (r.whole && r.keep_alive && o.keep_alive) worker_.remember(text, r.status);
    }
    const bool keep = r.keep_alive && o.keep_alive;
    r.body_bytes = 0;
    r.body_right = r.whole = true;
    r.parser.expect(worker_.the_plan().method);
    next_request(keep);
    return keep;
}

void http_connection::on_end() {
    if (unfinished_ != nullptr && in_flight() != 0) {
        const std::unique_ptr<unfinished> held = std::move(unfinished_);
        // A body without a length ends with the connection (RFC 9112 section 6.3).
        if (held->head.empty() && held->r.parser.finish().what == event::end) {
            complete(held->r, {}, arrival(0, true));
            return;
        }
        fail(error_kind::closed_early,
             held->r.status == 0 ? fmt::format("the connection's end after {}", held->head.empty() ? "nothing" : held->head)
                                 : fmt::format("the connection's end after status {} and {} bytes of body", held->r.status,
                                               held->r.body_bytes),
             false);
        return;
    }
    fail(error_kind::closed_early, "the connection's end", false);
}

}  // namespace wireload
