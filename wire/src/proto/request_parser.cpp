// The request's start line and the fields that only requests have; bodies are message_parser's.
//
//     in state::start                                next state             answer
//     an empty line, once (RFC 9112 section 2.2)     start                  -
//     a part of a head                               start                  need_more
//     a whole head                                   begin_body() chooses   head
//     malformed, too long, or ambiguous framing      broken                 error
//     the other states are listed in message_parser.cpp
#include <array>

#include "char_tables.hpp"
#include "field_line.hpp"
#include "head_scan.hpp"
#include "start_line.hpp"
#include "wire/proto/http_parser.hpp"

namespace wire::http {

using namespace detail;

namespace {

// Characters of a request target: visible ASCII, but '#', which would begin a fragment (RFC 9112
// section 3.2).
constexpr std::array<bool, 256> make_target_table() {
    std::array<bool, 256> table{};
    for (int c = '!'; c <= '~'; ++c) table[static_cast<std::size_t>(c)] = c != '#';
    return table;
}
constexpr std::array<bool, 256> target_table = make_target_table();
constexpr bool is_target_char(char c) noexcept {
    return target_table[static_cast<unsigned char>(c)];
}

// Splits a path from its query.
void set_path(std::string_view text, request_head& head) noexcept {
    std::size_t mark = 0;
    while (mark < text.size() && text[mark] != '?') ++mark;
    head.path = text.substr(0, mark);
    head.query = mark == text.size() ? std::string_view() : text.substr(mark + 1);
}

// The four forms of RFC 9112 section 3.2.
bool read_target(request_head& head) noexcept {
    const std::string_view t = head.target;
    head.path = head.query = head.authority = {};
    if (head.method == method::connect) {
        const std::size_t colon = t.rfind(':');
        head.authority = t;
        return colon != std::string_view::npos && colon > 0 && colon + 1 < t.size() &&
               is_authority(t);
    }
    if (t.front() == '/') {
        set_path(t, head);
        return true;
    }
    if (t == "*") {
        head.path = t;
        return head.method == method::options;
    }
    std::size_t start = 0;
    if (t.size() > 7 && equals_ignoring_case(t.substr(0, 7), "http://")) start = 7;
    if (t.size() > 8 && equals_ignoring_case(t.substr(0, 8), "https://")) start = 8;
    if (start == 0) return false;
    const std::size_t end = t.find_first_of("/?", start);
    head.authority = t.substr(start, end == std::string_view::npos ? end : end - start);
    if (end != std::string_view::npos) set_path(t.substr(end), head);
    if (head.path.empty()) head.path = "/";
    return !head.authority.empty() && is_authority(head.authority);
}

errc interpret(request_head& head) noexcept {
    length_fields lengths;
    unsigned hosts = 0;
    std::string_view host;
    bool close = false;
    bool keep = false;
    bool upgrade_option = false;
    bool upgrade_field = false;
    head.expects_continue = false;
    for (const header& h : head.headers) {
        switch (h.name.size()) {
        case 4:
            if (name_is(h.name, "host")) {
                ++hosts;
                host = h.value;
            }
            break;
        case 6:
            if (name_is(h.name, "expect") && head.minor_version > 0) {
                head.expects_continue = equals_ignoring_case(h.value, "100-continue");
                if (!head.expects_continue && !h.value.empty()) return errc::unknown_expectation;
            }
            break;
        case 7:
            if (name_is(h.name, "upgrade")) upgrade_field = true;
            break;
        case 10:
            if (name_is(h.name, "connection")) {
                close = close || list_has_token(h.value, "close");
                keep = keep || list_has_token(h.value, "keep-alive");
                upgrade_option = upgrade_option || list_has_token(h.value, "upgrade");
            }
            break;
        case 14:
            if (name_is(h.name, "content-length")) lengths.content_length(h.value);
            break;
        case 17:
            if (name_is(h.name, "transfer-encoding")) lengths.transfer_encoding(h.value);
            break;
        default: break;
        }
    }
    if (hosts > 1 || (hosts == 0 && head.minor_version > 0) || !is_authority(host))
        return errc::bad_host;
    if (head.authority.empty()) head.authority = host;
    if (const errc e = lengths.check(head.minor_version); e != errc::none) return e;
    head.content_length = 0;
    head.framing = framing::none;
    if (lengths.chunked()) {
        head.framing = framing::chunked;
    } else if (lengths.has_length()) {
        head.framing = framing::length;
        head.content_length = lengths.length();
    }
    head.keep_alive = !close && (head.minor_version > 0 || keep);
    head.wants_upgrade = upgrade_option && upgrade_field && head.minor_version > 0;
    return errc::none;
}

}  // namespace

// method SP request-target SP HTTP-version CRLF, with exactly one space each (RFC 9112 section 3).
auto request_parser::scan_request_line(std::string_view in, std::size_t& at,
                                       request_head& head) noexcept -> scan {
    const char* const end = in.data() + in.size();
    const char* p = in.data();
    const auto refuse = [this](errc code) {
        error_ = code;
        return scan::failed;
    };
    while (p != end && is_token_char(*p)) ++p;
    if (p == end) return scan::incomplete;
    if (p == in.data() || *p != ' ')
        return refuse(*p == '\n' ? errc::bad_line_end : errc::bad_request_line);
    head.method_text = {in.data(), static_cast<std::size_t>(p - in.data())};
    const char* const target = ++p;
    const char* const target_limit = static_cast<std::size_t>(end - p) > limits_->max_uri_bytes
                                         ? p + limits_->max_uri_bytes
                                         : end;
    while (p != target_limit && is_target_char(*p)) ++p;
    if (p == target_limit && p != end && is_target_char(*p)) return refuse(errc::uri_too_long);
    if (p == end) return scan::incomplete;
    if (*p != ' ') {
        if (*p == '\n') return refuse(errc::bad_line_end);
        return refuse(*p == '\r' ? errc::bad_request_line : errc::bad_target);
    }
    if (p == target) return refuse(errc::bad_request_line);
    head.target = {target, static_cast<std::size_t>(p - target)};
    ++p;
    switch (scan_version(p, end, head.minor_version, error_, errc::bad_request_line)) {
    case version_scan::incomplete: return scan::incomplete;
    case version_scan::failed: return scan::failed;
    case version_scan::complete: break;
    }
    if (p == end) return scan::incomplete;
    if (*p != '\r') return refuse(*p == '\n' ? errc::bad_line_end : errc::bad_request_line);
    if (++p == end) return scan::incomplete;
    if (*p != '\n') return refuse(errc::bad_line_end);
    head.method = method_from(head.method_text);
    if (!read_target(head)) return refuse(errc::bad_target);
    at = static_cast<std::size_t>(p + 1 - in.data());
    return scan::complete;
}

void request_parser::limit_body(std::uint64_t most) noexcept {
    body_left_ = most;
    if (state_ == state::length_body || state_ == state::oversize_body) {
        state_ = remaining_ > most ? state::oversize_body : state::length_body;
    }
}

step request_parser::parse(std::string_view in, request_head& head) {
    if (state_ != state::start) return parse_body(in);
    // One empty line before a request is to be ignored (RFC 9112 section 2.2).
    std::size_t skipped = 0;
    if (!in.empty() && in.front() == '\r' && !skipped_empty_line_) {
        if (in.size() == 1) {
            partial_ = true;
            return {};
        }
        if (in[1] != '\n') return fail(errc::bad_line_end);
        skipped_empty_line_ = true;
        partial_ = false;
        skipped = 2;
        in.remove_prefix(2);
    }
    std::size_t at = 0;
    const auto start_line = [&](std::string_view bytes, std::size_t& from) {
        return scan_request_line(bytes, from, head);
    };
    switch (scan_head(in, at, head, start_line)) {
    case scan::failed: return fail(error_);
    case scan::incomplete: return need_more_head(in, skipped);
    case scan::complete: break;
    }
    if (const errc e = interpret(head); e != errc::none) return fail(e);
    begin_body(head.framing, head.content_length);
    return {skipped + at, event::head, errc::none, {}};
}

}  // namespace wire::http
