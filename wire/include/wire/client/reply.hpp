// What an HTTP client asks (client_request) and what it gets (reply).
//
//     wire::http::client_request request;
//     request.method = wire::http::method::put;
//     request.url = "https://example.org/notes/1";
//     request.headers.push_back(wire::http::bearer_auth(token));
//     request.body = "text";
//     wire::result<wire::http::reply> got = client.send(std::move(request));
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/buffer.hpp"
#include "wire/base/export.hpp"
#include "wire/client/opening.hpp"
#include "wire/client/streaming.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/trailers.hpp"

namespace wire::http {

namespace detail {
struct reply_access;
}  // namespace detail

// Bounds on the phases of a request, each for itself, after those of opening a connection. When one
// passes the request ends with errc::timed_out, and the message names the phase.
struct client_timeouts : open_timeouts {
    // From the moment all of the request has been sent, or the response before it on the same
    // connection has ended, to the end of the response's head. A large `body` may take longer to
    // leave, as long as the server takes some of it in each such time.
    std::chrono::milliseconds response_timeout{30'000};
    // Between two pieces of the response's body, and of a request's body from a source; while both
    // are under way, between two of either. While the source has nothing (source_state::later) and
    // the server has taken all that it gave, no limit runs but total_timeout: a server that is gone
    // without a word is noticed when the source has something again.
    std::chrono::milliseconds body_timeout{30'000};
    // How long to wait for "100 Continue"; the body is then sent without it (RFC 9110
    // section 10.1.1).
    std::chrono::milliseconds continue_timeout{1'000};
    // From send() to the end of the reply, redirects and retries included. 0: no limit.
    std::chrono::milliseconds total_timeout{0};
};

// One request. The client takes it by value and needs nothing of it from the caller afterwards.
struct client_request {
    // Any but `connect` and `other`, which end with errc::bad_argument.
    http::method method = http::method::get;
    // "http://host[:port]/path?query" or https://, with characters that may not stand in a URL
    // percent-encoded; with_query() of wire/proto/url.hpp helps. Others end with errc::bad_url.
    std::string url = {};
    // Names and values of further fields, sent in this order. Content-Length, Transfer-Encoding and
    // Connection are the library's own and ignored here; Host replaces the one made from the URL,
    // User-Agent and Proxy-Authorization those of the client's options. Through a proxy's tunnel
    // (https, SOCKS) no Proxy-Authorization goes to the server. A name that is no token, or a value
    // with a control character, ends the request with an error before anything is sent.
    std::vector<std::pair<std::string, std::string>> headers = {};
    // Sent with its Content-Length.
    std::string body = {};
    // Asked for the body piece by piece, instead of `body`.
    body_source source = {};
    // With a source: asks with "Expect: 100-continue" whether the server wants the body, and waits
    // for its answer before sending any of it (client_timeouts::continue_timeout). A server that
    // answers 417 is asked again without it. Nothing is asked for a source of length 0.
    bool expect_continue = false;
    // Called on the loop's thread with each 1xx head but 101 that comes before the response, such
    // as 103 (Early Hints); limits::max_interim_responses bounds them. Its views die when it
    // returns. Without it they are skipped.
    std::function<void(const response_head&)> on_interim = {};
    // For this request instead of the client's.
    std::optional<client_timeouts> timeouts = {};
    // May be sent again although its method is not idempotent, by retries and when a kept
    // connection was closed: for servers that know a repeated request, by an idempotency key, say.
    bool repeatable = false;
};

// A request with these parts, and a Content-Type field unless `content_type` is empty.
inline client_request make_request(method m, std::string url, std::string body = {},
                                   std::string content_type = {}) {
    client_request r;
    r.method = m;
    r.url = std::move(url);
    r.body = std::move(body);
    if (!content_type.empty()) r.headers.emplace_back("Content-Type", std::move(content_type));
    return r;
}

// The Authorization field of Basic authentication (RFC 7617), for client_request::headers and
// ws::dial_options::headers. `user` must hold no ':', which would be read as the end of the name.
// Base64 hides nothing: without TLS everybody on the way can read the password.
WIRE_EXPORT std::pair<std::string, std::string> basic_auth(std::string_view user,
                                                           std::string_view password);
// The Authorization field for a bearer token (RFC 6750), which must fit into a field value.
WIRE_EXPORT std::pair<std::string, std::string> bearer_auth(std::string_view token);

// A redirect that was followed.
struct redirect {
    int status;       // 301, 302, 303, 307 or 308
    std::string url;  // the URL that was asked for and answered so
};

// A response. It owns its bytes: views that it gives are valid as long as it lives, and stay so
// when it is moved.
class reply {
public:
    // 200, 404 and so on; of the 1xx only 101.
    int status() const noexcept { return head_.status; }
    // The reason phrase as the server wrote it; may be empty.
    std::string_view reason() const noexcept { return head_.reason; }
    // All fields of the head, in the order in which they came.
    const header_list& headers() const noexcept { return head_.headers; }
    // The first field of that name, in any case.
    std::optional<std::string_view> header(std::string_view name) const noexcept {
        return head_.headers.find(name);
    }
    // The fields that followed a chunked body (trailers.hpp), but for those that may not. Ask for
    // them with a "TE: trailers" field in the request.
    const header_list& trailers() const noexcept {
        return trailers_ != nullptr ? trailers_->fields() : no_trailers_;
    }
    // The whole body; empty where it was given in pieces.
    std::string_view body() const noexcept { return body_.view(); }

    // What opening this reply's connection took, also when it was opened for an earlier request.
    const open_times& opening() const noexcept { return opening_; }
    // The connection had been opened for an earlier request.
    bool reused() const noexcept { return reused_; }

    // The URL that was answered: the request's, or the last that it was redirected to, with the
    // last fragment that was given.
    const std::string& url() const noexcept { return url_; }
    // The redirects followed, in order.
    const std::vector<redirect>& redirects() const noexcept { return redirects_; }
    // The client has undone the body's Content-Encoding (client_options::decompress). The fields
    // stay as they came: Content-Encoding and Content-Length describe what was sent.
    bool decoded() const noexcept { return decoded_; }

private:
    friend struct detail::reply_access;  // through which the client fills it in

    response_head head_;
    buffer head_bytes_;  // what head_ points into; its storage does not move with the reply
    buffer body_;
    open_times opening_;
    bool reused_ = false;
    bool decoded_ = false;
    inline static const header_list no_trailers_;
    std::unique_ptr<trailer_list> trailers_;  // null without any
    std::string url_;
    std::vector<redirect> redirects_;
};

}  // namespace wire::http
