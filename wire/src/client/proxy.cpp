// Proxy URLs, the hosts that need no proxy, and the CONNECT conversation.
#include "proxy.hpp"

#include <limits>

#include "wire/proto/base64.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/http_writer.hpp"

namespace wire::detail {

result<proxy_server> parse_proxy(std::string_view text) {
    const bool secure = text.substr(0, 8) == "https://";
    const std::string_view scheme = secure ? "https://" : "http://";
    const auto bad = [](std::string_view why) {
        return error(errc::bad_url, "the proxy's URL: " + std::string(why));
    };
    if (text.substr(0, scheme.size()) != scheme)
        return bad("it must begin with http:// or https://");
    std::string_view rest = text.substr(scheme.size());
    rest = rest.substr(0, rest.find('/'));
    proxy_server out;
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        const std::string_view credentials = rest.substr(0, at);
        const auto colon = credentials.find(':');
        const auto user = percent_decode(credentials.substr(0, colon));
        const auto password =
            percent_decode(colon == std::string_view::npos ? "" : credentials.substr(colon + 1));
        if (!user || !password) return bad("malformed percent-encoding in user or password");
        if (user->find(':') != std::string::npos)
            return bad("a user's name cannot hold a colon (RFC 7617 section 2)");
        const std::string both = *user + ":" + *password;
        out.authorization =
            "Basic " +
            base64_encode({reinterpret_cast<const std::uint8_t*>(both.data()), both.size()});
        rest = rest.substr(at + 1);
    }
    const auto where = parse_url(std::string(scheme) + std::string(rest));
    if (!where) return bad("malformed host or port");
    out.host = where->host;
    out.port = where->port;
    out.secure = secure;
    return out;
}

bool goes_direct(const std::vector<std::string>& no_proxy, const url& to) {
    for (std::string_view entry : no_proxy) {
        if (entry == "*") return true;
        std::string_view name = entry;
        // A port follows the only colon, or the colon behind brackets; other colons belong to an
        // IPv6 address.
        const auto colon = name.rfind(':');
        if (colon != std::string_view::npos &&
            (name.find(':') == colon || name[colon - 1] == ']')) {
            if (name.substr(colon + 1) != std::to_string(to.port)) continue;
            name = name.substr(0, colon);
        }
        if (name.size() > 2 && name.front() == '[' && name.back() == ']')
            name = name.substr(1, name.size() - 2);
        const bool only_under = !name.empty() && name.front() == '.';
        if (only_under) name.remove_prefix(1);
        if (name.empty()) continue;
        const std::string_view host = to.host;
        if (!only_under && http::equals_ignoring_case(host, name)) return true;
        if (host.size() > name.size() && host[host.size() - name.size() - 1] == '.' &&
            http::equals_ignoring_case(host.substr(host.size() - name.size()), name)) {
            return true;
        }
    }
    return false;
}

tunnel::tunnel(const proxy_server& proxy, std::string host, std::uint16_t port,
               const limits& bounds)
    : proxy_(proxy), bounds_(bounds), parser_(bounds_) {
    if (host.find(':') != std::string::npos) host = "[" + host + "]";
    authority_ = host + ":" + std::to_string(port);
    // The body of a refusal is not read: its length does not matter, its status does.
    bounds_.max_body_bytes = std::numeric_limits<std::uint64_t>::max();
    parser_.expect(http::method::connect);
}

void tunnel::ask(buffer& out) const {
    auto head = http::head_writer::request(out, "CONNECT", authority_);
    head.field("Host", authority_);
    if (!proxy_.authorization.empty()) head.field("Proxy-Authorization", proxy_.authorization);
    [[maybe_unused]] const errc refused = head.finish();  // host names come from parse_url()
}

result<bool> tunnel::receive(std::span<const char> bytes) {
    held_.append({bytes.data(), bytes.size()});
    const auto failed = [this](errc code, std::string_view why) {
        return error(code, "proxy " + proxy_.name() + ": " + std::string(why));
    };
    for (;;) {
        const http::step s = parser_.parse_in_place(held_.bytes(), head_);
        if (s.what == http::event::need_more) return false;
        if (s.what == http::event::error) return failed(s.error, to_string(s.error));
        if (s.what == http::event::head && head_.status / 100 != 2) {
            std::string why = std::to_string(head_.status) + " " + std::string(head_.reason);
            if (const auto wants = head_.headers.find("proxy-authenticate"))
                why += " (it asks for: " + std::string(*wants) + ")";
            return failed(errc::proxy_failed, why);
        }
        held_.consume(s.consumed);
        if (s.what != http::event::end) continue;
        // Neither TLS nor WebSocket lets the server speak first.
        if (!held_.empty())
            return failed(errc::proxy_failed, "it sent more than its answer to CONNECT");
        return true;
    }
}

}  // namespace wire::detail
