// Cuts a multipart/form-data body into parts.
//
//     state       input                                next state   answer
//     start       the first boundary                   delimited    as delimited
//                 anything else                        preamble     as preamble
//     preamble    bytes before the first boundary      preamble     need_more; they are consumed
//                 a boundary                           delimited    as delimited
//     delimited   white space and a line end           head         as head
//                 "--"                                 finished     end
//     head        the part's fields and an empty line  content      part
//     content     bytes before the next boundary       content      data
//                 a boundary                           delimited    part_end
//     finished    anything                             finished     end, and it is consumed
//     any         what RFC 7578 does not allow         broken       error, from then on
#include "wire/proto/multipart.hpp"

#include <algorithm>

#include "char_tables.hpp"
#include "field_line.hpp"

namespace wire::http {

namespace {

// `; name=value` parameters of a Content-Type or Content-Disposition, whose first element has been
// cut off. A backslash escapes only quote and backslash: old browsers put whole Windows paths into
// file names. False when malformed.
template <typename Take> bool each_parameter(std::string_view text, Take take) {
    for (text = detail::trim(text); !text.empty(); text = detail::trim(text)) {
        if (text.front() != ';') return false;
        text = detail::trim(text.substr(1));
        if (text.empty()) break;  // a semicolon at the end
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || !is_token(text.substr(0, equals))) return false;
        const std::string_view name = text.substr(0, equals);
        text.remove_prefix(equals + 1);
        std::string value;
        if (!text.empty() && text.front() == '"') {
            std::size_t i = 1;
            for (; i < text.size() && text[i] != '"'; ++i) {
                if (text[i] == '\\' && i + 1 < text.size() &&
                    (text[i + 1] == '"' || text[i + 1] == '\\'))
                    ++i;
                value.push_back(text[i]);
            }
            if (i == text.size()) return false;
            text.remove_prefix(i + 1);
        } else {
            const std::size_t end = std::min(text.find_first_of("; \t"), text.size());
            value = text.substr(0, end);
            if (value.empty() || value.find('"') != std::string::npos) return false;
            text.remove_prefix(end);
        }
        take(name, std::move(value));
    }
    return true;
}

bool read_disposition(std::string_view value, part_head& head, bool& named) {
    const std::size_t end = std::min(value.find(';'), value.size());
    if (!equals_ignoring_case(detail::trim(value.substr(0, end)), "form-data")) return false;
    return each_parameter(value.substr(end), [&](std::string_view name, std::string text) {
        if (equals_ignoring_case(name, "name") && !named) {
            named = true;
            head.name = std::move(text);
        } else if (equals_ignoring_case(name, "filename") && !head.filename) {
            head.filename = std::move(text);
        }
    });
}

// Where the next delimiter begins, if it was `found`, else what may be the beginning of one.
std::size_t next_delimiter(std::string_view in, std::string_view delimiter, bool& found) noexcept {
    const std::size_t at = in.find(delimiter);
    found = at != std::string_view::npos;
    if (found) return at;
    // A boundary holds no CR: only the last one here can begin a delimiter that is not complete.
    const std::size_t return_at = in.rfind('\r');
    const bool may_be =
        return_at != std::string_view::npos && delimiter.starts_with(in.substr(return_at));
    return may_be ? return_at : in.size();
}

}  // namespace

multipart_parser::multipart_parser(std::string_view boundary, const limits& l)
    : delimiter_("\r\n--"), limits_(&l) {
    delimiter_ += boundary;
}

multipart_parser::step multipart_parser::fail(errc why) noexcept {
    state_ = state::broken;
    error_ = why;
    return {.what = event::error, .error = why};
}

multipart_parser::step multipart_parser::parse(std::string_view in, part_head& head) {
    switch (state_) {
    case state::start: {
        // The first delimiter needs no line before it.
        const std::string_view first = std::string_view(delimiter_).substr(2);
        const std::size_t n = std::min(in.size(), first.size());
        if (in.substr(0, n) != first.substr(0, n)) {
            state_ = state::preamble;
            return parse_preamble(in, head);
        }
        if (n < first.size()) return {};
        state_ = state::delimited;
        return parse_delimited(in, n, head);
    }
    case state::preamble: return parse_preamble(in, head);
    case state::delimited: return parse_delimited(in, 0, head);
    case state::head: return parse_head(in, 0, head);
    case state::content: return parse_content(in);
    case state::finished: return {.consumed = in.size(), .what = event::end};
    case state::broken: break;
    }
    return {.what = event::error, .error = error_};
}

// RFC 2046 section 5.1.1: it means nothing. Some clients begin with an empty line.
multipart_parser::step multipart_parser::parse_preamble(std::string_view in, part_head& head) {
    bool found = false;
    const std::size_t end = next_delimiter(in, delimiter_, found);
    part_bytes_ += end;
    if (part_bytes_ > limits_->max_part_header_bytes) return fail(errc::bad_multipart);
    if (!found) return {.consumed = end};
    state_ = state::delimited;
    return parse_delimited(in, end + delimiter_.size(), head);
}

