// HTTP/1.1 requests as a server sees them (RFC 9112), parsed in place from bytes the caller owns.
//
// A request is parsed anew from its first byte each time more has arrived; `need` says how many
// bytes there must be before another attempt is worth it, so that a body in many pieces costs one
// attempt for each piece at most.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace wirebench::http1 {

inline constexpr std::size_t max_head_bytes = 16 * 1024;
inline constexpr std::size_t max_body_bytes = 1024 * 1024;
// Chunk framing may cost more bytes than it carries (one-byte chunks: six for one), within this.
inline constexpr std::size_t max_chunked_bytes = 8 * max_body_bytes;
inline constexpr std::size_t max_chunk_line_bytes = 256;

// Views point into the bytes given to `parse` (or into the chunk decoder) and die with them.
struct request {
    std::string_view method;
    std::string_view path;  // without scheme, authority and query
    std::string_view body;
    std::string_view websocket_key;
    bool keep_alive = true;
    bool http_1_0 = false;
    bool expects_continue = false;
    bool upgrades_to_websocket = false;
    bool websocket_version_13 = false;
    bool head_complete = false;
};

// Where the decoding of a chunked body stands (RFC 9112 section 7.1); kept between attempts.
struct chunks {
    // Offset of the next chunk-size line from the first byte of the request; 0 = not begun.
    std::size_t next = 0;
    bool in_trailers = false;
    std::string body;
};

enum class progress { need_more, complete, error };

struct outcome {
    progress kind = progress::need_more;
    std::size_t size = 0;  // complete: bytes of the request
    std::size_t need = 0;  // need_more: do not try again with fewer bytes than this
    int status = 0;        // error: what to answer before closing
};

namespace detail {

inline constexpr auto token_table = [] {
    std::array<bool, 256> table{};
    for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
    for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
    for (unsigned char c : std::string_view("!#$%&'*+-.^_`|~")) table[c] = true;
    return table;
}();

inline bool is_token(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return token_table[c]; });
}

inline bool is_field_value(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// `name` is given in lower case.
inline bool same(std::string_view text, std::string_view name) {
    return text.size() == name.size() && std::equal(text.begin(), text.end(), name.begin(),
                                                    [](char a, char b) { return lower(a) == b; });
}

inline std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

inline bool list_has(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const auto comma = std::min(list.find(','), list.size());
        if (same(trim(list.substr(0, comma)), name)) return true;
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return false;
}

struct fields {
    bool has_length = false;
    bool chunked = false;
    unsigned hosts = 0;
    std::size_t length = 0;
};

// Takes one header field; 0 or the status to refuse the request with.
inline int take_field(std::string_view name, std::string_view value, request& out, fields& seen) {
    switch (name.size()) {
    case 4:
        if (same(name, "host")) ++seen.hosts;
        break;
    case 6:
        if (same(name, "expect")) out.expects_continue = same(value, "100-continue");
        break;
    case 7:
        if (same(name, "upgrade")) out.upgrades_to_websocket = list_has(value, "websocket");
        break;
    case 10:
        if (!same(name, "connection")) break;
        if (list_has(value, "close")) out.keep_alive = false;
        else if (out.http_1_0 && list_has(value, "keep-alive")) out.keep_alive = true;
        break;
    case 14:
        if (same(name, "content-length")) {
            std::size_t length = 0;
            const auto [end, error] =
                std::from_chars(value.data(), value.data() + value.size(), length);
            if (error == std::errc::result_out_of_range) return 413;
            if (value.empty() || error != std::errc{} || end != value.data() + value.size())
                return 400;
            if (seen.has_length && seen.length != length) return 400;  // RFC 9112 section 6.3
            seen.has_length = true;
            seen.length = length;
        }
        break;
    case 17:
        if (same(name, "transfer-encoding")) {
            if (seen.chunked || out.http_1_0) return 400;
            if (!same(value, "chunked")) return 501;
            seen.chunked = true;
        } else if (same(name, "sec-websocket-key")) {
            out.websocket_key = value;
        }
        break;
    case 21:
        if (same(name, "sec-websocket-version")) out.websocket_version_13 = value == "13";
        break;
    default: break;
    }
    return 0;
}

// Takes "METHOD target HTTP/1.x"; 0 or the status to refuse it with.
inline int take_request_line(std::string_view line, request& out) {
    const auto method_end = line.find(' ');
    const auto target_end = line.rfind(' ');
    if (method_end == line.npos || target_end <= method_end + 1) return 400;
    out.method = line.substr(0, method_end);
    auto target = line.substr(method_end + 1, target_end - method_end - 1);
    const auto version = line.substr(target_end + 1);
    if (!is_token(out.method)) return 400;
    if (std::any_of(target.begin(), target.end(),
                    [](unsigned char c) { return c <= 0x20 || c == 0x7f; }))
        return 400;
    if (version == "HTTP/1.1") out.http_1_0 = false;
    else if (version == "HTTP/1.0") out.http_1_0 = true;
    else return version.starts_with("HTTP/") ? 505 : 400;
    out.keep_alive = !out.http_1_0;
    // Absolute-form, RFC 9112 section 3.2.2.
    if (target.front() != '/' && target.starts_with("http://")) {
        const auto slash = target.find('/', 7);
        target = slash == target.npos ? std::string_view("/") : target.substr(slash);
    }
    out.path = target.substr(0, target.find('?'));
    return 0;
}

// Decodes as much of a chunked body as has arrived.
inline outcome decode_chunks(std::string_view bytes, chunks& state) {
    using enum progress;
    for (;;) {
        if (state.next > max_chunked_bytes) return {.kind = error, .status = 413};
        const auto rest = bytes.substr(std::min(state.next, bytes.size()));
        const auto end = rest.find("\r\n");
        const auto line_size = std::min(end, rest.size());
        if (line_size > (state.in_trailers ? max_head_bytes : max_chunk_line_bytes))
            return {.kind = error, .status = 400};
        if (end == rest.npos) return {.kind = need_more, .need = bytes.size() + 1};
        if (state.in_trailers) {
            state.next += end + 2;
            if (end == 0) return {.kind = complete, .size = state.next};
            continue;
        }
        const auto line = rest.substr(0, end);
        std::size_t size = 0;
        const auto [after, failure] =
            std::from_chars(line.data(), line.data() + line.size(), size, 16);
        if (failure != std::errc{} || size > max_body_bytes - state.body.size())
            return {.kind = error,
                    .status = failure == std::errc{} || failure == std::errc::result_out_of_range
                                  ? 413
                                  : 400};
        const auto extension =
            trim({after, static_cast<std::size_t>(line.data() + line.size() - after)});
        if ((!extension.empty() && extension.front() != ';') || !is_field_value(extension))
            return {.kind = error, .status = 400};
        if (size == 0) {
            state.next += end + 2;
            state.in_trailers = true;
            continue;
        }
        if (rest.size() < end + 2 + size + 2)
            return {.kind = need_more, .need = state.next + end + 2 + size + 2};
        if (rest.substr(end + 2 + size, 2) != "\r\n") return {.kind = error, .status = 400};
        state.body += rest.substr(end + 2, size);
        state.next += end + 2 + size + 2;
    }
}

}  // namespace detail

