// What requests and responses have in common: field lines and bodies.
//
//     state             input                              next state               answer
//     start             a whole head, read by the          begin_body(): finished,  head
//                       request or response parser         length_body, chunk_size
//                                                          or close_body
//     length_body       bytes of the body                  the same; at its end     body
//                                                          finished
//     oversize_body     anything                           broken                   error
//     close_body        bytes, until the peer closes       the same                 body
//     chunk_size        hexadecimal digits, then CR,       chunk_size_lf,           -
//                       ';' or white space                 extension_start,
//                                                          chunk_space
//     chunk_space       white space, then ';'              extension_start          -
//     extension_...     listed at after_extension(),       chunk_size_lf            -
//                       then CR
//     chunk_size_lf     LF                                 chunk_data; after size   -
//                                                          0 trailer
//     chunk_data        bytes of the chunk                 the same; at its end     body
//                                                          chunk_data_cr
//     chunk_data_cr     CR                                 chunk_data_lf            -
//     chunk_data_lf     LF                                 chunk_size               -
//     trailer           a field line                       the same                 trailer
//                       an empty line                      start                    end
//     finished          -                                  start                    end
//     upgraded          -                                  the same                 need_more
//     broken            -                                  the same                 error
//
// Any other input leads to `broken`. oversize_body is a length beyond the limit, whose error waits
// for the call after the head: request_parser::limit_body() may still allow it.
#include <algorithm>

#include "char_tables.hpp"
#include "field_line.hpp"
#include "wire/proto/http_parser.hpp"

namespace wire::http::detail {

line_scan scan_field_line(std::string_view in, std::size_t& at, header& out, errc& error) noexcept {
    const char* const end = in.data() + in.size();
    const char* p = in.data() + at;
    if (p == end) return line_scan::incomplete;
    const char* const name = p;
    while (is_token_char(*p)) {
        if (++p == end) return line_scan::incomplete;
    }
    if (p == name) {
        if (*p == '\r') {
            if (p + 1 == end) return line_scan::incomplete;
            if (p[1] == '\n') {
                at += 2;
                return line_scan::empty;
            }
            error = errc::bad_line_end;
        } else if (*p == '\n') {
            error = errc::bad_line_end;
        } else if (*p == ' ' || *p == '\t') {
            error = errc::folded_header;
        } else {
            error = errc::bad_header_name;
        }
        return line_scan::failed;
    }
    if (*p != ':') {  // among others, white space before the colon: RFC 9112 section 5.1
        error = errc::bad_header_name;
        return line_scan::failed;
    }
    const char* const name_end = p++;
    while (p != end && (*p == ' ' || *p == '\t')) ++p;
    const char* const value = p;
    p = find_control(p, end);
    if (p == end) return line_scan::incomplete;
    if (*p != '\r') {
        error = *p == '\n' ? errc::bad_line_end : errc::bad_header_value;
        return line_scan::failed;
    }
    if (p + 1 == end) return line_scan::incomplete;
    if (p[1] != '\n') {
        error = errc::bad_line_end;
        return line_scan::failed;
    }
    const char* value_end = p;
    while (value_end != value && (value_end[-1] == ' ' || value_end[-1] == '\t')) --value_end;
    out.name = {name, static_cast<std::size_t>(name_end - name)};
    out.value = {value, static_cast<std::size_t>(value_end - value)};
    at = static_cast<std::size_t>(p + 2 - in.data());
    return line_scan::complete;
}

step message_parser::fail(errc code) noexcept {
    state_ = state::broken;
    error_ = code;
    return {0, event::error, code, {}};
}

// RFC 9112 section 5.2. Each fold becomes spaces at once, so its line is read again from its begin.
// All folds of the line that have come are dealt with together: otherwise a line of many folds
// would be read once for each.
bool message_parser::unfold(std::string_view in, std::size_t& at, char* writable) noexcept {
    if (fields_ == 0) return false;  // behind the start line: RFC 9112 section 2.2
    const std::size_t begin = in.rfind('\n', at - 2) + 1;
    // Whoever does not unfold reads another length here: such a message is not worth the doubt.
    const std::string_view name = in.substr(begin, in.find(':', begin) - begin);
    if (equals_ignoring_case(name, "content-length") ||
        equals_ignoring_case(name, "transfer-encoding"))
        return false;
    while (at < in.size() && (in[at] == ' ' || in[at] == '\t')) {
        writable[at - 2] = writable[at - 1] = ' ';
        const std::size_t end = in.find("\r\n", at);
        if (end == std::string_view::npos) break;
        at = end + 2;
    }
    at = begin;
    --fields_;
    return true;
}

auto message_parser::scan_fields(std::string_view in, std::size_t& at, header_list& out,
                                 char* writable) -> scan {
    header line;
    for (;;) {
        switch (scan_field_line(in, at, line, error_)) {
        case line_scan::complete:
            if (fields_ == limits_->max_headers) {
                error_ = errc::too_many_headers;
                return scan::failed;
            }
            ++fields_;
            out.push_back(line);
            break;
        case line_scan::empty: return scan::complete;
        case line_scan::incomplete:
            checked_ = static_cast<std::uint32_t>(at);
            return scan::incomplete;
        case line_scan::failed:
            if (error_ != errc::folded_header || writable == nullptr || !unfold(in, at, writable))
                return scan::failed;
            error_ = errc::none;
            // Lines of earlier calls are not in `out`.
            if (!out.empty()) out.pop_back();
            break;
        }
    }
}

step message_parser::need_more_head(std::string_view in, std::size_t skipped) noexcept {
    if (in.size() >= limits_->max_header_bytes) return fail(errc::header_too_large);
    partial_ = !in.empty();
    return {skipped, event::need_more, errc::none, {}};
}

void message_parser::begin_body(framing f, std::uint64_t length) noexcept {
    checked_ = extension_bytes_ = trailer_bytes_ = 0;
    fields_ = 0;
    size_digits_ = 0;
    body_left_ = limits_->max_body_bytes;
    skipped_empty_line_ = false;
    partial_ = false;
    remaining_ = length;
    switch (f) {
    case framing::none: state_ = state::finished; break;
    case framing::length:
        state_ = length == 0           ? state::finished
                 : length > body_left_ ? state::oversize_body
                                       : state::length_body;
        break;
    case framing::chunked:
        remaining_ = 0;
        state_ = state::chunk_size;
        break;
    case framing::until_close: state_ = state::close_body; break;
    }
}

step message_parser::parse_body(std::string_view in) noexcept {
    switch (state_) {
    case state::finished: state_ = state::start; return {0, event::end, errc::none, {}};
    case state::broken: return {0, event::error, error_, {}};
    case state::upgraded:
    case state::start: return {};
    case state::oversize_body: return fail(errc::body_too_large);
    case state::length_body: {
        if (in.empty()) return {};
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, in.size()));
        remaining_ -= n;
        if (remaining_ == 0) state_ = state::finished;
        return {n, event::body, errc::none, in.substr(0, n)};
    }
    case state::close_body: {
        if (in.empty()) return {};
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, in.size()));
        if (n == 0) return fail(errc::body_too_large);
        body_left_ -= n;
        return {n, event::body, errc::none, in.substr(0, n)};
    }
    default: return parse_chunk_framing(in);
    }
}

