// Tables of methods and reason phrases, and comparisons of names.
#include "wire/proto/http_types.hpp"

#include <array>

#include "char_tables.hpp"

namespace wire::http {

method method_from(std::string_view t) noexcept {
    switch (t.size()) {
    case 3:
        if (t == "GET") return method::get;
        if (t == "PUT") return method::put;
        break;
    case 4:
        if (t == "POST") return method::post;
        if (t == "HEAD") return method::head;
        break;
    case 5:
        if (t == "PATCH") return method::patch;
        if (t == "TRACE") return method::trace;
        break;
    case 6:
        if (t == "DELETE") return method::delete_;
        break;
    case 7:
        if (t == "OPTIONS") return method::options;
        if (t == "CONNECT") return method::connect;
        break;
    default: break;
    }
    return method::other;
}

std::string_view to_string(method m) noexcept {
    constexpr std::array<std::string_view, 10> names{
        "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", ""};
    return names[static_cast<std::size_t>(m)];
}

std::string_view reason_phrase(int status) noexcept {
    switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 103: return "Early Hints";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 203: return "Non-Authoritative Information";
    case 204: return "No Content";
    case 205: return "Reset Content";
    case 206: return "Partial Content";
    case 300: return "Multiple Choices";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 407: return "Proxy Authentication Required";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 425: return "Too Early";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 451: return "Unavailable For Legal Reasons";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "";
    }
}

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (detail::lower(a[i]) != detail::lower(b[i])) return false;
    }
    return true;
}

bool is_token(std::string_view text) noexcept {
    for (const char c : text) {
        if (!detail::is_token_char(c)) return false;
    }
    return !text.empty();
}

bool is_field_value(std::string_view text) noexcept {
    return detail::find_control(text.data(), text.data() + text.size()) ==
           text.data() + text.size();
}

bool list_has_token(std::string_view value, std::string_view token) noexcept {
    while (!value.empty()) {
        const std::size_t comma = value.find(',');
        if (equals_ignoring_case(detail::trim(value.substr(0, comma)), token)) return true;
        if (comma == std::string_view::npos) break;
        value.remove_prefix(comma + 1);
    }
    return false;
}

std::optional<std::string_view> header_list::find(std::string_view name) const noexcept {
    for (const header& h : fields_) {
        if (equals_ignoring_case(h.name, name)) return h.value;
    }
    return std::nullopt;
}

std::optional<std::string_view> header_list::find_only(std::string_view name) const noexcept {
    std::optional<std::string_view> value;
    for (const header& h : fields_) {
        if (!equals_ignoring_case(h.name, name)) continue;
        if (value) return std::nullopt;
        value = h.value;
    }
    return value;
}

bool header_list::has_token(std::string_view name, std::string_view token) const noexcept {
    for (const header& h : fields_) {
        if (equals_ignoring_case(h.name, name) && list_has_token(h.value, token)) return true;
    }
    return false;
}

}  // namespace wire::http
