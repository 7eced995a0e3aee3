// One field line of a head or trailer (RFC 9112 section 5), and what the fields of both roles have
// in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http::detail {

enum class line_scan : std::uint8_t { incomplete, complete, empty, failed };

// The line at `at`; moves `at` behind it when it is complete or empty (only CRLF), sets `error`
// when it failed. Whether a line fails is decided by its shortest failing prefix, so that the
// answer does not depend on how the bytes were split.
line_scan scan_field_line(std::string_view in, std::size_t& at, header& out, errc& error) noexcept;

// The two fields that decide framing, gathered over all field lines of a head.
class length_fields {
public:
    void content_length(std::string_view value) noexcept;
    // The same of a response, where a length that is repeated counts once, in one field or in
    // several (RFC 9112 section 6.3).
    void content_lengths(std::string_view value) noexcept;
    void transfer_encoding(std::string_view value) noexcept;

    bool has_length() const noexcept { return lengths_ > 0; }
    std::uint64_t length() const noexcept { return length_; }
    bool chunked() const noexcept { return codings_; }

    // none when framing is unambiguous: at most one length, and if there are transfer codings, just
    // one "chunked".
    errc check(int minor_version) const noexcept;

private:
    std::uint64_t length_ = 0;
    unsigned lengths_ = 0;
    bool bad_length_ = false;
    bool codings_ = false;  // there was a Transfer-Encoding
    bool unknown_coding_ = false;
    bool last_is_chunked_ = false;
    unsigned chunked_count_ = 0;
};

// uri-host [ ":" port ] (RFC 9110 section 7.2); an empty one is well-formed.
bool is_authority(std::string_view text) noexcept;
// The same of an http URL, whose host may not be empty (RFC 9110 section 4.2.1).
inline bool is_authority_of_url(std::string_view text) noexcept {
    return !text.empty() && text.front() != ':' && is_authority(text);
}

}  // namespace wire::http::detail