// What follows a boundary: "--" at the end of all, or white space and a line end. `before` bytes of
// `in` are used up already.
multipart_parser::step multipart_parser::parse_delimited(std::string_view in, std::size_t before,
                                                         part_head& head) {
    std::string_view left = in.substr(before);
    if (left.substr(0, 2) == "--") {
        state_ = state::finished;
        return {.consumed = in.size(), .what = event::end};
    }
    if (left == "-") return {.consumed = before};
    // Padding counts as part of the head that follows.
    left = left.substr(0, limits_->max_part_header_bytes);
    const std::size_t end = std::min(left.find_first_not_of(" \t"), left.size());
    if (left.size() - end >= 1 && left[end] != '\r') return fail(errc::bad_multipart);
    if (left.size() - end >= 2 && left[end + 1] != '\n') return fail(errc::bad_multipart);
    if (left.size() - end < 2) {
        if (left.size() == limits_->max_part_header_bytes) return fail(errc::header_too_large);
        return {.consumed = before};
    }
    if (parts_ == limits_->max_parts) return fail(errc::too_many_parts);
    state_ = state::head;
    return parse_head(in, before + end + 2, head);
}

multipart_parser::step multipart_parser::parse_head(std::string_view in, std::size_t before,
                                                    part_head& head) {
    const std::string_view bytes = in.substr(before, limits_->max_part_header_bytes);
    part_head found;
    bool disposed = false;
    bool named = false;
    bool typed = false;
    std::size_t fields = 0;
    for (std::size_t at = 0;;) {
        header field;
        errc why = errc::none;
        switch (detail::scan_field_line(bytes, at, field, why)) {
        case detail::line_scan::incomplete:
            if (bytes.size() == limits_->max_part_header_bytes) return fail(errc::header_too_large);
            return {.consumed = before};
        case detail::line_scan::failed: return fail(why);
        case detail::line_scan::complete:
            if (++fields > limits_->max_headers) return fail(errc::too_many_headers);
            if (detail::name_is(field.name, "content-disposition")) {
                if (disposed || !read_disposition(field.value, found, named))
                    return fail(errc::bad_multipart);
                disposed = true;
            } else if (detail::name_is(field.name, "content-type")) {
                if (typed) return fail(errc::bad_multipart);
                found.content_type = field.value;
                typed = true;
            }
            break;
        case detail::line_scan::empty:
            if (!named) return fail(errc::bad_multipart);
            head = std::move(found);
            ++parts_;
            part_bytes_ = 0;
            state_ = state::content;
            return {.consumed = before + at, .what = event::part};
        }
    }
}

multipart_parser::step multipart_parser::parse_content(std::string_view in) {
    bool found = false;
    const std::size_t end = next_delimiter(in, delimiter_, found);
    if (end > 0) {
        part_bytes_ += end;
        if (part_bytes_ > limits_->max_part_bytes) return fail(errc::part_too_large);
        return {.consumed = end, .what = event::data, .data = in.substr(0, end)};
    }
    if (!found) return {};
    state_ = state::delimited;
    return {.consumed = delimiter_.size(), .what = event::part_end};
}

result<std::string> multipart_boundary(std::string_view content_type) {
    const std::size_t end = std::min(content_type.find(';'), content_type.size());
    if (!equals_ignoring_case(detail::trim(content_type.substr(0, end)), "multipart/form-data"))
        return errc::unsupported_media_type;
    std::string boundary;
    const bool well_formed =
        each_parameter(content_type.substr(end), [&](std::string_view name, std::string value) {
            if (equals_ignoring_case(name, "boundary")) boundary = std::move(value);
        });
    const bool good =
        well_formed && !boundary.empty() && boundary.size() <= 70 && boundary.back() != ' ' &&
        std::all_of(boundary.begin(), boundary.end(), [](char c) {
            const char small = detail::lower(c);
            return detail::is_digit(c) || (small >= 'a' && small <= 'z') ||
                   std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
        });
    if (!good) return errc::bad_multipart;
    return boundary;
}

result<std::vector<form_part>> parse_multipart(std::string_view content_type, std::string_view body,
                                               const limits& l) {
    const auto boundary = multipart_boundary(content_type);
    if (!boundary) return boundary.error();
    multipart_parser parser(*boundary, l);
    std::vector<form_part> out;
    part_head head;
    for (;;) {
        const auto s = parser.parse(body, head);
        body.remove_prefix(s.consumed);
        switch (s.what) {
        case multipart_parser::event::part:
            out.push_back({std::move(head), body.substr(0, 0)});
            break;
        case multipart_parser::event::data:
            // Pieces of one part are adjacent in the body.
            out.back().data = {out.back().data.data(), out.back().data.size() + s.data.size()};
            break;
        case multipart_parser::event::part_end: break;
        case multipart_parser::event::end: return out;
        case multipart_parser::event::need_more: return errc::bad_multipart;
        case multipart_parser::event::error: return s.error;
        }
    }
}

}  // namespace wire::http
