// Server-sent events as text/event-stream has them: section 9.2.6 of the HTML standard. Only the
// writing half; wire/server/event_writer.hpp sends them.
//
//     append_event(out, {.data = "hello", .type = "greeting", .id = "7"});
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/base/result.hpp"

namespace wire::http {

// One event. Views: nothing is needed once it has been written. All text must be UTF-8, which is
// not checked: browsers replace what is not.
struct server_event {
    // Any text. CR LF, CR and LF each end a line, and arrive as LF.
    std::string_view data;
    // What the page listens for; empty: "message". Without CR and LF.
    std::string_view type = {};
    // What the client sends as Last-Event-ID when it comes back; empty: from now on nothing.
    // Without a value the id that it had stays. Without CR, LF and NUL.
    std::optional<std::string_view> id = {};
    // How long the client waits from now on before it connects anew. Negative counts as 0.
    std::optional<std::chrono::milliseconds> retry = {};
};

// Whether type and id hold nothing that may not stand there, or that clients would ignore.
WIRE_EXPORT bool is_sendable(const server_event& e) noexcept;

// Appends the event. errc::bad_argument where it is not sendable, and nothing is appended then.
[[nodiscard]] WIRE_EXPORT errc append_event(buffer& out, const server_event& e);

// Appends a comment, of as many lines as `text` has, which clients ignore.
WIRE_EXPORT void append_comment(buffer& out, std::string_view text);

}  // namespace wire::http
