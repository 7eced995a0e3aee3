// Proxy URLs, the hosts that need no proxy, and the CONNECT conversation.
#include "proxy.hpp"

#include <algorithm>
#include <limits>

#include "is_address.hpp"
#include "proto/char_tables.hpp"
#include "wire/loop/network.hpp"
#include "wire/proto/base64.hpp"
#include "wire/proto/http_types.hpp"
#include "wire/proto/http_writer.hpp"
#include "wire/proto/ip_endpoint.hpp"

namespace wire::detail {

namespace {

error bad_proxy(std::string_view why) {
    return {errc::bad_url, "the proxy's URL: " + std::string(why)};
}

constexpr std::uint16_t socks_port = 1080;  // RFC 1928 section 3

// Takes the scheme off the front of `text`.
bool take_scheme(std::string_view& text, proxy_server& out) noexcept {
    constexpr std::string_view known[] = {"http://", "https://", "socks5://", "socks5h://"};
    for (const std::string_view scheme : known) {
        if (!text.starts_with(scheme)) continue;
        text.remove_prefix(scheme.size());
        out.secure = scheme == "https://";
        out.socks = scheme.starts_with("socks");
        out.looks_up_names = scheme == "socks5h://";
        return true;
    }
    return false;
}

// "user:password", percent-encoded.
result<void> read_credentials(std::string_view text, proxy_server& out) {
    const auto colon = text.find(':');
    auto user = percent_decode(text.substr(0, colon));
    auto password = percent_decode(colon == std::string_view::npos ? "" : text.substr(colon + 1));
    if (!user || !password) return bad_proxy("malformed percent-encoding in user or password");
    if (out.socks) {
        if (user->empty() || user->size() > 255 || password->size() > 255)
            return bad_proxy("user and password of SOCKS5 have 1 to 255 bytes (RFC 1929)");
        out.user = *std::move(user);
        out.password = *std::move(password);
        return {};
    }
    if (user->find(':') != std::string::npos)
        return bad_proxy("a user's name cannot hold a colon (RFC 7617 section 2)");
    const std::string both = *user + ":" + *password;
    out.authorization =
        "Basic " + base64_encode({reinterpret_cast<const std::uint8_t*>(both.data()), both.size()});
    return {};
}

bool has_port(std::string_view authority) noexcept {
    const auto colon = authority.rfind(':');
    return colon != std::string_view::npos && colon + 1 < authority.size() &&
           authority.find(']', colon) == std::string_view::npos;
}

}  // namespace

result<proxy_server> parse_proxy(std::string_view text) {
    proxy_server out;
    if (!take_scheme(text, out))
        return bad_proxy("it must begin with http://, https://, socks5:// or socks5h://");
    text = text.substr(0, text.find('/'));
    if (const auto at = text.rfind('@'); at != std::string_view::npos) {
        if (auto read = read_credentials(text.substr(0, at), out); !read) return read.error();
        text = text.substr(at + 1);
    }
    const auto where = parse_url((out.secure ? "https://" : "http://") + std::string(text));
    if (!where) return bad_proxy("malformed host or port");
    out.host = where->host;
    out.port = out.socks && !has_port(text) ? socks_port : where->port;
    return out;
}

// Addresses have several spellings (RFC 4291 section 2.2).
static bool is_same_host(std::string_view host, std::string_view name) noexcept {
    if (http::equals_ignoring_case(host, name)) return true;
    const auto address = parse_ipv6(host);
    return address && address == parse_ipv6(name);
}

static bool is_in_network(std::string_view host, std::string_view text) {
    const auto at = address::parse(host, 0);
    if (!at) return false;
    const auto net = network::around(text);
    return net && net->contains(*at);
}

// The dot that ends a name in full (RFC 1034 section 3.1) changes nothing.
static std::string_view without_last_dot(std::string_view name) noexcept {
    return name.size() > 1 && name.back() == '.' ? name.substr(0, name.size() - 1) : name;
}

static bool is_named_by(std::string_view entry, std::string_view host, std::uint16_t port) {
    std::string_view name = http::detail::trim(entry);
    // A port follows the only colon, or the colon behind brackets; other colons belong to an IPv6
    // address.
    const auto colon = name.rfind(':');
    if (colon != std::string_view::npos && (name.find(':') == colon || name[colon - 1] == ']')) {
        if (name.substr(colon + 1) != std::to_string(port)) return false;
        name = name.substr(0, colon);
    }
    if (name == "*") return true;
    if (name.size() > 2 && name.front() == '[' && name.back() == ']')
        name = name.substr(1, name.size() - 2);
    if (name.find('/') != std::string_view::npos) return is_in_network(host, name);
    if (name.starts_with("*.")) name.remove_prefix(1);
    const bool only_under = name.starts_with('.');
    if (only_under) name.remove_prefix(1);
    name = without_last_dot(name);
    if (name.empty()) return false;
    if (!only_under && is_same_host(host, name)) return true;
    // The end of an address is not the name of what is above it.
    if (is_address(host)) return false;
    return host.size() > name.size() && host[host.size() - name.size() - 1] == '.' &&
           http::equals_ignoring_case(host.substr(host.size() - name.size()), name);
}

bool goes_direct(const std::vector<std::string>& no_proxy, const url& to) {
    const std::string_view host = without_last_dot(to.host);
    return std::any_of(no_proxy.begin(), no_proxy.end(),
                       [&](const std::string& entry) { return is_named_by(entry, host, to.port); });
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
            refusal_ = head_.status;
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
