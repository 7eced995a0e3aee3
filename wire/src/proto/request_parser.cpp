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
#include "path.hpp"
#include "start_line.hpp"
#include "wire/proto/http_parser.hpp"

namespace wire::http {

using namespace detail;

namespace {

// Characters of a request target: visible ASCII, but '#', which would begin a fragment (RFC 9112
// section 3.2). Three of them say where a path ends and whether check_path() must look at it.
enum class target_char : std::uint8_t { none, plain, question_mark, percent, dot };
constexpr std::array<target_char, 256> make_target_table() {
    std::array<target_char, 256> table{};
    for (int c = '!'; c <= '~'; ++c) table[static_cast<std::size_t>(c)] = target_char::plain;
    table['#'] = target_char::none;
    table['?'] = target_char::question_mark;
    table['%'] = target_char::percent;
    table['.'] = target_char::dot;
    return table;
}
constexpr std::array<target_char, 256> target_table = make_target_table();
constexpr target_char kind_of(char c) noexcept {
    return target_table[static_cast<unsigned char>(c)];
}

// What was seen on the way through a target.
struct target_marks {
    std::size_t question_mark = std::string_view::npos;  // the first
    bool unplain = false;  // before it, a '%' or a segment that begins with '.'
};

// Splits a path from its query, the first '?' of `text` being known.
void set_path(std::string_view text, std::size_t question_mark, request_head& head) noexcept {
    head.path = text.substr(0, question_mark);
    if (question_mark != std::string_view::npos) head.query = text.substr(question_mark + 1);
}

// Whether the path may be decoded.
bool take_path(request_head& head) noexcept {
    const path_form form = check_path(head.path);
    head.path_is_escaped = form == path_form::escaped;
    return form != path_form::refused;
}

// Host and port, neither of them missing (RFC 9112 section 3.2.3); port 0 is none to connect to.
bool is_authority_form(std::string_view t) noexcept {
    const std::size_t colon = t.rfind(':');
    return colon != std::string_view::npos && t.back() != ']' && is_authority_of_url(t) &&
           t.find_first_not_of('0', colon + 1) != std::string_view::npos;
}

// The four forms of RFC 9112 section 3.2.
bool read_target(request_head& head, const target_marks& marks) noexcept {
    const std::string_view t = head.target;
    head.path = head.query = head.authority = {};
    head.path_is_escaped = false;
    if (head.method == method::connect) {
        head.authority = t;
        return is_authority_form(t);
    }
    if (t.front() == '/') {
        set_path(t, marks.question_mark, head);
        return !marks.unplain || take_path(head);
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
    if (end != std::string_view::npos) {
        const std::string_view rest = t.substr(end);
        set_path(rest, rest.find('?'), head);
    }
    if (head.path.empty()) head.path = "/";
    return is_authority_of_url(head.authority) && take_path(head);
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
                const bool named = list_has_token(h.value, "100-continue");
                head.expects_continue = head.expects_continue || named;
                if (!named && !h.value.empty()) return errc::unknown_expectation;
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
    // An empty Host is well-formed; ":80" would be an http URL without a host (RFC 9110 section
    // 4.2.1).
    if (hosts > 1 || (hosts == 0 && head.minor_version > 0) || !is_authority(host) ||
        (!host.empty() && host.front() == ':'))
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
    target_marks marks;
    for (; p != target_limit; ++p) {
        const target_char kind = kind_of(*p);
        if (kind == target_char::plain) continue;
        if (kind == target_char::none) break;
        if (marks.question_mark != std::string_view::npos) continue;
        if (kind == target_char::question_mark) {
            marks.question_mark = static_cast<std::size_t>(p - target);
        } else {
            marks.unplain = marks.unplain || kind == target_char::percent || p[-1] == '/';
        }
    }
    if (p == target_limit && p != end && kind_of(*p) != target_char::none)
        return refuse(errc::uri_too_long);
    if (p == end) return scan::incomplete;
    if (*p != ' ') {
        if (*p == '\n') return refuse(errc::bad_line_end);
        return refuse(*p == '\r' ? errc::bad_request_line : errc::bad_target);
    }
    if (p == target) return refuse(errc::bad_request_line);
    head.target = {target, static_cast<std::size_t>(p - target)};
    ++p;
    switch (scan_version(p, end, '\r', head.minor_version, error_, errc::bad_request_line)) {
    case version_scan::incomplete: return scan::incomplete;
    case version_scan::failed: return scan::failed;
    case version_scan::complete: break;
    }
    if (p == end) return scan::incomplete;
    if (*p != '\r') return refuse(*p == '\n' ? errc::bad_line_end : errc::bad_request_line);
    if (++p == end) return scan::incomplete;
    if (*p != '\n') return refuse(errc::bad_line_end);
    head.method = method_from(head.method_text);
    if (!read_target(head, marks)) return refuse(errc::bad_target);
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
