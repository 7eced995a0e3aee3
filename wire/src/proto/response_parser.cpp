// The status line and the rules that only responses have; bodies are message_parser's.
//
//     in state::start                          next state             answer
//     a part of a head                         start                  need_more, nothing consumed
//     a 1xx head but 101                       start, at most         interim
//                                              max_interim_responses
//     any other whole head                     begin_body() chooses   head
//     malformed or ambiguous framing           broken                 error
//
// `end` of a 101, or of a 2xx to CONNECT, leads to `upgraded` instead of `start`. finish(), when
// the peer has closed: `end` in close_body, need_more between messages, otherwise closed_early.
#include "char_tables.hpp"
#include "field_line.hpp"
#include "head_scan.hpp"
#include "start_line.hpp"
#include "wire/proto/http_parser.hpp"

namespace wire::http {

using namespace detail;

namespace {

// RFC 9112 section 6.3.
errc interpret(const limits& l, method request, response_head& head) noexcept {
    length_fields lengths;
    bool close = false;
    bool keep = false;
    for (const header& h : head.headers) {
        switch (h.name.size()) {
        case 10:
            if (name_is(h.name, "connection")) {
                close = close || list_has_token(h.value, "close");
                keep = keep || list_has_token(h.value, "keep-alive");
            }
            break;
        case 14:
            if (name_is(h.name, "content-length")) lengths.content_lengths(h.value);
            break;
        case 17:
            if (name_is(h.name, "transfer-encoding")) lengths.transfer_encoding(h.value);
            break;
        default: break;
        }
    }
    head.content_length = 0;
    head.framing = framing::none;
    head.keep_alive = !close && (head.minor_version > 0 || keep);
    const int status = head.status;
    // Where a response can have no body its length fields mean nothing.
    if (status < 200 || status == 204 || (request == method::connect && status < 300))
        return errc::none;
    const errc e = lengths.check(head.minor_version);
    if (request == method::head || status == 304) {
        // They tell of another response: faulty ones say only that the server is not to be trusted.
        if (e == errc::none) {
            head.content_length = lengths.length();
        } else {
            head.keep_alive = false;
        }
        return errc::none;
    }
    if (e != errc::none) return e;
    head.content_length = lengths.length();
    if (lengths.chunked()) {
        head.framing = framing::chunked;
    } else if (lengths.has_length()) {
        if (lengths.length() > l.max_body_bytes) return errc::body_too_large;
        head.framing = framing::length;
    } else {
        head.framing = framing::until_close;
        head.keep_alive = false;
    }
    return errc::none;
}

}  // namespace

// HTTP-version SP status-code SP [ reason-phrase ] CRLF (RFC 9112 section 4). The second space may
// be missing where there is no reason: common enough, and it cannot be mistaken for anything else.
auto response_parser::scan_status_line(std::string_view in, std::size_t& at,
                                       response_head& head) noexcept -> scan {
    const char* const end = in.data() + in.size();
    const char* p = in.data();
    const auto refuse = [this](errc code) {
        error_ = code;
        return scan::failed;
    };
    switch (scan_version(p, end, ' ', head.minor_version, error_, errc::bad_status_line)) {
    case version_scan::incomplete: return scan::incomplete;
    case version_scan::failed: return scan::failed;
    case version_scan::complete: break;
    }
    if (p == end) return scan::incomplete;
    if (*p++ != ' ') return refuse(errc::bad_status_line);
    head.status = 0;
    for (int i = 0; i < 3; ++i, ++p) {
        if (p == end) return scan::incomplete;
        if (!is_digit(*p) || (i == 0 && *p == '0')) return refuse(errc::bad_status_line);
        head.status = head.status * 10 + (*p - '0');
    }
    if (p == end) return scan::incomplete;
    head.reason = {};
    if (*p == ' ') {
        const char* const reason = ++p;
        p = find_control(p, end);
        if (p == end) return scan::incomplete;
        head.reason = {reason, static_cast<std::size_t>(p - reason)};
    }
    if (*p != '\r') return refuse(*p == '\n' ? errc::bad_line_end : errc::bad_status_line);
    if (++p == end) return scan::incomplete;
    if (*p != '\n') return refuse(errc::bad_line_end);
    at = static_cast<std::size_t>(p + 1 - in.data());
    return scan::complete;
}

step response_parser::parse(std::string_view in, response_head& head, char* writable) {
    if (state_ != state::start) {
        const step s = parse_body(in);
        if (s.what == event::end) {
            if (tunnel_) state_ = state::upgraded;
            request_ = method::get;
            interim_ = 0;
        }
        return s;
    }
    std::size_t at = 0;
    const auto start_line = [&](std::string_view bytes, std::size_t& from) {
        return scan_status_line(bytes, from, head);
    };
    switch (scan_head(in, at, head, start_line, writable)) {
    case scan::failed: return fail(error_);
    case scan::incomplete: return need_more_head(in, 0);
    case scan::complete: break;
    }
    if (const errc e = interpret(*limits_, request_, head); e != errc::none) return fail(e);
    begin_body(head.framing, head.content_length);
    if (head.status < 200 && head.status != 101) {
        if (++interim_ > limits_->max_interim_responses) return fail(errc::header_too_large);
        state_ = state::start;
        return {at, event::interim, errc::none, {}};
    }
    tunnel_ = head.status == 101 || (request_ == method::connect && head.status < 300);
    return {at, event::head, errc::none, {}};
}

step response_parser::finish() noexcept {
    switch (state_) {
    case state::broken: return {0, event::error, error_, {}};
    case state::upgraded: return {};
    case state::start:
        if (!partial_ && interim_ == 0) return {};
        break;
    case state::close_body:
    case state::finished:
        state_ = tunnel_ ? state::upgraded : state::start;
        request_ = method::get;
        interim_ = 0;
        return {0, event::end, errc::none, {}};
    default: break;
    }
    return fail(errc::closed_early);
}

}  // namespace wire::http
