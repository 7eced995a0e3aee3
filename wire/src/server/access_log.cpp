// Log lines in NCSA's common and combined formats, escaped so that a peer cannot forge one.
#include "wire/server/access_log.hpp"

#include "wire/proto/http_writer.hpp"

namespace wire::http {

namespace {

void append_escaped(std::string& to, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const char c : text) {
        const auto u = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
        } else if (u >= 0x20 && u < 0x7F) {
            to += c;
        } else {
            to += "\\x";
            to += digits[u >> 4];
            to += digits[u & 15];
        }
    }
}

void append_quoted_field(std::string& to, const request* r, std::string_view name) {
    to += " \"";
    append_escaped(to, r != nullptr ? r->header(name).value_or("-") : "-");
    to += '"';
}

}  // namespace

std::string common_log(const access_record& r) {
    std::string out = (r.request != nullptr ? r.request->client_address() : r.peer).host();
    // "Sun, 06 Nov 1994 08:49:37 GMT"
    const auto seconds =
        std::chrono::floor<std::chrono::seconds>(r.finished).time_since_epoch().count();
    const auto date = format_date(seconds);
    const std::string_view d(date.data(), date.size());
    out += " - - [";
    out.append(d.substr(5, 2))
        .append("/")
        .append(d.substr(8, 3))
        .append("/")
        .append(d.substr(12, 4))
        .append(":")
        .append(d.substr(17, 8));
    out += " +0000] \"";
    if (r.request != nullptr) {
        append_escaped(out, r.request->method_text());
        out += ' ';
        append_escaped(out, r.request->target());
        out += r.request->minor_version() == 0 ? " HTTP/1.0" : " HTTP/1.1";
    } else {
        out += '-';
    }
    out += "\" " + (r.status != 0 ? std::to_string(r.status) : "-");
    const std::uint64_t body = r.bytes_out - r.head_bytes_out;
    out += " " + (body != 0 ? std::to_string(body) : "-");
    return out;
}

std::string combined_log(const access_record& r) {
    std::string out = common_log(r);
    append_quoted_field(out, r.request, "Referer");
    append_quoted_field(out, r.request, "User-Agent");
    return out;
}

}  // namespace wire::http
