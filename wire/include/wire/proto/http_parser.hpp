// HTTP/1.1 messages from bytes: strict (RFC 9112), incremental, without copying. No socket, no
// clock.
//
// Usage, for both parsers: hold the received bytes in one contiguous run and call
//
//     auto step = parser.parse(bytes, head);
//
// until it answers need_more. After each call drop `step.consumed` bytes from the front and pass
// the rest, followed by whatever has arrived since. A head is consumed only when it is complete, so
// until then the caller keeps its bytes; body bytes are consumed as they come.
//
//     event        consumed                 meaning
//     need_more    0, or framing passed     nothing further without more bytes
//     interim      the 1xx head             responses only: an interim head (not 101) is in `head`
//     head         the head                 `head` is filled; its views point into `bytes`
//     body         a piece and its framing  `data` is a piece of the decoded body, never empty
//     end          0, or the last chunk     the message is complete; the next call starts another
//     error        0                        `error` says why; every later call says the same
//
// Views live as long as the caller leaves `bytes` in place. `head` is scratch that the caller owns
// and may share among many parsers (one for each thread does): a parser by itself is 48 bytes and
// owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

enum class event : std::uint8_t { need_more, interim, head, body, end, error };

struct step {
    std::size_t consumed = 0;
    event what = event::need_more;
    errc error = errc::none;
    std::string_view data{};
};

struct request_head {
    http::method method = http::method::get;
    std::string_view method_text;
    std::string_view target;  // as received
    std::string_view
        path;  // of origin-form and absolute-form targets, not decoded; "*" or "" otherwise
    std::string_view query;      // after the '?', not decoded
    std::string_view authority;  // from an absolute or CONNECT target, else from Host
    int minor_version = 1;       // HTTP/1.x
    header_list headers;

    http::framing framing = framing::none;  // none, length or chunked
    std::uint64_t content_length = 0;       // when framing is length
    bool keep_alive = true;                 // RFC 9112 section 9.3
    bool expects_continue = false;          // RFC 9110 section 10.1.1
    bool wants_upgrade = false;  // Connection: upgrade with an Upgrade field, in HTTP/1.1
};

struct response_head {
    int status = 0;
    std::string_view reason;
    int minor_version = 1;
    header_list headers;

    http::framing framing = framing::none;
    std::uint64_t content_length = 0;  // when framing is length
    bool keep_alive = true;            // false also when the body runs until close
};

namespace detail {

// What both parsers share: where the head was scanned up to, and the body's framing.
class message_parser {
public:
    explicit message_parser(const limits& l) noexcept : limits_(&l) {}

    bool failed() const noexcept { return error_ != errc::none; }
    // Nothing of a message has been seen since the last `end`, so that closing here loses nothing.
    bool between_messages() const noexcept { return state_ == state::start && !partial_; }

protected:
    enum class state : std::uint8_t {
        start,
        length_body,
        oversize_body,
        close_body,
        chunk_size,
        chunk_space,
        chunk_extension,
        chunk_size_lf,
        chunk_data,
        chunk_data_cr,
        chunk_data_lf,
        trailer,
        finished,
        upgraded,
        broken,
    };
    enum class scan : std::uint8_t { incomplete, complete, failed };

    step fail(errc code) noexcept;
    // The head is complete: what its body will be.
    void begin_body(framing f, std::uint64_t length) noexcept;
    step parse_body(std::string_view in) noexcept;
    step parse_chunk_framing(std::string_view in) noexcept;
    step parse_trailer(std::string_view in, std::size_t at) noexcept;
    // Field lines from `at` to the empty line, which leaves `at` behind it. When incomplete,
    // checked_ is where the first line that is not yet whole begins.
    scan scan_fields(std::string_view in, std::size_t& at, header_list& out);
    // The answer to an incomplete head of which `in` is all there is.
    step need_more_head(std::string_view in, std::size_t skipped) noexcept;

    const limits* limits_;
    std::uint64_t remaining_ = 0;  // of the body or chunk
    std::uint64_t body_left_ = 0;  // how many more decoded bytes are allowed
    std::uint32_t checked_ = 0;  // bytes of the incomplete head known to be well-formed whole lines
    std::uint32_t extension_bytes_ = 0;
    std::uint32_t trailer_bytes_ = 0;
    std::uint16_t fields_ = 0;
    state state_ = state::start;
    errc error_ = errc::none;
    std::uint8_t size_digits_ = 0;
    bool skipped_empty_line_ = false;
    bool partial_ = false;  // a part of a head has been seen
};

}  // namespace detail

// Server role. `limits` must outlive it.
class request_parser : private detail::message_parser {
public:
    explicit request_parser(const limits& l) noexcept : message_parser(l) {}

    using message_parser::between_messages;
    using message_parser::failed;

    step parse(std::string_view in, request_head& head);
    void reset() noexcept { *this = request_parser(*limits_); }

    // After a `head`, before the next parse(): bounds this message's body, and no other's, by
    // `most` bytes instead of limits::max_body_bytes. (A body that is announced as too large fails
    // after its head, so that this can be decided by the head.)
    void limit_body(std::uint64_t most) noexcept;

private:
    scan scan_request_line(std::string_view in, std::size_t& at, request_head& head) noexcept;
};

// Client role. `limits` must outlive it.
class response_parser : private detail::message_parser {
public:
    explicit response_parser(const limits& l) noexcept : message_parser(l) {}

    using message_parser::between_messages;
    using message_parser::failed;

    // The method of the request that the next response answers: a HEAD's has no body, a CONNECT's
    // opens a tunnel (RFC 9112 section 6.3). Call it before the response's first byte is parsed;
    // GET otherwise.
    void expect(method m) noexcept { request_ = m; }

    step parse(std::string_view in, response_head& head);

    // The peer closed: `end` if that completes a body that runs until close, need_more between
    // messages, else `error` with closed_early.
    step finish() noexcept;

    // After the `end` of a 101, or of a 2xx to CONNECT: what follows is no longer HTTP.
    bool upgraded() const noexcept { return state_ == state::upgraded; }

    void reset() noexcept { *this = response_parser(*limits_); }

private:
    scan scan_status_line(std::string_view in, std::size_t& at, response_head& head) noexcept;

    method request_ = method::get;
    bool tunnel_ = false;  // the message being parsed is the last of HTTP here
    std::uint16_t interim_ = 0;
};

// The status with which a server refuses a request that failed to parse.
int status_for(errc code) noexcept;

}  // namespace wire::http
