// Decodes bodies that were sent with a Content-Encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/limits.hpp"
#include "wire/proto/compression.hpp"

namespace wire::http {

// Decodes one body, whole or in pieces. It makes its decompressor when the first byte comes.
class body_decoder {
public:
    // For a Content-Encoding (RFC 9110 section 8.4.1); none for what is not decoded here: another
    // coding, or several. `l` bounds what comes out, by max_body_bytes and max_decompression_ratio.
    static std::optional<body_decoder> of(std::string_view content_encoding,
                                          const limits& l) noexcept;

    // Decodes `in`, takes what is used up from its front, and appends at most `most` bytes to
    // `out`. Afterwards `in` is empty, or `most` was reached. Errors: bad_compressed_data, also for
    // what goes on after its end; expands_too_much; body_too_large.
    errc add(std::string_view& in, std::size_t most, buffer& out);
    // `most` was reached, and there may be more even without further input.
    bool has_more() const noexcept { return more_; }
    // The body is over: bad_compressed_data for one that was cut off. No bytes at all are an empty
    // body.
    errc finish() const noexcept {
        return begun_ && !ended_ ? errc::bad_compressed_data : errc::none;
    }

private:
    body_decoder(bool gzip, const limits& l) noexcept
        : left_(l.max_body_bytes), max_ratio_(l.max_decompression_ratio), gzip_(gzip) {}
    errc begin(char first);

    std::optional<decompressor> unpacker_;
    std::uint64_t left_;  // bytes that may still come out
    std::uint32_t max_ratio_;
    bool gzip_;
    bool begun_ = false;
    bool more_ = false;
    bool ended_ = false;
};

}  // namespace wire::http
