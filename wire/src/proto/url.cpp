// Takes absolute URLs apart and refuses what no request target may hold.
#include "wire/proto/url.hpp"

#include "char_tables.hpp"
#include "field_line.hpp"
#include "path.hpp"
#include "percent_coding.hpp"

namespace wire {

using http::detail::lower;

std::string url::authority() const {
    std::string text = ipv6() ? "[" + host + "]" : host;
    if (port != (secure() ? 443 : 80)) text += ":" + std::to_string(port);
    return text;
}

namespace {

[[gnu::cold]] error bad(std::string_view text, std::string_view why) {
    return {errc::bad_url, "URL \"" + std::string(text) + "\": " + std::string(why)};
}

std::string lowered(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = lower(c);
    return out;
}

}  // namespace

result<url> parse_url(std::string_view text) {
    url out;
    const std::size_t colon = text.find("://");
    if (colon == std::string_view::npos) return bad(text, "expected scheme://host");
    out.scheme = lowered(text.substr(0, colon));
    if (out.scheme != "http" && out.scheme != "https" && out.scheme != "ws" &&
        out.scheme != "wss") {
        return bad(text, "the scheme must be http, https, ws or wss");
    }
    std::string_view rest = text.substr(colon + 3);
    rest = rest.substr(0, rest.find('#'));
    const std::size_t slash = rest.find_first_of("/?");
    const std::string_view authority = rest.substr(0, slash);
    if (authority.find('@') != std::string_view::npos)
        return bad(text, "user information is not supported");
    if (!http::detail::is_authority(authority)) return bad(text, "malformed host or port");

    std::string_view port;
    if (!authority.empty() && authority.front() == '[') {
        const std::size_t close = authority.find(']');
        out.host = lowered(authority.substr(1, close - 1));
        if (out.host.find(':') == std::string::npos)
            return bad(text, "an address in brackets must be IPv6");
        if (close + 1 < authority.size()) port = authority.substr(close + 2);
    } else {
        const std::size_t at = authority.find(':');
        out.host = lowered(authority.substr(0, at));
        if (at != std::string_view::npos) port = authority.substr(at + 1);
    }
    if (out.host.empty()) return bad(text, "the host is empty");
    unsigned number = 0;
    // At most 65535: is_authority.
    for (const char c : port) number = number * 10 + static_cast<unsigned>(c - '0');
    if (!port.empty() && number == 0) return bad(text, "port 0");
    if (port.empty()) number = out.secure() ? 443 : 80;
    out.port = static_cast<std::uint16_t>(number);

    if (slash != std::string_view::npos) out.target = rest.substr(slash);
    if (out.target.empty() || out.target.front() != '/') out.target.insert(0, 1, '/');
    for (const char c : out.target) {
        if (c <= ' ' || c >= 0x7F)
            return bad(text, "a character in path or query must be percent-encoded");
    }
    return out;
}

result<std::string> percent_decode(std::string_view text) {
    std::string out;
    if (!detail::append_percent_decoded(out, text, '+'))
        return error(errc::bad_url,
                     "\"" + std::string(text) + "\": % without two hexadecimal digits");
    return out;
}

result<std::string> canonical_path(std::string_view path) {
    if (http::detail::check_path(path) == http::detail::path_form::refused)
        return error(errc::bad_target, "path \"" + std::string(path) +
                                           "\": a malformed escape, an encoded '/' or NUL, or a "
                                           "dot segment");
    std::string out;
    detail::append_percent_decoded(out, path, '+');
    return out;
}

}  // namespace wire
