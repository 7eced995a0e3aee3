// A request as handlers see it, whatever version of HTTP it came by.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/loop/address.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/tls/connection.hpp"

namespace wire::http {

namespace detail {
class connection;
struct exchange;
}  // namespace detail

// Owned by its response: everything here is valid until that is sent or destroyed, on any thread.
class request {
public:
    http::method method() const noexcept { return head_.method; }
    std::string_view method_text() const noexcept { return head_.method_text; }
    std::string_view target() const noexcept { return head_.target; }  // as received
    std::string_view path() const noexcept { return head_.path; }      // not decoded
    std::string_view query() const noexcept { return head_.query; }    // after '?', not decoded
    std::string_view authority() const noexcept {
        return head_.authority;
    }  // host and port it was meant for

    int minor_version() const noexcept { return head_.minor_version; }  // HTTP/1.x

    const header_list& headers() const noexcept { return head_.headers; }
    std::optional<std::string_view> header(std::string_view name) const noexcept {
        return head_.headers.find(name);
    }

    std::string_view body() const noexcept { return body_; }

    // Whom it came from: the other end of the connection, which may be a proxy.
    const address& peer() const noexcept { return peer_; }
    // What was agreed on by TLS, with the common name of the client's certificate where one was
    // asked for; null without TLS.
    const wire::tls::connection_info* tls() const noexcept { return tls_ ? &*tls_ : nullptr; }

    // What a route's {name} or {name...} matched, as received; "" for a name the route does not
    // have.
    std::string_view param(std::string_view name) const noexcept;
    // The same, percent-decoded ('+' stays); bad_url when that cannot be done. What comes out may
    // hold '/' and NUL.
    result<std::string> decoded_param(std::string_view name) const;

private:
    friend class detail::connection;
    friend struct detail::exchange;
    friend class router;
    friend class response;

    // Copies the bytes that `head_` points into, `raw`, and points it into the copy.
    void keep(std::string_view raw);
    // The same with what belongs to the connection, which may go before this.
    void keep(const wire::tls::connection_info& info);
    void clear() noexcept;

    request_head head_;
    std::string raw_;
    std::string body_;
    std::vector<std::pair<std::string_view, std::string_view>> params_;
    address peer_;
    std::optional<wire::tls::connection_info> tls_;
    std::string tls_text_;  // what tls_ points to
};

}  // namespace wire::http
