// Opens a stream to where a URL points: name look-up, race of addresses, tunnel through a proxy,
// TLS. Each phase has its time limit.
//
//     phase       ends with                  next phase
//     destination the server's addresses,    resolve
//                 where a SOCKS5 proxy is
//                 to be given one
//     resolve     the addresses to connect   connect; at once with addresses that are kept
//                 to: the server's, or the
//                 proxy's
//     connect     a socket                   proxy_tls with an https:// proxy; else proxy where a
//                                            tunnel is needed; else tls; else finished
//     proxy_tls   the proxy's handshake      proxy where a tunnel is needed; else finished
//     proxy       2xx to CONNECT, or the     tls; else finished; connect where a SOCKS5 proxy could
//                 success of SOCKS5          not reach an address and the server has another
//     tls         the server's handshake     finished
//     done        -                          finished, by the timer: the handshake inside a tunnel
//                                            ends in the stream's filter, which must not be
//                                            destroyed from there
//
// Literal addresses are not looked up. A Unix socket begins with connect. Kept addresses to none of
// which a connection can be made lead back to resolve, once. A connection that breaks in its first
// TLS handshake goes back to connect for the addresses that are left, unless its certificate was
// wrong. Any other error, and each time limit, closes the stream and gives the callback the error,
// which names the proxy where it is the one that failed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "connector.hpp"
#include "name_cache.hpp"
#include "proxy.hpp"
#include "proxy_filter.hpp"
#include "resolver.hpp"
#include "socks5.hpp"
#include "wire/base/limits.hpp"
#include "wire/client/opening.hpp"
#include "wire/loop/stream.hpp"

namespace wire::detail {

// Where a connection leads to, and by which proxy.
struct route {
    std::string host;  // the server that the URL names
    std::uint16_t port = 0;
    bool secure = false;     // TLS with that server
    bool tunnelled = false;  // only with a proxy
    std::optional<proxy_server> proxy;
};

// Whether options.proxy is itself sent the request for `to`, instead of being asked for a tunnel:
// an HTTP proxy and a plain http URL.
bool is_forwarded(const url& to, const open_options& options);

// The route to `to` by these options; errc::bad_url for a malformed proxy.
result<route> route_to(const url& to, const open_options& options);

// What the streams of one client share.
struct opening_base {
    explicit opening_base(event_loop& l) noexcept : loop(&l), names(l) {}
    // `chosen`, or a context that is made when first needed.
    result<std::shared_ptr<wire::tls::client_context>> tls_of(
        const std::shared_ptr<wire::tls::client_context>& chosen);

    event_loop* loop;
    bool blocking = false;  // the loop is detail::blocking_loop()'s
    resolver names;
    std::optional<name_cache> cache;  // none: each look-up by itself
    std::shared_ptr<wire::tls::client_context> tls;
};

// Owned by the connection whose stream it opens. That connection passes the stream's callbacks on
// to it until `done` is called. Everything that it is given must outlive it.
class opener {
public:
    using callback = unique_function<void(result<open_times>)>;

    opener(stream& s, opening_base& base, const open_options& options,
           const open_timeouts& timeouts, const limits& bounds, route to);

    // `done` is called once, from the loop, never from inside, and may destroy the opener. After an
    // error the stream is closed.
    void start(callback done);

    // After errc::proxy_failed: the status with which the proxy has refused, 502 where one of
    // SOCKS5 could not reach the server; 0 for all else.
    int refusal() const noexcept;

    void on_open();
    void on_data(std::span<char> bytes);
    void on_end();
    void on_failure(const error& why);

private:
    enum class phase : std::uint8_t { destination, resolve, connect, proxy_tls, proxy, tls, done };

    // Whom the name look-up of a phase is for.
    const std::string& host(phase p) const noexcept;
    std::uint16_t port(phase p) const noexcept;
    void find(phase p);
    void look_up(phase p);
    void looked_up(phase p, const result<std::vector<address>>& answer);
    void found(phase p, const std::vector<address>& addresses);
    bool look_up_again();
    connector& make_connector();
    void race(std::vector<address> addresses);
    void connected(result<unique_fd> socket);
    result<std::unique_ptr<wire::tls::connection>> tls_with_server();
    result<std::unique_ptr<wire::tls::connection>> tls_with_proxy();
    void ask_for_tunnel();
    bool try_next_destination();
    void secured();
    void enter(phase p, std::chrono::milliseconds limit);
    std::chrono::nanoseconds lap() noexcept;
    void on_timer();
    void finish();
    void fail(error why);

    stream* stream_;
    opening_base* base_;
    const open_options* options_;
    open_timeouts timeouts_;
    const limits* bounds_;
    route to_;
    callback done_;
    std::optional<connector> connector_;
    std::optional<tunnel> tunnel_;
    std::optional<socks5_tunnel> socks_;
    // For a SOCKS5 proxy that is given addresses: the server's that are left, the next one last,
    // and the proxy's own.
    std::vector<address> destinations_;
    std::vector<address> proxies_;
    proxy_filter* with_proxy_ = nullptr;  // the stream's filter where the proxy speaks TLS
    std::shared_ptr<char> looking_up_;    // gone with the opener
    open_times times_;
    time_point since_{};
    phase phase_ = phase::resolve;
    bool kept_ = false;  // the addresses are the cache's, not a look-up's of our own
    timer timer_ = timer::calling<&opener::on_timer>(this);
};

}  // namespace wire::detail
