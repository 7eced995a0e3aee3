// Errors are values: an enum that programs branch on and a message that people read.
//
//     wire::result<http::reply> got = client->get(url);
//     if (got.code() == wire::errc::timed_out) return retry();
//     if (!got) return log(got.error().message);  // "http://a.example/: connection refused"
//     use(got->body());
//
// wire throws nothing across its interface but what allocation throws, std::invalid_argument for a
// malformed route pattern, and std::system_error where a thread of its own cannot be started.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "wire/base/export.hpp"

namespace wire {

// Every way in which an operation of this library can fail. Parsers and codecs return the bare enum
// (nothing to allocate on the hot path); calls that touch the system return an `error` with detail.
enum class errc : std::uint8_t {
    none = 0,

    // Sockets.
    refused,         // no process listens on that address and port
    reset,           // the peer aborted the connection
    closed_early,    // the peer closed in the middle of a message
    timed_out,       // a time limit passed
    unreachable,     // no route to the host or network
    address_in_use,  // local address and port are taken, or no local port is free
    not_resolved,    // the name has no address
    system_error,    // any other failure of a system call; the message names it
    stopped,         // the loop, server or client is stopping
    cancelled,       // by its own user
    queue_full,      // too many requests wait for a connection
    proxy_failed,    // the proxy refused; the message holds its status or reason

    // Misuse by the caller; the message says what was expected.
    bad_argument,

    // HTTP syntax and framing (RFC 9112).
    bad_request_line,
    bad_status_line,
    bad_version,            // an HTTP version that is not 1.x
    bad_target,             // a request target in none of the four forms of RFC 9112 section 3.2
    bad_line_end,           // a line that does not end in CRLF: bare LF or bare CR
    bad_header_name,        // not a token, or white space before the colon
    bad_header_value,       // a control character in a field value
    folded_header,          // obs-fold, RFC 9112 section 5.2
    bad_host,               // missing, repeated or malformed Host in a request
    bad_content_length,     // not a plain decimal number
    conflicting_length,     // several Content-Length, or Content-Length with Transfer-Encoding
    bad_transfer_encoding,  // chunked is not the last coding, or is given twice, or HTTP/1.0 names
                            // any
    unknown_transfer_encoding,  // a coding other than chunked
    bad_chunk,                  // malformed chunk size, extension or chunk end
    header_too_large,           // start line and fields beyond limits::max_header_bytes
    too_many_headers,           // beyond limits::max_headers
    uri_too_long,               // beyond limits::max_uri_bytes
    body_too_large,             // beyond limits::max_body_bytes
    unsupported_method,         // CONNECT, where there are no tunnels
    insecure_request,           // for an https resource, over a connection without TLS
    unknown_expectation,        // an Expect field other than 100-continue, RFC 9110 section 10.1.1
    chunk_extension_too_large,  // beyond limits::max_chunk_extension_bytes

    // URL.
    bad_url,       // not an absolute http, https, ws or wss URL, or cannot be percent-decoded
    bad_redirect,  // to a URL that this client does not follow: malformed, another scheme, https to
                   // http
    too_many_redirects,  // beyond client_options::max_redirects

    // What applications read out of requests.
    bad_parameter,        // "%" without two hexadecimal digits in a query or form
    too_many_parameters,  // beyond limits::max_parameters
    bad_cookie,           // a cookie that may not be set: see set_cookie
    too_many_cookies,     // beyond limits::max_cookies
    bad_multipart,   // multipart/form-data that RFC 7578 does not allow, or without its boundary
    too_many_parts,  // beyond limits::max_parts
    part_too_large,  // beyond limits::max_part_bytes
    unsupported_media_type,  // the body is of another type than the one it should be read as

    // WebSocket (RFC 6455).
    bad_handshake,      // the request or the answer to it is not that of RFC 6455 section 4
    bad_frame,          // reserved bits or opcodes, wrong masking, malformed control frame
    bad_close_code,     // one that may not stand in a close frame, RFC 6455 section 7.4
    bad_utf8,           // a text message or close reason that is not UTF-8
    message_too_large,  // beyond limits::max_message_bytes
    too_many_topics,    // beyond limits::max_topics

    // TLS.
    tls_failed,  // the handshake, a certificate or a record was not right; the message says which
    truncated,   // the connection ended without the peer's authenticated word that it has sent all
                 // (RFC 8446 section 6.1)

    // Compression.
    no_compression,       // built without zlib
    bad_compressed_data,  // not DEFLATE, gzip or zlib as announced
    expands_too_much,     // beyond limits::max_decompression_ratio
};

// A short lower-case phrase, such as "connection refused"; static storage.
WIRE_EXPORT std::string_view to_string(errc code) noexcept;

// Why something failed; or, with errc::none, that nothing did.
struct error {
    errc code = errc::none;
    // What failed, where and, when known, what to do, in one line without its end. For people: the
    // wording may change between versions.
    std::string message;

    // No error.
    error() = default;
    // With the phrase of to_string() as its message.
    error(errc c) : code(c), message(to_string(c)) {}  // NOLINT: conversion intended
    error(errc c, std::string text) : code(c), message(std::move(text)) {}

    // Whether there is one.
    explicit operator bool() const noexcept { return code != errc::none; }
};

// The enum value for an errno; `errc::system_error` where there is no closer one.
WIRE_EXPORT errc from_errno(int number) noexcept;

// The error of a system call that failed with errno `number`: the message is "<what>: <text of
// errno>", the code that of from_errno().
WIRE_EXPORT error system_failure(int number, std::string_view what);

// Either a value or an error. Compilers warn where one is returned and not looked at.
// (std::expected is the same, but needs C++23.)
template <typename T> class [[nodiscard]] result {
public:
    // A value, an error, or an error with the phrase of its code: functions return either directly.
    result(T value) : state_(std::in_place_index<0>, std::move(value)) {}     // NOLINT
    result(wire::error e) : state_(std::in_place_index<1>, std::move(e)) {}   // NOLINT
    result(errc code) : state_(std::in_place_index<1>, wire::error(code)) {}  // NOLINT

    // Whether there is a value.
    explicit operator bool() const noexcept { return state_.index() == 0; }
    bool ok() const noexcept { return state_.index() == 0; }

    // The value. Precondition for the five below: ok().
    T& operator*() & noexcept { return *std::get_if<0>(&state_); }
    const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
    T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    T* operator->() noexcept { return std::get_if<0>(&state_); }
    const T* operator->() const noexcept { return std::get_if<0>(&state_); }

    // Why there is none. Precondition: !ok().
    const wire::error& error() const noexcept {
        assert(!ok());
        return *std::get_if<1>(&state_);
    }
    // errc::none when there is a value.
    errc code() const noexcept { return ok() ? errc::none : error().code; }

private:
    std::variant<T, wire::error> state_;
};

// The result of an operation without a value: it worked, or there is an error.
template <> class [[nodiscard]] result<void> {
public:
    // It worked.
    result() = default;
    result(wire::error e) : error_(std::move(e)) {}   // NOLINT
    result(errc code) : error_(wire::error(code)) {}  // NOLINT

    // Whether it worked.
    explicit operator bool() const noexcept { return !error_.has_value(); }
    bool ok() const noexcept { return !error_.has_value(); }
    // Precondition: !ok().
    const wire::error& error() const noexcept {
        assert(!ok());
        return *error_;
    }
    errc code() const noexcept { return ok() ? errc::none : error_->code; }

private:
    std::optional<wire::error> error_;
};

}  // namespace wire
