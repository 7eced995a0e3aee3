// HTTP/1.1 message heads and chunk framing into a buffer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// Writes one head. Names must be tokens and values must hold no CR, LF, NUL or other control
// character (response splitting, RFC 9112 section 11.1): the first that does not is remembered, and
// finish() then takes back all that this writer appended and returns the error. Nothing else may be
// appended to the buffer between construction and finish().
class head_writer {
public:
    static head_writer request(buffer& out, std::string_view method, std::string_view target);
    // Without a reason the standard phrase is used.
    static head_writer response(buffer& out, int status, std::string_view reason = {},
                                int minor_version = 1);

    head_writer& field(std::string_view name, std::string_view value);
    head_writer& field(std::string_view name, std::uint64_t value);
    // Whole field lines ending in CRLF, which the caller knows to be well-formed.
    head_writer& raw(std::string_view lines);

    // The empty line. errc::none, or why nothing was written.
    [[nodiscard]] errc finish();

private:
    explicit head_writer(buffer& out) : out_(&out), start_(out.size()) {}

    buffer* out_;
    std::size_t start_;
    errc error_ = errc::none;
};

// One chunk of a chunked body (RFC 9112 section 7.1); nothing for empty data, which would end the
// body.
void append_chunk(buffer& out, std::string_view data);
// The last chunk, without trailers.
void append_last_chunk(buffer& out);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 section 5.6.7) from seconds since 1970.
std::array<char, 29> format_date(std::int64_t unix_seconds) noexcept;

}  // namespace wire::http
