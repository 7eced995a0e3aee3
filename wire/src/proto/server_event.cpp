// Writes events line by line, so that no text can end its field.
#include "wire/proto/server_event.hpp"

#include <algorithm>

namespace wire::http {

namespace {

// Each line of `text` behind `field`. A text without bytes is one empty line, and so is what
// follows a last end of line.
void append_lines(buffer& out, std::string_view field, std::string_view text) {
    for (;;) {
        const std::size_t end = text.find_first_of("\r\n");
        out.append(field);
        // Clients take one space away; without it, a line's own would be lost.
        if (!text.empty() && end != 0) {
            out.append(' ');
            out.append(text.substr(0, end));
        }
        out.append('\n');
        if (end == std::string_view::npos) return;
        const bool both = text.substr(end, 2) == "\r\n";
        text.remove_prefix(end + (both ? 2 : 1));
    }
}

}  // namespace

bool is_sendable(const server_event& e) noexcept {
    return e.type.find_first_of("\r\n") == std::string_view::npos &&
           (!e.id || e.id->find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos);
}

errc append_event(buffer& out, const server_event& e) {
    if (!is_sendable(e)) return errc::bad_argument;
    if (e.id) append_lines(out, "id:", *e.id);
    if (!e.type.empty()) append_lines(out, "event:", e.type);
    if (e.retry) {
        out.append("retry: ");
        out.append_number(static_cast<std::uint64_t>(std::max<std::int64_t>(e.retry->count(), 0)));
        out.append('\n');
    }
    append_lines(out, "data:", e.data);
    out.append('\n');
    return errc::none;
}

void append_comment(buffer& out, std::string_view text) {
    append_lines(out, ":", text);
    out.append('\n');
}

}  // namespace wire::http