// Parses one request from the front of `bytes`. `decoded` holds the body of a chunked request;
// `out` may view it.
inline outcome parse(std::string_view bytes, request& out, chunks& decoded) {
    using enum progress;
    std::size_t at = 0;
    // RFC 9112 section 2.2: empty lines before it.
    while (at < 4 && bytes.substr(at).starts_with("\r\n")) at += 2;

    detail::fields seen;
    for (bool first = true;; first = false) {
        const auto rest = bytes.substr(at);
        const auto* newline = static_cast<const char*>(
            std::memchr(rest.data(), '\n', std::min(rest.size(), max_head_bytes)));
        if (newline == nullptr) {
            if (at + rest.size() >= max_head_bytes) return {.kind = error, .status = 431};
            return {.kind = need_more, .need = bytes.size() + 1};
        }
        const auto size = static_cast<std::size_t>(newline - rest.data());
        if (size == 0 || rest[size - 1] != '\r') return {.kind = error, .status = 400};
        const auto line = rest.substr(0, size - 1);
        at += size + 1;
        if (at > max_head_bytes) return {.kind = error, .status = 431};
        if (first) {
            if (const int status = detail::take_request_line(line, out))
                return {.kind = error, .status = status};
            continue;
        }
        if (line.empty()) break;
        const auto colon = line.find(':');
        if (colon == line.npos || !detail::is_token(line.substr(0, colon)))
            return {.kind = error, .status = 400};
        const auto value = detail::trim(line.substr(colon + 1));
        if (!detail::is_field_value(value)) return {.kind = error, .status = 400};
        if (const int status = detail::take_field(line.substr(0, colon), value, out, seen))
            return {.kind = error, .status = status};
    }
    out.head_complete = true;
    // Section 3.2.
    if (seen.hosts > 1 || (seen.hosts == 0 && !out.http_1_0)) return {.kind = error, .status = 400};
    // Section 6.1: smuggling.
    if (seen.chunked && seen.has_length) return {.kind = error, .status = 400};
    if (seen.chunked) {
        if (decoded.next == 0) decoded.next = at;
        auto result = detail::decode_chunks(bytes, decoded);
        out.body = decoded.body;
        return result;
    }
    if (seen.length > max_body_bytes) return {.kind = error, .status = 413};
    if (bytes.size() - at < seen.length) return {.kind = need_more, .need = at + seen.length};
    out.body = bytes.substr(at, seen.length);
    return {.kind = complete, .size = at + seen.length};
}

// A response that never changes, in the three forms its connection header can take.
class fixed_response {
public:
    fixed_response(std::string_view status, std::string_view fields, std::string_view body) {
        for (std::size_t form = 0; form < forms_.size(); ++form) {
            auto& text = forms_[form];
            text.append("HTTP/1.1 ").append(status).append("\r\n").append(fields);
            text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
            text.append(connection_field(form)).append("\r\n");
            head_size_[form] = text.size();
            text.append(body);
        }
    }

    std::string_view for_request(const request& to) const {
        const auto form = form_of(to.keep_alive, to.http_1_0);
        return std::string_view(forms_[form])
            .substr(0, to.method == "HEAD" ? head_size_[form] : forms_[form].size());
    }
    std::string_view closing() const { return forms_[1]; }
    std::string_view body() const { return std::string_view(forms_[0]).substr(head_size_[0]); }

    static std::string_view connection_field(bool keep_alive, bool http_1_0) {
        return connection_field(form_of(keep_alive, http_1_0));
    }

private:
    static std::size_t form_of(bool keep_alive, bool http_1_0) {
        return !keep_alive ? 1 : http_1_0 ? 2 : 0;
    }
    static std::string_view connection_field(std::size_t form) {
        return form == 0 ? "" : form == 1 ? "Connection: close\r\n" : "Connection: keep-alive\r\n";
    }

    std::array<std::string, 3> forms_;
    std::array<std::size_t, 3> head_size_{};
};

}  // namespace wirebench::http1
