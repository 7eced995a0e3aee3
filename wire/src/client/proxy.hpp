// Which proxy a request goes through, and the CONNECT conversation that opens a tunnel.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/buffer.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/url.hpp"

namespace wire::detail {

struct proxy_server {
    std::string host;
    std::uint16_t port = 0;
    bool secure = false;        // TLS with the proxy itself
    std::string authorization;  // the value of Proxy-Authorization, or empty

    // Only with SOCKS5 (socks5.hpp).
    bool socks = false;
    bool looks_up_names = false;  // the servers'; otherwise it is given their addresses
    std::string user;             // empty: none
    std::string password;

    std::string name() const { return host + ":" + std::to_string(port); }
};

// "http://[user:password@]host[:port]", or https://, socks5:// or socks5h://; errc::bad_url. The
// message does not repeat the password.
result<proxy_server> parse_proxy(std::string_view text);

// Whether an entry of `no_proxy` names the host of `to`.
bool goes_direct(const std::vector<std::string>& no_proxy, const url& to);

// CONNECT (RFC 9110 section 9.3.6), from the client's side. Sans-IO.
class tunnel {
public:
    tunnel(const proxy_server& proxy, std::string host, std::uint16_t port, const limits& bounds);

    // Appends the request.
    void ask(buffer& out) const;
    // True when the tunnel is open, false while more bytes are needed. errc::proxy_failed when the
    // proxy refuses, or sends more than its answer; otherwise the error of the answer's syntax. The
    // answer's head is bounded as every response's is.
    result<bool> receive(std::span<const char> bytes);
    // The status with which the proxy has refused; 0 where it has not, or was not understood.
    int refusal() const noexcept { return refusal_; }

private:
    proxy_server proxy_;
    std::string authority_;
    limits bounds_;
    http::response_parser parser_;
    http::response_head head_;
    buffer held_;
    int refusal_ = 0;
};

}  // namespace wire::detail
