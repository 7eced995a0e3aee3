// What a client asks and what it gets.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/buffer.hpp"
#include "wire/client/opening.hpp"
#include "wire/client/streaming.hpp"
#include "wire/proto/http_parser.hpp"

namespace wire::http {

// Bounds on the phases of a request, each for itself; the error is errc::timed_out and its message
// names the phase.
struct client_timeouts : open_timeouts {
    // From the request, or the answer before it, to the end of the response's head.
    std::chrono::milliseconds response_timeout{30'000};
    // Between two pieces of its body, and of a request's from a source.
    std::chrono::milliseconds body_timeout{30'000};
    // For 100 (Continue), then the body is sent without (RFC 9110 section 10.1.1).
    std::chrono::milliseconds continue_timeout{1'000};
    // From send() to the end, redirects and retries included; 0: none.
    std::chrono::milliseconds total_timeout{0};
};

struct client_request {
    http::method method = http::method::get;
    // Http://host[:port]/path?query, characters that may not stand in a URL percent-encoded.
    std::string url;
    // Content-Length, Transfer-Encoding and Connection are the library's own and ignored here.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    body_source source;  // instead of `body`
    bool expect_continue =
        false;  // with a source: ask first whether the server wants it (Expect: 100-continue)
    std::optional<client_timeouts> timeouts;  // instead of the client's
    // For retries: may be sent again although its method is not idempotent (it has a key that the
    // server tells repeats by, say).
    bool repeatable = false;
};

// With a Content-Type when there is a type.
inline client_request make_request(method m, std::string url, std::string body = {},
                                   std::string content_type = {}) {
    client_request r;
    r.method = m;
    r.url = std::move(url);
    r.body = std::move(body);
    if (!content_type.empty()) r.headers.emplace_back("Content-Type", std::move(content_type));
    return r;
}

// Fields for client_request::headers and ws::dial_options::headers. Basic (RFC 7617): a user name
// with ':' cannot be told from its password, and the server will not know it. Without TLS everybody
// on the way can read them.
std::pair<std::string, std::string> basic_auth(std::string_view user, std::string_view password);
std::pair<std::string, std::string> bearer_auth(std::string_view token);  // RFC 6750

// A redirect that was followed.
struct redirect {
    int status;
    std::string url;  // that was asked for and answered so
};

class reply {
public:
    int status() const noexcept { return head_.status; }
    std::string_view reason() const noexcept { return head_.reason; }
    const header_list& headers() const noexcept { return head_.headers; }
    std::optional<std::string_view> header(std::string_view name) const noexcept {
        return head_.headers.find(name);
    }
    std::string_view body() const noexcept { return body_.view(); }

    // What it took to open the connection that this came by.
    const open_times& opening() const noexcept { return opening_; }
    // The connection had been opened for an earlier request.
    bool reused() const noexcept { return reused_; }

    // What has answered: the URL asked for, or the last that it was redirected to, with the
    // fragment of the last that had one.
    const std::string& url() const noexcept { return url_; }
    const std::vector<redirect>& redirects() const noexcept { return redirects_; }  // in order
    // body(), or what is given in pieces, is not as it was sent but decoded, from the coding that
    // the Content-Encoding field names; Content-Length, too, is of what was sent. The fields stay
    // as they came.
    bool decoded() const noexcept { return decoded_; }

private:
    friend class client_policy;
    friend class client_connection;
    response_head head_;
    buffer raw_;  // the bytes that head_ points into; they do not move with the reply
    buffer body_;
    open_times opening_;
    bool reused_ = false;
    bool decoded_ = false;
    std::string url_;
    std::vector<redirect> redirects_;
};

}  // namespace wire::http
