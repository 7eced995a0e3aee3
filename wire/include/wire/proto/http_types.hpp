// What HTTP messages are made of, whatever the version: methods, fields, framing.
//
//     if (head.headers.has_token("Connection", "close")) ...
//     if (auto type = head.headers.find("content-type")) use(*type);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"

namespace wire::http {

// RFC 9110 section 9 and RFC 5789. `other` is any method without a name here.
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

// The method that a request line names by `token`. Methods are case-sensitive: "get" is `other`.
WIRE_EXPORT method method_from(std::string_view token) noexcept;
// The token as it is sent, in static storage; "" for `other`.
WIRE_EXPORT std::string_view to_string(method m) noexcept;

// The reason phrase of RFC 9110 section 15 and other registered statuses, in static storage; ""
// where there is none.
WIRE_EXPORT std::string_view reason_phrase(int status) noexcept;

// One field. Views into bytes that somebody else owns.
struct header {
    std::string_view name;   // as received; compare with equals_ignoring_case()
    std::string_view value;  // without surrounding white space
};

// Equality of ASCII text in any case, as field names and many tokens are compared.
WIRE_EXPORT bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept;

// A token of RFC 9110 section 5.6.2: what method and field names must be. Never empty.
WIRE_EXPORT bool is_token(std::string_view text) noexcept;
// A value of RFC 9110 section 5.5: no CR, LF, NUL or other control character but tab.
WIRE_EXPORT bool is_field_value(std::string_view text) noexcept;

// Whether the comma-separated list `value` (RFC 9110 section 5.6.1) has the element `token`, in any
// case.
WIRE_EXPORT bool list_has_token(std::string_view value, std::string_view token) noexcept;

// The fields of one message, in the order in which they came. Holds views only, which die with the
// bytes that they point into; the storage for the views is used again by the next message.
class WIRE_EXPORT header_list {
public:
    // The value of the first field of that name, in any case. Linear: a message has few fields.
    std::optional<std::string_view> find(std::string_view name) const noexcept;
    // The value of the only field of that name; none also where there are several. For fields that
    // are no lists, such as Content-Type and Range: what a sender meant by two of them, others on
    // the way may have read differently (RFC 9110 section 5.3).
    std::optional<std::string_view> find_only(std::string_view name) const noexcept;
    // Whether any field of that name has `token` in its comma-separated list.
    bool has_token(std::string_view name, std::string_view token) const noexcept;

    // Iteration gives `header` objects.
    auto begin() noexcept { return fields_.begin(); }
    auto end() noexcept { return fields_.end(); }
    auto begin() const noexcept { return fields_.begin(); }
    auto end() const noexcept { return fields_.end(); }
    std::size_t size() const noexcept { return fields_.size(); }
    bool empty() const noexcept { return fields_.empty(); }
    // Precondition: i < size().
    const header& operator[](std::size_t i) const noexcept { return fields_[i]; }

    // Keeps the storage.
    void clear() noexcept { fields_.clear(); }
    // The bytes that `h` points into must outlive the list or its next clear().
    void push_back(header h) { fields_.push_back(h); }
    // Precondition: !empty().
    void pop_back() noexcept { fields_.pop_back(); }

private:
    std::vector<header> fields_;
};

// How the end of a body is found (RFC 9112 section 6.3).
enum class framing : std::uint8_t {
    none,         // there is no body
    length,       // Content-Length says it
    chunked,      // the last chunk ends it
    until_close,  // the end of the connection ends it; responses only
};

}  // namespace wire::http
