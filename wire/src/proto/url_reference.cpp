// References resolved (RFC 3986 section 5), and the parts of a URL encoded.
#include <algorithm>

#include "char_tables.hpp"
#include "wire/proto/url.hpp"

namespace wire {

namespace {

constexpr auto none = std::string_view::npos;

// RFC 3986 appendix B. A component that is absent is told from one that is empty by its data()
// being null.
struct parts {
    std::string_view scheme;
    std::string_view authority;
    std::string_view path;
    std::string_view query;
    std::string_view fragment;
};

bool given(std::string_view component) noexcept { return component.data() != nullptr; }

bool is_scheme(std::string_view text) noexcept {
    const auto letter = [](char c) {
        return http::detail::lower(c) >= 'a' && http::detail::lower(c) <= 'z';
    };
    if (text.empty() || !letter(text.front())) return false;
    for (const char c : text) {
        if (!letter(c) && !http::detail::is_digit(c) && c != '+' && c != '-' && c != '.')
            return false;
    }
    return true;
}

parts split(std::string_view text) {
    parts p;
    if (const auto hash = text.find('#'); hash != none) {
        p.fragment = text.substr(hash + 1);
        text = text.substr(0, hash);
    }
    if (const auto mark = text.find('?'); mark != none) {
        p.query = text.substr(mark + 1);
        text = text.substr(0, mark);
    }
    if (const auto colon = text.find(':'); colon != none && is_scheme(text.substr(0, colon))) {
        p.scheme = text.substr(0, colon);
        text = text.substr(colon + 1);
    }
    if (text.substr(0, 2) == "//") {
        text = text.substr(2);
        const auto slash = std::min(text.find('/'), text.size());
        p.authority = text.substr(0, slash);
        text = text.substr(slash);
    }
    p.path = text;
    return p;
}

// RFC 3986 section 5.2.4.
std::string remove_dot_segments(std::string_view in) {
    std::string out;
    const auto drop_segment = [&out] {
        out.erase(out.rfind('/') == std::string::npos ? 0 : out.rfind('/'));
    };
    const auto begins = [&in](std::string_view text) { return in.substr(0, text.size()) == text; };
    while (!in.empty()) {
        if (begins("../")) {
            in.remove_prefix(3);
        } else if (begins("./") || begins("/./")) {
            in.remove_prefix(2);
        } else if (in == "/.") {
            in = "/";
        } else if (begins("/../")) {
            in.remove_prefix(3);
            drop_segment();
        } else if (in == "/..") {
            in = "/";
            drop_segment();
        } else if (in == "." || in == "..") {
            in = {};
        } else {
            const auto end = std::min(in.find('/', 1), in.size());
            out += in.substr(0, end);
            in.remove_prefix(end);
        }
    }
    return out;
}

// RFC 3986 section 5.2.3.
std::string merge(const parts& base, std::string_view path) {
    if (given(base.authority) && base.path.empty()) return "/" + std::string(path);
    const auto slash = base.path.rfind('/');
    return std::string(base.path.substr(0, slash == none ? 0 : slash + 1)) + std::string(path);
}

bool is_unreserved(char c) noexcept {
    const char l = http::detail::lower(c);
    return (l >= 'a' && l <= 'z') || http::detail::is_digit(c) || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

}  // namespace

std::string resolve_reference(std::string_view base_text, std::string_view reference) {
    const parts base = split(base_text);
    const parts r = split(reference);
    parts t = r;
    std::string path(r.path);
    if (given(r.scheme) || given(r.authority)) {
        path = remove_dot_segments(path);
        if (!given(r.scheme)) t.scheme = base.scheme;
    } else {
        t.scheme = base.scheme;
        t.authority = base.authority;
        if (path.empty()) {
            path = base.path;
            if (!given(r.query)) t.query = base.query;
        } else {
            path = remove_dot_segments(path.front() == '/' ? path : merge(base, path));
        }
    }
    std::string out;
    if (given(t.scheme)) out.append(t.scheme) += ':';
    if (given(t.authority)) out.append("//") += t.authority;
    out += path;
    if (given(t.query)) (out += '?') += t.query;
    if (given(t.fragment)) (out += '#') += t.fragment;
    return out;
}

result<url> parse_url_to_request(std::string_view text) {
    auto parsed = parse_url(text);
    if (!parsed || parsed->target.find("/.") == std::string::npos) return parsed;
    return parse_url(resolve_reference(text, text));
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (is_unreserved(c)) {
            out += c;
        } else {
            const auto u = static_cast<unsigned char>(c);
            ((out += '%') += digits[u >> 4]) += digits[u & 15];
        }
    }
    return out;
}

std::string with_query(std::string url, std::string_view name, std::string_view value) {
    const auto end = std::min(url.find('#'), url.size());
    const auto mark = url.find('?');
    std::string added;
    if (mark >= end) {
        added = "?";
    } else if (mark + 1 < end && url[end - 1] != '&') {
        added = "&";
    }
    url.insert(end, added + percent_encode(name) + "=" + percent_encode(value));
    return url;
}

}  // namespace wire
