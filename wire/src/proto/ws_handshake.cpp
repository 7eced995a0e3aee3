// Writes and checks the four messages of the opening handshake.
#include "wire/proto/ws_handshake.hpp"

#include "wire/proto/base64.hpp"
#include "wire/proto/http_writer.hpp"
#include "wire/proto/sha1.hpp"
#include "wire/proto/url.hpp"

namespace wire::ws {

namespace {

// The value of the one field of that name; `count` says how many there were.
std::string_view only_field(const http::header_list& headers, std::string_view name,
                            unsigned& count) noexcept {
    std::string_view value;
    count = 0;
    for (const http::header& h : headers) {
        if (http::equals_ignoring_case(h.name, name)) {
            value = h.value;
            ++count;
        }
    }
    return value;
}

// Whether the comma-separated `list` has exactly that element.
bool list_has(std::string_view list, std::string_view name) noexcept {
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        std::string_view one = list.substr(0, comma);
        while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) one.remove_prefix(1);
        while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.remove_suffix(1);
        if (one == name) return true;
        list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    }
    return false;
}

// Whether it is 16 bytes in Base64. Its last character may have bits set that stand for nothing, as
// it has in the example of section 4.1, which clients send.
[[gnu::cold]] bool is_key(std::string_view text) {
    return text.size() == 24 && text.ends_with("==") &&
           base64_decode(std::string(text.substr(0, 22)) + "AA").has_value();
}

error refused(std::string_view why) {
    return {errc::bad_handshake, "WebSocket handshake: " + std::string(why)};
}

}  // namespace

std::string accept_key(std::string_view key) {
    std::string text(key);
    text += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    return base64_encode(sha1(text));
}

std::string make_key(std::span<const std::uint8_t, 16> random) { return base64_encode(random); }

errc write_upgrade_request(buffer& out, std::string_view target, std::string_view host,
                           std::string_view key, std::span<const http::header> extra) {
    auto head = http::head_writer::request(out, "GET", target);
    head.field("Host", host)
        .raw("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n")
        .field("Sec-WebSocket-Key", key);
    for (const http::header& h : extra) head.field(h.name, h.value);
    return head.finish();
}

result<void> check_upgrade_response(const http::response_head& head, std::string_view key,
                                    std::string_view offered_protocols,
                                    const deflate_options* offered_deflate,
                                    std::optional<deflate_agreement>* agreed) {
    if (head.status != 101)
        return refused("the server answered " + std::to_string(head.status) + ", not 101");
    unsigned count = 0;
    if (!http::equals_ignoring_case(only_field(head.headers, "Upgrade", count), "websocket") ||
        count != 1)
        return refused("no \"Upgrade: websocket\" in the response");
    if (!head.headers.has_token("Connection", "upgrade"))
        return refused("no \"Connection: Upgrade\" in the response");
    if (only_field(head.headers, "Sec-WebSocket-Accept", count) != accept_key(key) || count != 1) {
        return refused("Sec-WebSocket-Accept is not the answer to our key");
    }
    if (offered_deflate == nullptr) {
        only_field(head.headers, "Sec-WebSocket-Extensions", count);
        if (count != 0) return refused("the server chose an extension that was not offered");
    } else {
        auto answer = read_deflate_answer(head.headers, *offered_deflate);
        if (!answer) return answer.error();
        if (agreed != nullptr) *agreed = *answer;
    }
    const std::string_view protocol = only_field(head.headers, "Sec-WebSocket-Protocol", count);
    if (count > 1) return refused("more than one subprotocol in the response");
    // Subprotocol names are compared exactly (RFC 6455 section 11.5).
    if (count == 1 && (protocol.empty() || !list_has(offered_protocols, protocol)))
        return refused("the server chose a subprotocol that was not offered");
    return {};
}

upgrade_check check_upgrade_request(const http::request_head& head) {
    if (!head.wants_upgrade || !head.headers.has_token("Upgrade", "websocket")) return {};
    upgrade_check check{.wanted = true, .error = errc::bad_handshake, .refusal = 400, .key = {}};
    if (head.method != http::method::get) return check;
    unsigned count = 0;
    const std::string_view version = only_field(head.headers, "Sec-WebSocket-Version", count);
    if (count != 1) return check;
    if (version != "13") {
        check.refusal = 426;
        return check;
    }
    const std::string_view key = only_field(head.headers, "Sec-WebSocket-Key", count);
    if (count != 1) return check;
    if (!is_key(key)) return check;
    if (!extensions_are_well_formed(head.headers)) return check;  // RFC 6455 section 9.1
    // An opening handshake has no body: what follows it are frames.
    if (head.framing == http::framing::chunked || head.content_length > 0) return check;
    return {.wanted = true, .error = errc::none, .refusal = 0, .key = key};
}

bool is_allowed_origin(const http::header_list& fields, const own_origin& own,
                       std::span<const std::string> allowed) {
    unsigned count = 0;
    const std::string_view origin = only_field(fields, "Origin", count);
    if (count == 0) return true;
    if (count > 1) return false;
    const auto page = parse_url(origin);
    const auto is_of = [&page](const result<url>& other) {
        return page && other && page->scheme == other->scheme && page->host == other->host &&
               page->port == other->port;
    };
    for (const std::string& one : allowed) {
        if (one == "*" || http::equals_ignoring_case(one, origin) || is_of(parse_url(one)))
            return true;
    }
    if (!page || (!own.scheme.empty() && page->secure() != (own.scheme == "https"))) return false;
    return is_of(parse_url(page->scheme + "://" + std::string(own.authority)));
}

std::string_view choose_protocol(const http::header_list& fields,
                                 std::span<const std::string> spoken) noexcept {
    for (const std::string& one : spoken) {
        if (!http::is_token(one)) continue;  // no client can offer it
        for (const http::header& h : fields) {
            if (http::equals_ignoring_case(h.name, "Sec-WebSocket-Protocol") &&
                list_has(h.value, one))
                return one;
        }
    }
    return {};
}

errc write_upgrade_response(buffer& out, std::string_view key, std::string_view protocol,
                            std::span<const http::header> extra, std::string_view lines) {
    auto head = http::head_writer::response(out, 101);
    head.raw("Upgrade: websocket\r\nConnection: Upgrade\r\n")
        .field("Sec-WebSocket-Accept", accept_key(key));
    if (!protocol.empty()) head.field("Sec-WebSocket-Protocol", protocol);
    for (const http::header& h : extra) head.field(h.name, h.value);
    return head.raw(lines).finish();
}

}  // namespace wire::ws
