// HTTP/1.1 message heads and chunk framing into a buffer.
//
//     auto head = wire::http::head_writer::response(out, 200);
//     head.field("Content-Type", "text/plain").field("Content-Length", text.size());
//     if (head.finish() == wire::errc::none) out.append(text);
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// Writes one head into a buffer, which must outlive it and to which nobody else may append between
// construction and finish().
//
// Names must be tokens and values must hold no CR, LF, NUL or other control character (response
// splitting, RFC 9112 section 11.1). The first that does not is remembered; finish() then takes
// back all that this writer has appended and returns errc::bad_header_name or bad_header_value,
// bad_target for a target with a space or control character, bad_argument for a method, status or
// reason that cannot be sent.
class WIRE_EXPORT head_writer {
public:
    // Begins a request: "GET /path HTTP/1.1".
    static head_writer request(buffer& out, std::string_view method, std::string_view target);
    // Begins a response. An empty `reason` stands for the standard phrase of the status.
    static head_writer response(buffer& out, int status, std::string_view reason = {},
                                int minor_version = 1);

    // Adds one field line. Nothing of the arguments is needed afterwards.
    head_writer& field(std::string_view name, std::string_view value);
    // The same with a decimal number.
    head_writer& field(std::string_view name, std::uint64_t value);
    // Adds whole field lines that end in CRLF, which the caller knows to be well-formed: they are
    // not checked.
    head_writer& raw(std::string_view lines);

    // Adds the empty line that ends the head. errc::none, or why nothing was written.
    [[nodiscard]] errc finish();

private:
    explicit head_writer(buffer& out) : out_(&out), start_(out.size()) {}

    buffer* out_;
    std::size_t start_;  // size of the buffer before the head
    errc error_ = errc::none;
};

// Appends `data` as one chunk of a chunked body (RFC 9112 section 7.1). Nothing for empty data,
// which would end the body.
WIRE_EXPORT void append_chunk(buffer& out, std::string_view data);
// Appends the last chunk and the trailer: whole field lines that end in CRLF, which the caller
// knows to be well-formed.
WIRE_EXPORT void append_last_chunk(buffer& out, std::string_view trailer = {});

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7) from seconds since 1970. Not terminated
// by a NUL.
WIRE_EXPORT std::array<char, 29> format_date(std::int64_t unix_seconds) noexcept;

}  // namespace wire::http
