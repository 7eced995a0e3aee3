// Decodes bodies that were sent with a Content-Encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "body_unpacker.hpp"
#include "wire/base/buffer.hpp"
#include "wire/base/limits.hpp"

namespace wire::http {

// Appends the codings that this wire decodes, as Accept-Encoding lists them: "gzip, deflate, br,
// zstd" with all libraries, nothing with none.
void append_decoded_codings(std::string& to);
// Whether that appends something.
bool decodes_any_coding() noexcept;

// Windows of zstd that a decoder takes, as powers of two: the largest that the content coding may
// ask for (RFC 9659 section 3), and what a server gives each of its many peers.
constexpr int reply_window_bits = 23;
constexpr int request_window_bits = 21;

// Decodes one body, whole or in pieces. It makes its decompressor when the first byte comes.
class body_decoder {
public:
    // For a Content-Encoding (RFC 9110 section 8.4.1): gzip, deflate, br or zstd; none for what is
    // not decoded here: another coding, several, or one whose library wire was built without. `l`
    // bounds what comes out, by max_body_bytes and max_decompression_ratio; zstd's frames may ask
    // for a window of 2^max_window_bits bytes.
    static std::optional<body_decoder> of(std::string_view content_encoding, const limits& l,
                                          int max_window_bits = reply_window_bits) noexcept;

    // Decodes `in`, takes what is used up from its front, and appends at most `most` bytes to
    // `out`. Afterwards `in` is empty, or `most` was reached. Errors: bad_compressed_data, also for
    // what goes on after its end; expands_too_much; body_too_large; system_error when memory is
    // short. After one nothing may be added.
    errc add(std::string_view& in, std::size_t most, buffer& out);
    // `most` was reached, and there may be more even without further input.
    bool has_more() const noexcept { return more_; }
    // The body is over: bad_compressed_data for one that was cut off. No bytes at all are an empty
    // body.
    errc finish() const noexcept {
        return unpacker_ != nullptr && !ended_ ? errc::bad_compressed_data : errc::none;
    }

private:
    // Null when memory is short. `first` is the body's first byte.
    using maker = std::unique_ptr<body_unpacker> (*)(char first, int max_window_bits);

    body_decoder(maker make, const limits& l, int max_window_bits) noexcept
        : make_(make),
          left_(l.max_body_bytes),
          max_ratio_(l.max_decompression_ratio),
          max_window_bits_(max_window_bits) {}
    bool expands_too_much() const noexcept;

    // Called through a pointer, so that a program that decodes nothing links no decoder.
    maker make_;
    std::unique_ptr<body_unpacker> unpacker_;  // null before the first byte
    std::uint64_t left_;                       // bytes that may still come out
    std::uint64_t used_ = 0;                   // of input
    std::uint64_t produced_ = 0;
    std::uint32_t max_ratio_;
    int max_window_bits_;
    bool more_ = false;
    bool ended_ = false;
};

}  // namespace wire::http
