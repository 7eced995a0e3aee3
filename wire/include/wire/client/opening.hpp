// How the clients open a connection: name look-up, connecting to one of the addresses, a proxy,
// TLS. The options of http::client_options and ws::dial_options that concern it, its time limits,
// and what it took.
//
//     wire::http::client_options options;
//     options.connect_timeout = std::chrono::seconds(2);
//     options.proxy = "http://proxy.example:3128";
//     options.no_proxy = {"localhost", ".internal"};
//
// No proxy is used unless `proxy` names one: nothing is read from the environment.
#pragma once

#include <chrono>
#include <cstddef>
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

// Bounds on the phases of opening a connection, each for itself. When one passes the error is
// errc::timed_out, and its message names the phase: "name look-up", "connect", "proxy" or "TLS
// handshake".
struct open_timeouts {
    // The look-up of the host's name, or of the proxy's; with socks5:// of each.
    std::chrono::milliseconds resolve_timeout{10'000};
    // All addresses together.
    std::chrono::milliseconds connect_timeout{5'000};
    // From asking the proxy for a tunnel to the end of its answer; with socks5:// for each address
    // of the server that it is asked for.
    std::chrono::milliseconds proxy_timeout{10'000};
    // The handshake with the server, and as long again for one with an https:// proxy.
    std::chrono::milliseconds tls_timeout{5'000};
};

// How to get to the server.
struct open_options {
    // How long a connection attempt may stay undecided before the next address is tried beside it
    // (happy eyeballs, RFC 8305). IPv6 and IPv4 addresses alternate, an attempt that fails starts
    // the next at once, and the first to succeed wins. Less than 10 ms counts as 10 ms (section 5).
    std::chrono::milliseconds attempt_delay{250};
    // Options of the sockets themselves.
    connect_options connect = {};

    // Connect to this Unix socket whatever the URL's host is, as curl's --unix-socket does, also
    // where redirects lead; empty: by TCP. A path, or "@name" in Linux's abstract namespace. A
    // relative path starts at the working directory at the time of each connection: give an
    // absolute one where the program calls chdir(). The URL still gives the Host field and, for
    // https and wss, the name that the certificate must be for. No name is looked up and no proxy
    // is used. While the server's queue of connections is full the client tries again, for
    // connect_timeout.
    std::string unix_socket = {};

    // Empty: no proxy. Otherwise one of
    // - "http://[user:password@]host:port", or https:// for TLS with the proxy itself. Requests for
    //   http URLs are sent to the proxy (RFC 9112 section 3.2.2); for https, ws and wss it is asked
    //   for a tunnel (RFC 9110 section 9.3.6);
    // - "socks5h://[user:password@]host[:port]", port 1080 unless given: SOCKS5 (RFC 1928), asked
    //   for a tunnel in every case. The proxy looks the server's name up, and nobody else does;
    // - "socks5://...", the same for proxies that cannot or should not: the name is looked up here.
    //   If the proxy cannot reach an address, it is asked for another, up to four in all.
    // User and password reach an http:// or SOCKS5 proxy unencrypted. Percent-encode them where
    // they hold `@`, `:` or `/`; for SOCKS5 each has at most 255 bytes (RFC 1929). Malformed text
    // ends requests with errc::bad_url. Errors name the proxy when it is the one that failed.
    std::string proxy = {};
    // Hosts that are connected to directly, in the forms of NO_PROXY: "example.org" (it and all
    // names under it), ".example.org" or "*.example.org" (only names under it), an address, a
    // network in CIDR notation ("192.168.0.0/16", "fd00::/8"), "*" (all); each with ":port" or
    // without, then with IPv6 in brackets. Case, white space around it, a dot at the end of a name,
    // and bits beyond a network's prefix do not matter. What is none of these names nothing.
    //
    // Hosts that are given by their address are named by an address or a network only, never by the
    // end of one (".0.1"), as with curl; and networks name no others: no name is looked up for it.
    std::vector<std::string> no_proxy = {};

    // TLS with the server, for https and wss. Null: certificates are verified with the system's
    // authorities.
    std::shared_ptr<wire::tls::client_context> tls = {};
    // TLS with an https:// proxy, whose certificate must be for the proxy's own name. Null: `tls`,
    // which then should have no server_name; its client certificate, if it has one, is shown to the
    // proxy too when that asks.
    std::shared_ptr<wire::tls::client_context> proxy_tls = {};

    // Looks names up instead of the system. Runs on another thread, several at a time, and may
    // block; it must be safe to call until the client is destroyed. Address literals are not looked
    // up; nor, unless this is set, is "localhost", which is ::1 and 127.0.0.1 whatever the system's
    // tables say (RFC 6761 section 6.3). An error, an empty list, or an exception ends the request.
    std::function<result<std::vector<address>>(const std::string& host, std::uint16_t port)>
        resolve = {};
};

// What an HTTP client keeps of its name look-ups. Nothing by default: the system's resolver knows
// how long each answer is valid and tells nobody (getaddrinfo() gives no TTL), so that a client
// which keeps answers may go to a server's old address for as long as it is told to.
//
// Keep answers where new connections are frequent and the system asks a name server for each. What
// is kept is dropped when no connection can be made with it: to none of the addresses, which are
// then looked up anew for the same request, or because of TLS. Look-ups of one name that run at the
// same time are one, whatever the options.
struct name_cache_options {
    // How long addresses are kept, at most 24 hours; 0: neither they nor failures are. A bound on
    // how late the client follows a change.
    std::chrono::milliseconds lifetime{0};
    // How long it is kept that a name has no address; 0: not at all. Short, as the cause may be a
    // moment's.
    std::chrono::milliseconds failure_lifetime{1'000};
    // Names, each with a port; one more replaces the one whose time is over first.
    std::size_t max_names = 256;
};

// How long each phase of opening a connection took; zero for one that was not needed.
struct open_times {
    // The name look-up, with the wait for a look-up thread or for a look-up that runs already; a
    // second one after kept addresses that were useless is added.
    std::chrono::nanoseconds resolve{};
    // All attempts together, until one succeeded.
    std::chrono::nanoseconds connect{};
    // TLS with the proxy, and the conversation that opened the tunnel.
    std::chrono::nanoseconds proxy{};
    // The handshake with the server.
    std::chrono::nanoseconds tls{};
};

}  // namespace wire
