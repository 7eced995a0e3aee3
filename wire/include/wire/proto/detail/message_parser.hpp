// What request_parser and response_parser share: where a head was scanned up to, and how the end of
// a body is found. Not for users; http_parser.hpp explains how a parser is called.
//
// The states and their events are listed in src/proto/message_parser.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

struct step;

namespace detail {

class WIRE_EXPORT message_parser {
public:
    // `l` must outlive the parser.
    explicit message_parser(const limits& l) noexcept : limits_(&l) {}

    // A call has answered `error`; every later call answers the same.
    bool failed() const noexcept { return error_ != errc::none; }
    // No byte of a message has been seen since the last `end`: closing the connection here loses
    // nothing.
    bool between_messages() const noexcept { return state_ == state::start && !partial_; }
    // All of a body was given; the next call answers `end`, whatever it is given.
    bool body_is_whole() const noexcept { return state_ == state::finished; }

protected:
    enum class state : std::uint8_t {
        start,
        length_body,
        oversize_body,
        close_body,
        chunk_size,
        chunk_space,
        extension_start,
        extension_name,
        extension_name_space,
        extension_value_start,
        extension_value,
        extension_quoted,
        extension_escaped,
        extension_quoted_end,
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

    // Enters state::broken.
    step fail(errc code) noexcept;
    // Chooses the state in which the body begins. `length` counts only with framing::length.
    void begin_body(framing f, std::uint64_t length) noexcept;
    // Every state but `start`.
    step parse_body(std::string_view in) noexcept;
    step parse_chunk_framing(std::string_view in) noexcept;
    // The state behind `c`, a byte of a chunk extension; `broken` when it breaks the grammar.
    static state after_extension(state s, char c) noexcept;
    step parse_trailer(std::string_view in, std::size_t at) noexcept;
    // Start line and fields. `scan_start_line(in, at)` reads the first line from `at` and leaves
    // `at` behind it; so does scan_head() with the empty line that ends the head. Defined in
    // src/proto/head_scan.hpp. `writable` is null, or the same bytes as `in`, for unfold().
    template <typename Head, typename ScanStartLine>
    scan scan_head(std::string_view in, std::size_t& at, Head& head, ScanStartLine scan_start_line,
                   char* writable = nullptr);
    // Field lines from `at` to the empty line, which leaves `at` behind it. When incomplete,
    // checked_ is where the first line that is not yet whole begins.
    scan scan_fields(std::string_view in, std::size_t& at, header_list& out, char* writable);
    // `at` is where a line begins with white space: makes it, and such lines behind it, a part of
    // the field line before, to whose begin `at` goes back. False where that may not be.
    bool unfold(std::string_view in, std::size_t& at, char* writable) noexcept;
    // The answer to an incomplete head of which `in` is all there is.
    step need_more_head(std::string_view in, std::size_t skipped) noexcept;

    const limits* limits_;
    std::uint64_t remaining_ = 0;  // bytes of the body or of the chunk still to come
    std::uint64_t body_left_ = 0;  // decoded bytes that limits::max_body_bytes still allows
    std::uint32_t checked_ = 0;    // bytes of the incomplete head known to be well-formed lines
    std::uint32_t extension_bytes_ = 0;  // of all chunk extensions of the message
    std::uint32_t trailer_bytes_ = 0;
    std::uint16_t fields_ = 0;  // field lines seen, of the head or of the trailer
    state state_ = state::start;
    errc error_ = errc::none;
    std::uint8_t size_digits_ = 0;     // of the chunk size being read
    bool skipped_empty_line_ = false;  // before a request line, RFC 9112 section 2.2
    bool partial_ = false;             // a part of a head has been seen
};

}  // namespace detail

}  // namespace wire::http
