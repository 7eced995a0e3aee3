// How the clients get to a server: name look-up, a race of its addresses, a proxy, TLS; what each
// may take, and what it took.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/loop/address.hpp"
#include "wire/loop/socket.hpp"
#include "wire/tls/client_context.hpp"

namespace wire {

// Bounds on the phases of opening a connection, each for itself. The error is errc::timed_out, and
// its message names the phase: "name look-up", "connect", "proxy", "TLS handshake".
struct open_timeouts {
    std::chrono::milliseconds resolve_timeout{10'000};
    std::chrono::milliseconds connect_timeout{5'000};  // all addresses together
    std::chrono::milliseconds proxy_timeout{10'000};   // from CONNECT to the proxy's answer
    std::chrono::milliseconds tls_timeout{
        5'000};  // with the server, and as long with an https:// proxy
};

struct open_options {
    // Happy eyeballs (RFC 8305): the host's addresses are tried with the families in turn, the next
    // one when the last has failed or has not answered for this long, whichever is first; the first
    // to answer is taken. At least 10 ms (section 5).
    std::chrono::milliseconds attempt_delay{250};
    connect_options connect;

    // "http://[user:password@]host:port", or https:// for TLS with the proxy itself; none when
    // empty. http URLs are asked of the proxy itself (RFC 9112 section 3.2.2), for https, ws and
    // wss it is asked for a tunnel (RFC 9110 section 9.3.6). User and password percent-encoded
    // where they hold `@`, `:` or `/`. Errors name the proxy when it is the one that failed.
    std::string proxy;
    // Hosts that are not asked of the proxy: "example.org" and all under it, ".example.org" only
    // those, an address literal, each with ":port" or without, "*" for all.
    std::vector<std::string> no_proxy;

    // For https and wss; null: certificates are verified with the system's authorities.
    std::shared_ptr<wire::tls::client_context> tls;
    // For an https:// proxy, whose certificate has to be of its own name; null: `tls`, which then
    // should have no server_name, and whose certificate, if it has one, is shown to the proxy too
    // when it asks.
    std::shared_ptr<wire::tls::client_context> proxy_tls;

    // Instead of the system's look-up, for names of one's own. Runs on another thread and may
    // block. Literals are not asked for.
    std::function<result<std::vector<address>>(const std::string& host, std::uint16_t port)>
        resolve;
};

// What the phases took; zero for one that was not needed.
struct open_times {
    std::chrono::nanoseconds resolve{};
    std::chrono::nanoseconds connect{};  // of the whole race
    std::chrono::nanoseconds proxy{};    // TLS with it, and its answer to CONNECT
    std::chrono::nanoseconds tls{};
};

}  // namespace wire
