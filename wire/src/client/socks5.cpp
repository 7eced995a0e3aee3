// The messages of SOCKS5. The states are listed in socks5.hpp.
#include "socks5.hpp"

#include <string_view>
#include <utility>

#include "wire/proto/ip_endpoint.hpp"

namespace wire::detail {

namespace {

constexpr std::uint8_t version = 5;
constexpr std::uint8_t password_version = 1;  // RFC 1929 section 2
constexpr std::size_t longest_name = 255;

enum method : std::uint8_t { no_user = 0, user_and_password = 2, none_of_these = 0xFF };
enum kind : std::uint8_t { ipv4 = 1, name = 3, ipv6 = 4 };

void append(buffer& out, std::size_t byte) { out.append(static_cast<char>(byte)); }

error failed(std::string why) { return {errc::proxy_failed, std::move(why)}; }

error no_socks5() { return failed("its answer is not SOCKS5 (is it a proxy of another kind?)"); }

// RFC 1928 section 6.
std::string_view meaning(std::uint8_t reply) noexcept {
    switch (reply) {
    case 1: return "general failure";
    case 2: return "not allowed by the proxy's rules";
    case 3: return "network unreachable";
    case 4: return "host unreachable";
    case 5: return "connection refused";
    case 6: return "TTL expired";
    case 7: return "the proxy does not make connections";
    case 8: return "the proxy does not know this kind of address";
    default: return "unknown reason";
    }
}

bool is_about_the_address(std::uint8_t reply) noexcept {
    return reply == 1 || (reply >= 3 && reply <= 6) || reply == 8;
}

}  // namespace

socks5_tunnel::socks5_tunnel(const proxy_server& proxy, std::string host, std::uint16_t port)
    : user_(proxy.user), password_(proxy.password), host_(std::move(host)), port_(port) {}

result<void> socks5_tunnel::begin(buffer& out) {
    if (host_.size() > longest_name)
        return error(errc::bad_url, "SOCKS5 carries names of at most 255 bytes");
    append(out, version);
    append(out, user_.empty() ? 1 : 2);
    append(out, no_user);
    if (!user_.empty()) append(out, user_and_password);
    return {};
}

result<bool> socks5_tunnel::receive(std::span<const char> bytes, buffer& out) {
    held_.append({bytes.data(), bytes.size()});
    while (state_ != state::open) {
        const auto used = state_ == state::method     ? take_method(out)
                          : state_ == state::password ? take_verdict(out)
                                                      : take_reply();
        if (!used) return used.error();
        if (*used == 0) return false;
        held_.consume(*used);
    }
    // No protocol that goes through a tunnel of ours lets the server speak first.
    if (!held_.empty()) return failed("it sent more than its answers");
    return true;
}

result<std::size_t> socks5_tunnel::take_method(buffer& out) {
    if (!held_.empty() && byte(0) != version) return no_socks5();
    if (held_.size() < 2) return std::size_t{0};
    if (byte(1) == none_of_these) {
        return failed(user_.empty() ? "it does not serve clients without user and password"
                                    : "it takes neither user and password nor their absence");
    }
    if (byte(1) == no_user) {
        ask(out);
    } else if (byte(1) == user_and_password && !user_.empty()) {
        append(out, password_version);
        append(out, user_.size());
        out.append(user_);
        append(out, password_.size());
        out.append(password_);
        state_ = state::password;
    } else {
        return failed("it chose the authentication method " + std::to_string(byte(1)) +
                      ", which was not offered");
    }
    return std::size_t{2};
}

result<std::size_t> socks5_tunnel::take_verdict(buffer& out) {
    if (!held_.empty() && byte(0) != password_version) return no_socks5();
    if (held_.size() < 2) return std::size_t{0};
    if (byte(1) != 0) return failed("it refused user and password");
    ask(out);
    return std::size_t{2};
}

// CONNECT (RFC 1928 section 4).
void socks5_tunnel::ask(buffer& out) {
    append(out, version);
    append(out, 1);  // CONNECT
    append(out, 0);
    const auto v4 = parse_ipv4(host_);
    if (const auto literal = v4 ? v4 : parse_ipv6(host_)) {
        append(out, literal->v6 ? ipv6 : ipv4);
        out.append({reinterpret_cast<const char*>(literal->bytes.data()),
                    literal->v6 ? std::size_t{16} : std::size_t{4}});
    } else {
        append(out, name);
        append(out, host_.size());
        out.append(host_);
    }
    append(out, port_ >> 8);
    append(out, port_ & 0xFF);
    state_ = state::reply;
}

// Judged byte by byte, as a proxy may send no more of a refusal than its code. The address that
// follows is the proxy's own, and of no use.
result<std::size_t> socks5_tunnel::take_reply() {
    if (!held_.empty() && byte(0) != version) return no_socks5();
    if (held_.size() < 2) return std::size_t{0};
    if (byte(1) != 0) {
        unreachable_ = is_about_the_address(byte(1));
        const bool literal = host_.find(':') != std::string::npos;
        return failed("no connection to " + (literal ? "[" + host_ + "]" : host_) + ":" +
                      std::to_string(port_) + ": " + std::string(meaning(byte(1))) +
                      " (SOCKS5 reply " + std::to_string(byte(1)) + ")");
    }
    if (held_.size() < 5) return std::size_t{0};
    std::size_t address = 0;
    switch (byte(3)) {
    case ipv4: address = 4; break;
    case name: address = 1 + std::size_t{byte(4)}; break;
    case ipv6: address = 16; break;
    default: return no_socks5();
    }
    const std::size_t whole = 4 + address + 2;
    if (held_.size() < whole) return std::size_t{0};
    state_ = state::open;
    return whole;
}

}  // namespace wire::detail