// RFC 9112 section 7.1.1: *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ), where
// BWS, "bad" white space, is allowed.
//
//     state                  white space          token char  ;      =            "       CR
//     chunk_space            the same             -           start  -            -       -
//     extension_start        the same             name        -      -            -       -
//     extension_name         name_space           the same    start  value_start  -       size_lf
//     extension_name_space   the same             -           start  value_start  -       -
//     extension_value_start  the same             value       -      -            quoted  -
//     extension_value        chunk_space          the same    start  -            -       size_lf
//     extension_quoted_end   chunk_space          -           start  -            -       size_lf
//
// extension_quoted takes anything up to '"' but control characters other than tab; after '\\'
// any one of the same.
auto message_parser::after_extension(state s, char c) noexcept -> state {
    if (s == state::extension_quoted || s == state::extension_escaped) {
        if (is_control_char(c)) return state::broken;
        if (s == state::extension_escaped) return state::extension_quoted;
        return c == '"'    ? state::extension_quoted_end
               : c == '\\' ? state::extension_escaped
                           : state::extension_quoted;
    }
    const bool begins = s == state::extension_start || s == state::extension_value_start;
    const bool in_token = s == state::extension_name || s == state::extension_value;
    if (is_token_char(c)) {
        if (in_token) return s;
        return s == state::extension_start         ? state::extension_name
               : s == state::extension_value_start ? state::extension_value
                                                   : state::broken;
    }
    switch (c) {
    case ' ':
    case '\t':
        if (begins) return s;
        return s == state::extension_name || s == state::extension_name_space
                   ? state::extension_name_space
                   : state::chunk_space;
    case ';': return begins ? state::broken : state::extension_start;
    case '=':
        return s == state::extension_name || s == state::extension_name_space
                   ? state::extension_value_start
                   : state::broken;
    case '"': return s == state::extension_value_start ? state::extension_quoted : state::broken;
    case '\r':
        return in_token || s == state::extension_quoted_end ? state::chunk_size_lf : state::broken;
    default: return state::broken;
    }
}

