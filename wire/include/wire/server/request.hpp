// A request as handlers see it, whatever version of HTTP it came by.
//
//     routes.get("/notes/{name}", [](http::response res) {
//         const http::request& req = res.request();
//         const std::string_view name = req.param("name");
//         const auto accepts = req.header("Accept");  // nullopt when there is no such field
//         ...
//     });
//
// forms.hpp reads queries, forms and cookies out of a request.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/loop/address.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/trailers.hpp"
#include "wire/tls/connection.hpp"

namespace wire::http {

namespace detail {

// What trusted proxies say of a request's client; empty where they say nothing.
struct client_view {
    address from;
    std::string_view scheme;
    std::string_view authority;
};

}  // namespace detail

// One request. Owned by its response: the request, and all views that it gives, are valid until
// that response is sent or destroyed. Handlers read it on any thread, one at a time.
class WIRE_EXPORT request {
public:
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    // method::other for one that wire has no name for; method_text() then tells.
    http::method method() const noexcept { return head_.method; }
    std::string_view method_text() const noexcept { return head_.method_text; }
    // The request target as received: a path with its query, or one of the other three forms of RFC
    // 9112 section 3.2.
    std::string_view target() const noexcept { return head_.target; }
    // The target's path as routes, middleware and serve_files() see it: percent-decoded, once, so
    // that "/ech%6F" is "/echo"; "*" for OPTIONS *. May hold any byte but NUL, also '%', '?' and
    // control characters: encode it anew where it goes into a URL (target() is as it came).
    //
    // It names one resource only. Requests whose path could be read in two ways have been refused
    // with 400: '%' without two hexadecimal digits, "%2F" and "%00", and the segments "." and "..",
    // also encoded. Empty segments ("//") stay: see router.hpp.
    std::string_view path() const noexcept { return head_.path; }
    // What follows '?' in the target, not decoded; "" without one. query() in forms.hpp parses it.
    std::string_view query() const noexcept { return head_.query; }
    // The host, with its port if one was given, that the request was meant for: of the target if
    // that names one, else of the Host field.
    std::string_view authority() const noexcept { return head_.authority; }

    // 1 for HTTP/1.1, 0 for HTTP/1.0.
    int minor_version() const noexcept { return head_.minor_version; }

    // All fields, in the order in which they came.
    const header_list& headers() const noexcept { return head_.headers; }
    // The first field of that name, in any case of letters, without white space around its value.
    std::optional<std::string_view> header(std::string_view name) const noexcept {
        return head_.headers.find(name);
    }

    // The whole body, without chunk framing. Empty where the body comes in pieces (body.hpp), and
    // after response::take_body().
    std::string_view body() const noexcept { return body_; }

    // The fields that followed a chunked body (trailers.hpp), but for those that may not; none for
    // other bodies. Of a body that is read in pieces they are there when its end handler is called:
    // do not ask before. They are the sender's word only, as the head is.
    const header_list& trailers() const noexcept;

    // The other end of the connection, which may be a proxy; with server_options::proxy_protocol,
    // whom the proxy made the connection for. Stays when the connection has gone.
    const address& peer() const noexcept { return peer_; }
    // The proxy that named peer() by the PROXY protocol; null where none did.
    const address* proxied_by() const noexcept { return proxied_by_ ? &*proxied_by_ : nullptr; }

    // The client, its scheme and the authority that it asked for, as far as trusted proxies say so
    // in the fields that server_options::forwarded_fields names; else peer(), "https" with TLS and
    // "http" without, and authority(). Where a proxy names no address, or a malformed one, the
    // proxy's own is the client's: give no rights to addresses of proxies. The port is 0 where
    // proxies do not tell it.
    const address& client_address() const noexcept { return client_ ? client_->from : peer_; }
    std::string_view client_scheme() const noexcept {
        if (client_ && !client_->scheme.empty()) return client_->scheme;
        return tls_ ? "https" : "http";
    }
    std::string_view client_authority() const noexcept {
        return client_ && !client_->authority.empty() ? client_->authority : head_.authority;
    }

    // The TLS version, cipher and protocol in use, and the common name of the client's certificate
    // where one was asked for; null without TLS. Stays when the connection has gone.
    const wire::tls::connection_info* tls() const noexcept { return tls_ ? &*tls_ : nullptr; }

    // What a route's {name} or {name...} matched in path(), decoded with it ('+' stays): do not
    // decode it again. "" for a name that the route does not have, or without a router. {name}
    // never holds '/', as "%2F" is refused: values that need one go into the query, or last, as
    // {name...}. That one may hold empty segments and begin with '/': take that off before you join
    // it to a folder.
    std::string_view param(std::string_view name) const noexcept;
    // A copy of param(), for code that was written when that was not decoded. Never fails.
    result<std::string> decoded_param(std::string_view name) const;

protected:
    // A request is always the base of a detail::received_request, which the server fills.
    request() = default;
    ~request() = default;

    request_head head_;  // its views lie in memory of the derived class
    std::string body_;
    std::vector<std::pair<std::string_view, std::string_view>> params_;  // of the route
    address peer_;
    std::optional<address> proxied_by_;
    std::optional<detail::client_view> client_;  // only when the peer is a trusted proxy
    std::optional<wire::tls::connection_info> tls_;
    std::unique_ptr<trailer_list> trailers_;  // null without any
};

}  // namespace wire::http
