// HTTP/1.1 messages from bytes: strict (RFC 9112), incremental, without copying. No socket, no
// clock.
//
//     wire::http::request_parser parser(limits);
//     wire::http::request_head head;
//     for (;;) {
//         const auto step = parser.parse(received.view(), head);
//         if (step.what == wire::http::event::head) begin(head);
//         if (step.what == wire::http::event::body) take(step.data);
//         if (step.what == wire::http::event::end) answer();
//         if (step.what == wire::http::event::error) return refuse(step.error);
//         received.consume(step.consumed);
//         if (step.what == wire::http::event::need_more) break;
//     }
//
// The same holds for both parsers. The caller keeps the received bytes in one contiguous run, calls
// parse() until it answers need_more, and after each call drops `consumed` bytes from the front. A
// head is consumed only when it is complete, so until then all its bytes must be given again, with
// those that have arrived since; body bytes are consumed as they come. The answers do not depend on
// how the bytes were cut.
//
//     event        consumed                 meaning
//     need_more    0, or framing passed     nothing further without more bytes
//     interim      the 1xx head             responses only: an interim head (not 101) is in `head`
//     head         the head                 `head` is filled; its views point into the bytes
//     body         a piece and its framing  `data` is a piece of the decoded body, never empty
//     trailer      the field's line         `data` is a field of the trailer, "name: value"
//     end          0, or the last chunk     the message is complete; the next call starts another
//     error        0                        `error` says why; every later call says the same
//
// Views live as long as the caller leaves the bytes in place, and not beyond the next parse().
// `head` is scratch that the caller owns and may share among many parsers (one for each thread
// does): a parser by itself is 48 bytes and owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/detail/message_parser.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// What a call of parse() has found; the table above says what each means.
enum class event : std::uint8_t { need_more, interim, head, body, trailer, end, error };

// The answer of one call of parse().
struct step {
    std::size_t consumed = 0;  // bytes to drop from the front
    event what = event::need_more;
    errc error = errc::none;  // with event::error
    std::string_view data{};  // with event::body and event::trailer
};

// A request's start line and fields. All views point into the bytes that were parsed.
struct request_head {
    http::method method = http::method::get;
    std::string_view method_text;  // as received; the only name of `method::other`
    std::string_view target;       // as received
    // Of origin-form and absolute-form targets, as received; "*" or "" otherwise. A path that could
    // mean two things is errc::bad_target: see canonical_path() in url.hpp.
    std::string_view path;
    bool path_is_escaped = false;  // `path` has a '%': canonical_path() differs from it
    std::string_view query;        // after the '?', not decoded
    std::string_view authority;    // from an absolute or CONNECT target, else from Host
    int minor_version = 1;         // HTTP/1.x
    header_list headers;

    // How the end of the body is found: none, length or chunked.
    http::framing framing = framing::none;
    std::uint64_t content_length = 0;  // bytes, when framing is length
    // The connection may serve another request afterwards (RFC 9112 section 9.3).
    bool keep_alive = true;
    // The client waits for "100 Continue" before it sends the body (RFC 9110 section 10.1.1).
    bool expects_continue = false;
    // "Connection: upgrade" with an Upgrade field, in HTTP/1.1.
    bool wants_upgrade = false;
};

// A response's status line and fields. All views point into the bytes that were parsed.
struct response_head {
    int status = 0;           // 100 to 999
    std::string_view reason;  // may be empty
    int minor_version = 1;    // HTTP/1.x
    header_list headers;

    // How the end of the body is found; also none where the request allows no body.
    http::framing framing = framing::none;
    std::uint64_t content_length = 0;  // bytes, when framing is length
    // The connection may serve another request; false also when the body runs until close.
    bool keep_alive = true;
};

// Parses what a client sends. Bounded by limits::max_uri_bytes, max_header_bytes, max_headers,
// max_body_bytes, max_chunk_extension_bytes and max_trailer_bytes; status_for() gives the status
// with which to refuse.
class WIRE_EXPORT request_parser : private detail::message_parser {
public:
    // `l` must outlive the parser.
    explicit request_parser(const limits& l) noexcept : message_parser(l) {}

    // No byte of a request has been seen since the last `end`: closing here loses nothing.
    using message_parser::between_messages;
    using message_parser::body_is_whole;
    // A call has answered `error`.
    using message_parser::failed;

    // What comes next in `in`, which begins where the last call stopped consuming.
    step parse(std::string_view in, request_head& head);
    // Forgets everything, for another connection with the same limits.
    void reset() noexcept { *this = request_parser(*limits_); }

    // After a `head`, before the next parse(): bounds this message's body, and no other's, by
    // `most` bytes instead of limits::max_body_bytes. (A body whose announced length is too large
    // fails only after its head, so that this can be decided by the head.)
    void limit_body(std::uint64_t most) noexcept;

private:
    scan scan_request_line(std::string_view in, std::size_t& at, request_head& head) noexcept;
};

// Parses what a server sends. Bounded by the same limits, and by max_interim_responses.
class WIRE_EXPORT response_parser : private detail::message_parser {
public:
    // `l` must outlive the parser.
    explicit response_parser(const limits& l) noexcept : message_parser(l) {}

    // No byte of a response has been seen since the last `end`.
    using message_parser::between_messages;
    // A call has answered `error`.
    using message_parser::failed;

    // The method of the request that the next response answers: a response to HEAD has no body, one
    // to CONNECT opens a tunnel (RFC 9112 section 6.3). Call it before the response's first byte is
    // parsed; without it the request counts as GET.
    void expect(method m) noexcept { request_ = m; }

    // What comes next in `in`, which begins where the last call stopped consuming. A field that is
    // folded over several lines (obs-fold, RFC 9112 section 5.2) is errc::folded_header.
    step parse(std::string_view in, response_head& head) { return parse(in, head, nullptr); }
    // The same for bytes that may be changed: in the head's fields each fold becomes spaces, as
    // user agents must read it. A folded Content-Length or Transfer-Encoding, a fold behind the
    // status line and one in the trailer remain errors. Give all bytes of an incomplete head again
    // as the last call left them.
    step parse_in_place(std::span<char> in, response_head& head) {
        return parse({in.data(), in.size()}, head, in.data());
    }

    // Tells the parser that the peer has closed the connection. `end` if that completes a body that
    // runs until close, need_more between messages, otherwise errc::closed_early.
    step finish() noexcept;

    // After the `end` of a 101, or of a 2xx to CONNECT: the bytes that follow are no longer HTTP.
    bool upgraded() const noexcept { return state_ == state::upgraded; }

    // Forgets everything, for another connection with the same limits.
    void reset() noexcept { *this = response_parser(*limits_); }

private:
    step parse(std::string_view in, response_head& head, char* writable);
    scan scan_status_line(std::string_view in, std::size_t& at, response_head& head) noexcept;

    method request_ = method::get;
    bool tunnel_ = false;        // the message being parsed is the last of HTTP here
    std::uint16_t interim_ = 0;  // 1xx heads before the response being parsed
};

// The status with which a server refuses a request that ended in `code`: 400 unless there is a
// fitting one, such as 413 or 431.
WIRE_EXPORT int status_for(errc code) noexcept;

}  // namespace wire::http
