// The conditions that make a reply right, as the user gave them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wireload {

// Statuses that count as right: single ones and whole classes ("200,204", "2xx"), up to 999, since
// servers use those beyond 599 as well.
class status_set {
public:
    // Absent when `text` is not such a list.
    static std::optional<status_set> parse(std::string_view text);
    bool contains(int status) const noexcept {
        return status >= 100 && status <= 999 && allowed_[static_cast<std::size_t>(status - 100)];
    }
    const std::string& text() const noexcept { return text_; }

private:
    std::vector<bool> allowed_ = std::vector<bool>(900, false);
    std::string text_;
};

// A place in a JSON text, and what is to stand there.
struct json_expectation {
    // "path" or "path=value"; the first '=' divides them.
    static json_expectation parse(std::string_view text);
    std::string text() const { return value ? path + '=' + *value : path; }
    bool operator==(const json_expectation&) const = default;

    std::string path;
    std::optional<std::string> value;  // JSON, or else a string; none: whatever it is
};

// Each field is a check that a reply has to pass; those that are empty are not made.
struct expectations {
    status_set status = *status_set::parse("2xx");
    std::vector<std::string> headers;     // "Name", "Name: value" or "Name: beginning*"
    std::optional<std::string> body;      // all of it
    std::optional<std::uint64_t> length;  // of the body, in bytes
    std::string sha256;                   // of the body, in hexadecimal
    std::vector<std::string> match;  // regular expressions (RE2) that match somewhere in the body
    std::vector<json_expectation> json;

    // Whether there are checks that apply to a WebSocket message as well.
    bool of_content() const { return length || !sha256.empty() || !match.empty() || !json.empty(); }
};

}  // namespace wireload
