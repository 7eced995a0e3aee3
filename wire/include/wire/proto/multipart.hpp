// multipart/form-data (RFC 7578): forms with files. No socket, no file.
//
// A body that is in memory whole:
//
//     auto parts = wire::http::parse_multipart(content_type, body);
//     if (parts) for (const auto& part : *parts) use(part.name, part.data);
//
// A body as it comes: make a multipart_parser with the boundary that multipart_boundary() gives.
// It is called as the HTTP parsers are: the caller keeps the received bytes in one contiguous run,
// calls parse() until it answers need_more, and after each call drops `consumed` bytes from the
// front. What may be the beginning of a boundary is not consumed until more has come; that is less
// than the boundary and four bytes.
//
//     event        meaning
//     need_more    nothing further without more bytes
//     part         a part begins: `head` is filled
//     data         `data` is a piece of the part's content, never empty
//     part_end     the part is complete
//     end          all parts are complete; bytes that follow are ignored
//     error        `error` says why; every later call says the same
//
// Strict where no browser or tool in use is hurt: lines end in CRLF, each part is "form-data" and
// has a name. What precedes the first boundary is skipped, up to limits::max_part_header_bytes.
#pragma once

#ifdef WIRE_WITHOUT_MULTIPART
#error "this wire was built without multipart/form-data: build it with -D WIRE_WITH_MULTIPART=ON"
#endif

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// What a part's own fields say. Owns its text.
struct part_head {
    std::string name;  // of the form's control
    // There for files, and then as the sender chose it: it may hold "/", ".." or nothing, so never
    // use it as a path. Browsers write a quote as %22 and a line end as %0D%0A; that is left as it
    // is.
    std::optional<std::string> filename;
    std::string content_type;  // "" when not given: text/plain then (RFC 7578 section 4.4)
};

// Cuts a body into its parts as it arrives. Holds the boundary, and nothing of the content.
class WIRE_EXPORT multipart_parser {
public:
    // The table above says what each means.
    enum class event : std::uint8_t { need_more, part, data, part_end, end, error };
    // The answer of one call of parse().
    struct step {
        std::size_t consumed = 0;  // bytes to drop from the front
        event what = event::need_more;
        errc error = errc::none;
        std::string_view data{};  // into the bytes given; dies when they move
    };

    // `boundary` as multipart_boundary() gives it, not needed afterwards; `l` must outlive the
    // parser.
    multipart_parser(std::string_view boundary, const limits& l);

    // What comes next in `in`, which begins where the last call stopped consuming. `head` is
    // written only with event::part. Errors: bad_multipart; those of field lines, in a part's head;
    // header_too_large beyond limits::max_part_header_bytes; too_many_headers; too_many_parts;
    // part_too_large.
    step parse(std::string_view in, part_head& head);

    // `end` was reached. A body that stops before was cut off.
    bool finished() const noexcept { return state_ == state::finished; }

private:
    enum class state : std::uint8_t { start, preamble, delimited, head, content, finished, broken };
    step fail(errc why) noexcept;
    step parse_preamble(std::string_view in, part_head& head);
    step parse_delimited(std::string_view in, std::size_t before, part_head& head);
    step parse_head(std::string_view in, std::size_t before, part_head& head);
    step parse_content(std::string_view in);

    std::string delimiter_;  // CRLF "--" boundary
    const limits* limits_;
    std::uint64_t part_bytes_ = 0;  // of the present part's content, or before the first
    std::size_t parts_ = 0;
    state state_ = state::start;
    errc error_ = errc::none;
};

// The boundary that a Content-Type names. errc::unsupported_media_type when that is not
// multipart/form-data, bad_multipart when it has no well-formed boundary (RFC 2046 section 5.1.1: 1
// to 70 characters).
WIRE_EXPORT result<std::string> multipart_boundary(std::string_view content_type);

// A part of a body that is in memory whole.
struct form_part : part_head {
    std::string_view data;  // into the body, and valid as long as that
};
// All parts of a body that is there as a whole. Errors are those of multipart_boundary() and
// multipart_parser::parse(), and bad_multipart for a body that is cut off.
WIRE_EXPORT result<std::vector<form_part>> parse_multipart(std::string_view content_type,
                                                           std::string_view body,
                                                           const limits& l = {});

}  // namespace wire::http
