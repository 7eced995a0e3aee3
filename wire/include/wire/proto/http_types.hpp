// What HTTP messages are made of, free of any wire version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace wire::http {

// RFC 9110 section 9 and RFC 5789. Methods are case-sensitive tokens.
enum class method : std::uint8_t {
    get,
    head,
    post,
    put,
    delete_,
    patch,
    options,
    connect,
    trace,
    other
};

method method_from(std::string_view token) noexcept;  // `other` for any it does not name
std::string_view to_string(method m) noexcept;        // "" for `other`

// The reason phrase of RFC 9110 section 15 and friends, "" where there is none.
std::string_view reason_phrase(int status) noexcept;

struct header {
    std::string_view name;   // as received; compare with equals_ignoring_case
    std::string_view value;  // without surrounding white space
};

// ASCII only, as field names and tokens are.
bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept;

bool is_token(std::string_view text) noexcept;        // RFC 9110 section 5.6.2
bool is_field_value(std::string_view text) noexcept;  // RFC 9110 section 5.5; no CR, LF, NUL or
                                                      // other control but tab

// True when the comma-separated list `value` (RFC 9110 section 5.6.1) has `token`, ignoring case.
bool list_has_token(std::string_view value, std::string_view token) noexcept;

// Fields in the order in which they came. The storage is reused by the next message.
class header_list {
public:
    // The first field of that name (any case).
    std::optional<std::string_view> find(std::string_view name) const noexcept;
    // Whether any field of that name has `token` in its comma-separated list.
    bool has_token(std::string_view name, std::string_view token) const noexcept;

    auto begin() noexcept { return fields_.begin(); }
    auto end() noexcept { return fields_.end(); }
    auto begin() const noexcept { return fields_.begin(); }
    auto end() const noexcept { return fields_.end(); }
    std::size_t size() const noexcept { return fields_.size(); }
    bool empty() const noexcept { return fields_.empty(); }
    const header& operator[](std::size_t i) const noexcept { return fields_[i]; }

    void clear() noexcept { fields_.clear(); }
    void push_back(header h) { fields_.push_back(h); }

private:
    std::vector<header> fields_;
};

// How the end of a body is found (RFC 9112 section 6.3).
enum class framing : std::uint8_t { none, length, chunked, until_close };

}  // namespace wire::http
