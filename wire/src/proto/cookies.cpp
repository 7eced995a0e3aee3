// Reads Cookie fields tolerantly and writes Set-Cookie fields strictly.
#include "wire/proto/cookies.hpp"

#include <algorithm>

#include "char_tables.hpp"
#include "wire/proto/http_writer.hpp"

namespace wire::http {

result<cookie_list> cookie_list::parse(const header_list& fields, const limits& l) {
    cookie_list out;
    for (const header& field : fields) {
        if (!detail::name_is(field.name, "cookie")) continue;
        std::string_view left = field.value;
        while (!left.empty()) {
            const std::size_t end = std::min(left.find(';'), left.size());
            const std::string_view pair = left.substr(0, end);
            left.remove_prefix(std::min(end + 1, left.size()));
            const std::size_t equals = pair.find('=');
            if (equals == std::string_view::npos) continue;
            const std::string_view name = detail::trim(pair.substr(0, equals));
            if (name.empty()) continue;
            if (out.list_.size() == l.max_cookies) return errc::too_many_cookies;
            out.list_.emplace_back(name, detail::trim(pair.substr(equals + 1)));
        }
    }
    return out;
}

std::optional<std::string_view> cookie_list::find(std::string_view name) const noexcept {
    for (const auto& [key, value] : list_) {
        if (key == name) return value;
    }
    return std::nullopt;
}

namespace {

// cookie-octet of RFC 6265 section 4.1.1.
bool is_value_char(char c) noexcept {
    return c > ' ' && c < 0x7F && c != '"' && c != ',' && c != ';' && c != '\\';
}

bool is_value(std::string_view text) noexcept {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        text = text.substr(1, text.size() - 2);
    return std::all_of(text.begin(), text.end(), is_value_char);
}

bool is_path(std::string_view text) noexcept {
    return text.front() == '/' && std::none_of(text.begin(), text.end(), [](char c) {
               return c < ' ' || c == 0x7F || c == ';';
           });
}

bool is_domain(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) {
        const char small = detail::lower(c);
        return detail::is_digit(c) || (small >= 'a' && small <= 'z') || c == '-' || c == '.';
    });
}

bool begins_with(std::string_view text, std::string_view prefix) noexcept {
    return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// Why a browser would not take it; "" when it would.
std::string_view fault(const set_cookie& c) noexcept {
    if (!is_token(c.name)) return "the name must be a token";
    if (!is_value(c.value)) return "the value holds a character that must be encoded";
    if (!c.path.empty() && !is_path(c.path))
        return "the path must begin with '/' and hold no ';' or control character";
    if (!is_domain(c.domain)) return "malformed domain";
    if (c.same_site == same_site::none && !c.secure) return "SameSite=None needs Secure";
    if (begins_with(c.name, "__Secure-") && !c.secure) return "the prefix __Secure- needs Secure";
    if (begins_with(c.name, "__Host-") && (!c.secure || c.path != "/" || !c.domain.empty())) {
        return "the prefix __Host- needs Secure, Path=/ and no Domain";
    }
    return {};
}

}  // namespace

result<std::string> set_cookie::text() const {
    if (const auto why = fault(*this); !why.empty()) {
        return error(errc::bad_cookie, "cookie \"" + name + "\": " + std::string(why));
    }
    std::string out = name + "=" + value;
    if (!path.empty()) out += "; Path=" + path;
    if (!domain.empty()) out += "; Domain=" + domain;
    if (max_age) out += "; Max-Age=" + std::to_string(max_age->count());
    if (expires) {
        const auto date = format_date(expires->time_since_epoch().count());
        out += "; Expires=";
        out.append(date.data(), date.size());
    }
    if (secure) out += "; Secure";
    if (http_only) out += "; HttpOnly";
    switch (same_site) {
    case same_site::unset: break;
    case same_site::strict: out += "; SameSite=Strict"; break;
    case same_site::lax: out += "; SameSite=Lax"; break;
    case same_site::none: out += "; SameSite=None"; break;
    }
    return out;
}

}  // namespace wire::http
