// How both parsers read a head that may arrive in pieces: message_parser::scan_head().
#pragma once

#include "wire/proto/detail/message_parser.hpp"

namespace wire::http::detail {

// Each byte is checked once while the head is incomplete, and once more when it completes if it
// came in several pieces: `head` is the caller's scratch, shared among many parsers, so nothing can
// be kept in it from one call to the next.
template <typename Head, typename ScanStartLine>
auto message_parser::scan_head(std::string_view in, std::size_t& at, Head& head,
                               ScanStartLine scan_start_line, char* writable) -> scan {
    in = in.substr(0, limits_->max_header_bytes);
    at = checked_;
    const bool resumed = at != 0;
    scan found = resumed ? scan::complete : scan_start_line(in, at);
    if (found == scan::complete) {
        head.headers.clear();
        found = scan_fields(in, at, head.headers, writable);
    }
    if (found == scan::complete && resumed) {
        // Lines seen in earlier calls were checked but not kept: gather them now.
        fields_ = 0;
        at = 0;
        head.headers.clear();
        found = scan_start_line(in, at);
        if (found == scan::complete) found = scan_fields(in, at, head.headers, writable);
    }
    return found;
}

}  // namespace wire::http::detail
