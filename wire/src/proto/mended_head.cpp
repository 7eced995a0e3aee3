// Writes heads of responses anew, line by line; what it does not know it leaves as it is, for the
// parser to refuse.
#include "mended_head.hpp"

#include <algorithm>
#include <optional>

#include "char_tables.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http::detail {

namespace {

constexpr std::string_view spaces = " \t";

// Chrome skips as many bytes before "HTTP".
constexpr std::size_t most_before_status_line = 4;

bool holds(std::string_view line, std::string_view word) noexcept {
    return std::search(line.begin(), line.end(), word.begin(), word.end(),
                       [](char a, char b) { return lower(a) == b; }) != line.end();
}
// Whether somebody could take the line for one that says where the body ends.
bool may_frame(std::string_view line) noexcept {
    return holds(line, "content-length") || holds(line, "transfer-encoding");
}

// The next line without its end, CRLF or LF; nothing when it is incomplete.
std::optional<std::string_view> take_line(std::string_view in, std::size_t& at) noexcept {
    const std::size_t end = in.find('\n', at);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view line = in.substr(at, end - at);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    at = end + 1;
    return line;
}

std::string_view take_word(std::string_view& line) noexcept {
    line = trim(line);
    const std::string_view word = line.substr(0, line.find_first_of(spaces));
    line.remove_prefix(word.size());
    return word;
}

// Control characters become spaces, but for NUL and CR, which the parser refuses.
void append_visible(buffer& out, std::string_view text) {
    for (const char c : text) out.append(is_control_char(c) && c != '\0' && c != '\r' ? ' ' : c);
}

void append_status_line(buffer& out, std::string_view line) {
    const std::string_view version = take_word(line);
    // `version` begins with "HTTP/", in any case: mend_response_head() has looked.
    out.append("HTTP/");
    out.append(version.substr(5));
    out.append(' ');
    out.append(take_word(line));
    out.append(' ');
    append_visible(out, trim(line));
    out.append("\r\n");
}

// Writes the lines of a head's fields.
class field_mender {
public:
    explicit field_mender(buffer& out) noexcept : out_(&out) {}

    errc add(std::string_view line) {
        if (spaces.find(line.front()) != std::string_view::npos) {  // a fold
            if (!skipping_) append(line);
            return errc::none;
        }
        const std::size_t colon = line.find(':');
        const std::string_view before = line.substr(0, colon);
        const std::string_view name = trim(before);
        const bool frames = may_frame(before);
        skipping_ = colon == std::string_view::npos || name.empty() ||
                    !std::all_of(name.begin(), name.end(), is_token_char);
        if (frames && (skipping_ || name.size() != before.size())) return errc::bad_header_name;
        if (skipping_) return may_frame(line) ? errc::bad_header_name : errc::none;
        if (frames) {
            append(line);
        } else {
            out_->append(name);
            append_visible(*out_, line.substr(colon));
            out_->append("\r\n");
        }
        return errc::none;
    }

private:
    void append(std::string_view line) {
        out_->append(line);
        out_->append("\r\n");
    }

    buffer* out_;
    bool skipping_ = false;  // the last line was no field, so neither are its folds
};

}  // namespace

mending mend_response_head(std::string_view in, const limits& l, buffer& out) {
    using state = mending::state;
    const bool cut = in.size() >= l.max_header_bytes;
    in = in.substr(0, l.max_header_bytes);
    std::size_t at = 0;
    while (at < in.size() && at < most_before_status_line && (in[at] == '\r' || in[at] == '\n'))
        ++at;
    constexpr std::string_view http = "HTTP/";
    const std::string_view begin = in.substr(at, http.size());
    if (!equals_ignoring_case(begin, http.substr(0, begin.size())))
        return {state::failed, errc::bad_status_line, 0};
    const mending more = cut ? mending{state::failed, errc::header_too_large, 0} : mending{};
    // Nothing is written, and nothing refused, before the head is complete: what is said of it must
    // not depend on how it was cut.
    std::size_t end = at;
    for (;;) {
        const auto line = take_line(in, end);
        if (!line) return more;
        if (line->empty()) break;
    }
    out.clear();
    append_status_line(out, *take_line(in, at));
    field_mender fields(out);
    for (;;) {
        const std::string_view line = *take_line(in, at);
        if (line.empty()) break;
        if (const errc failed = fields.add(line); failed != errc::none)
            return {state::failed, failed, 0};
    }
    out.append("\r\n");
    return {state::complete, errc::none, at};
}

}  // namespace wire::http::detail