// RFC 9112 section 7.1, a byte at a time: chunk framing is short.
step message_parser::parse_chunk_framing(std::string_view in) noexcept {
    std::size_t at = 0;
    while (at < in.size()) {
        const char c = in[at];
        switch (state_) {
        case state::chunk_size:
            if (const int digit = hex_digit(c); digit >= 0) {
                // 60 bits at most, so that nothing overflows, behind zeros that do not go on for
                // ever.
                if (++size_digits_ > 64 || remaining_ >> 56U != 0) return fail(errc::bad_chunk);
                remaining_ = remaining_ * 16 + static_cast<unsigned>(digit);
            } else if (size_digits_ == 0) {
                return fail(errc::bad_chunk);
            } else if (c == '\r') {
                state_ = state::chunk_size_lf;
            } else if (c == ';') {
                state_ = state::extension_start;
            } else if (c == ' ' || c == '\t') {
                state_ = state::chunk_space;
            } else {
                return fail(errc::bad_chunk);
            }
            break;
        case state::chunk_space:
        case state::extension_start:
        case state::extension_name:
        case state::extension_name_space:
        case state::extension_value_start:
        case state::extension_value:
        case state::extension_quoted:
        case state::extension_escaped:
        case state::extension_quoted_end: {
            const state next = after_extension(state_, c);
            if (next == state::broken) return fail(errc::bad_chunk);
            state_ = next;
            if (next != state::chunk_size_lf &&
                ++extension_bytes_ > limits_->max_chunk_extension_bytes)
                return fail(errc::chunk_extension_too_large);
            break;
        }
        case state::chunk_size_lf:
            if (c != '\n') return fail(errc::bad_chunk);
            if (remaining_ == 0) {
                state_ = state::trailer;
                fields_ = 0;
                return parse_trailer(in, at + 1);
            }
            if (remaining_ > body_left_) return fail(errc::body_too_large);
            body_left_ -= remaining_;
            state_ = state::chunk_data;
            break;
        case state::chunk_data: {
            const auto n =
                static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, in.size() - at));
            remaining_ -= n;
            if (remaining_ == 0) state_ = state::chunk_data_cr;
            return {at + n, event::body, errc::none, in.substr(at, n)};
        }
        case state::chunk_data_cr:
            if (c != '\r') return fail(errc::bad_chunk);
            state_ = state::chunk_data_lf;
            break;
        case state::chunk_data_lf:
            if (c != '\n') return fail(errc::bad_chunk);
            size_digits_ = 0;
            state_ = state::chunk_size;
            break;
        default: return parse_trailer(in, at);
        }
        ++at;
    }
    return {at, event::need_more, errc::none, {}};
}

// A line at a time: nothing of a trailer is kept here.
step message_parser::parse_trailer(std::string_view in, std::size_t at) noexcept {
    const std::size_t allowed = limits_->max_trailer_bytes - trailer_bytes_;
    const std::string_view rest = in.substr(0, at + std::min(allowed, in.size() - at));
    std::size_t next = at;
    header line;
    switch (scan_field_line(rest, next, line, error_)) {
    case line_scan::complete:
        if (++fields_ > limits_->max_headers) return fail(errc::too_many_headers);
        trailer_bytes_ += static_cast<std::uint32_t>(next - at);
        return {next, event::trailer, errc::none, in.substr(at, next - at - 2)};
    case line_scan::empty:
        begin_body(framing::none, 0);
        state_ = state::start;
        return {next, event::end, errc::none, {}};
    case line_scan::incomplete:
        if (in.size() - at >= allowed) return fail(errc::header_too_large);
        return {at, event::need_more, errc::none, {}};
    case line_scan::failed: break;
    }
    return fail(error_);
}

}  // namespace wire::http::detail

namespace wire::http {

int status_for(errc code) noexcept {
    switch (code) {
    case errc::uri_too_long: return 414;
    case errc::body_too_large:
    case errc::expands_too_much:
    case errc::too_many_parts:
    case errc::part_too_large: return 413;
    case errc::unsupported_media_type: return 415;
    case errc::header_too_large:
    case errc::too_many_headers: return 431;
    case errc::bad_version: return 505;
    case errc::unsupported_method:
    case errc::unknown_transfer_encoding: return 501;
    case errc::timed_out: return 408;
    case errc::insecure_request: return 421;
    case errc::unknown_expectation: return 417;
    default: return 400;
    }
}

}  // namespace wire::http
