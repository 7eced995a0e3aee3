// multipart/form-data (RFC 7578): forms with files, from bytes as they come. No socket, no file.
//
// Usage is that of the HTTP parsers: hold the received bytes in one contiguous run and call
//
//     auto step = parser.parse(bytes, head);
//
// until it answers need_more; after each call drop `step.consumed` bytes from the front. What may
// be the beginning of a boundary is not consumed until more has come: it is shorter than the
// boundary and four bytes.
//
//     event        meaning
//     need_more    nothing further without more bytes
//     part         a part begins: `head` is filled
//     data         `data` is a piece of the part's content, never empty
//     part_end     the part is complete
//     end          all parts are complete; what follows is ignored
//     error        `error` says why; every later call says the same
//
// Strict where it costs nothing that is in use: no preamble, lines end in CRLF, each part is
// "form-data" and has a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

struct part_head {
    std::string name;
    // There for files, and then as the sender chose it: it may hold "/", ".." or nothing, so never
    // use it as a path. Browsers write a quote as %22 and a line end as %0D%0A; that is left as it
    // is.
    std::optional<std::string> filename;
    std::string content_type;  // "" when not given: text/plain then (RFC 7578 section 4.4)
};

class multipart_parser {
public:
    enum class event : std::uint8_t { need_more, part, data, part_end, end, error };
    struct step {
        std::size_t consumed = 0;
        event what = event::need_more;
        errc error = errc::none;
        std::string_view data{};  // into the bytes given
    };

    // `boundary` as multipart_boundary() gives it; `l` must outlive the parser.
    multipart_parser(std::string_view boundary, const limits& l);

    // Errors: bad_multipart, those of field lines in a part's head, header_too_large beyond
    // limits::max_part_header_bytes, too_many_headers, too_many_parts, part_too_large.
    step parse(std::string_view in, part_head& head);

    // Whether `end` was reached; a body that ends before is cut off.
    bool finished() const noexcept { return state_ == state::finished; }

private:
    enum class state : std::uint8_t { start, delimited, head, content, finished, broken };
    step fail(errc why) noexcept;
    step parse_delimited(std::string_view in, std::size_t before, part_head& head);
    step parse_head(std::string_view in, std::size_t before, part_head& head);
    step parse_content(std::string_view in);

    std::string delimiter_;  // CRLF "--" boundary
    const limits* limits_;
    std::uint64_t part_bytes_ = 0;
    std::size_t parts_ = 0;
    state state_ = state::start;
    errc error_ = errc::none;
};

// The boundary of a Content-Type; unsupported_media_type when it is not multipart/form-data,
// bad_multipart when it has no well-formed boundary (RFC 2046 section 5.1.1: 1 to 70 characters).
result<std::string> multipart_boundary(std::string_view content_type);

struct form_part : part_head {
    std::string_view data;  // into the body
};
// A body that is there as a whole. Errors are those above, and bad_multipart for one that is cut
// off.
result<std::vector<form_part>> parse_multipart(std::string_view content_type, std::string_view body,
                                               const limits& l = {});

}  // namespace wire::http
