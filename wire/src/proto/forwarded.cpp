// The grammar of Forwarded (RFC 7239 section 4) and of its nodes (section 6).
#include "wire/proto/forwarded.hpp"

#include <algorithm>

#include "char_tables.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

namespace {

bool take(std::string_view& text, char c) noexcept {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

std::string_view take_token(std::string_view& text) noexcept {
    std::size_t n = 0;
    while (n < text.size() && detail::is_token_char(text[n])) ++n;
    const std::string_view token = text.substr(0, n);
    text.remove_prefix(n);
    return token;
}

// What is between the quotes (RFC 9110 section 5.6.4). The opening one has been taken.
bool take_quoted(std::string_view& text, std::string_view& out) noexcept {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\') {
            ++i;  // whatever it escapes
            continue;
        }
        if (text[i] != '"') continue;
        out = text.substr(0, i);
        text.remove_prefix(i + 1);
        return true;
    }
    return false;
}

std::string_view* place_of(std::string_view name, forwarded_element& e,
                           std::string_view& other) noexcept {
    if (equals_ignoring_case(name, "for")) return &e.from;
    if (equals_ignoring_case(name, "by")) return &e.by;
    if (equals_ignoring_case(name, "host")) return &e.host;
    if (equals_ignoring_case(name, "proto")) return &e.proto;
    other = {};
    return &other;
}

bool take_pair(std::string_view& text, forwarded_element& e) noexcept {
    const std::string_view name = take_token(text);
    if (name.empty() || !take(text, '=')) return false;
    std::string_view other;
    std::string_view* const to = place_of(name, e, other);
    if (to->data() != nullptr) return false;  // twice
    if (take(text, '"')) return take_quoted(text, *to);
    *to = take_token(text);
    return !to->empty();
}

bool is_obfuscated(std::string_view text) noexcept {
    return text.size() > 1 && text.front() == '_' &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return detail::is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '.' || c == '_' || c == '-';
           });
}

// ":port" or nothing.
bool take_port(std::string_view text, forwarded_node& to) noexcept {
    if (text.empty()) return true;
    text.remove_prefix(1);
    const auto number = parse_port(text);
    if (number) to.at.port = *number;
    return number || is_obfuscated(text);
}

}  // namespace

bool parse_forwarded(std::string_view field, std::size_t most,
                     std::vector<forwarded_element>& out) {
    const std::size_t before = out.size();
    for (;;) {
        forwarded_element e;
        bool any = false;
        do {
            detail::skip_space(field);
            if (field.empty() || field.front() == ',' || field.front() == ';') continue;
            if (!take_pair(field, e)) return false;
            any = true;
            detail::skip_space(field);
        } while (take(field, ';'));
        if (any) {
            if (out.size() - before == most) return false;
            out.push_back(e);
        }
        if (field.empty()) return true;
        if (!take(field, ',')) return false;
    }
}

std::string_view take_last_forwarded(std::string_view& field) noexcept {
    const std::string_view all = field;
    bool is_quoted = false;
    std::size_t begin = all.size();
    for (; begin > 0; --begin) {
        const char c = all[begin - 1];
        if (c == ',' && !is_quoted) break;
        if (c != '"') continue;
        // Inside, one after an odd number of backslashes is part of the text.
        const std::size_t before = all.substr(0, begin - 1).find_last_not_of('\\') + 1;
        if (!is_quoted || (begin - 1 - before) % 2 == 0) is_quoted = !is_quoted;
    }
    field = all.substr(0, begin > 0 ? begin - 1 : 0);
    return all.substr(begin);
}

std::optional<forwarded_node> parse_forwarded_node(std::string_view text) noexcept {
    forwarded_node out;
    std::string_view name;
    std::optional<ip_endpoint> at;
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos) return std::nullopt;
        name = text.substr(0, close + 1);
        at = parse_ipv6(text.substr(1, close - 1));
        if (!at) return std::nullopt;
    } else {
        name = text.substr(0, text.find(':'));
        at = parse_ipv4(name);
    }
    const std::string_view port = text.substr(name.size());
    if (!port.empty() && port.front() != ':') return std::nullopt;
    if (at) {
        out.what = forwarded_node::kind::address;
        out.at = *at;
    } else if (is_obfuscated(name)) {
        out.what = forwarded_node::kind::hidden;
    } else if (!equals_ignoring_case(name, "unknown")) {
        return std::nullopt;
    }
    if (!take_port(port, out)) return std::nullopt;
    if (!at) out.at = {};
    return out;
}

std::optional<forwarded_node> parse_x_forwarded_for(std::string_view text) noexcept {
    if (const auto bare = parse_ipv6(text)) {
        forwarded_node out;
        out.what = forwarded_node::kind::address;
        out.at = *bare;
        return out;
    }
    return parse_forwarded_node(text);
}

}  // namespace wire::http
