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
#include "wire/proto/http_parser.hpp"

namespace wire::http {

// Bounds on the phases of a request, each for itself; the error is errc::timed_out and its message names the phase.
struct client_timeouts : open_timeouts {
    std::chrono::milliseconds response_timeout{30'000};  // from the request to the end of the response's head
    std::chrono::milliseconds body_timeout{30'000};      // between two pieces of its body
};

struct client_request {
    http::method method = http::method::get;
    std::string url;  // http://host[:port]/path?query, characters that may not stand in a URL percent-encoded
    // Content-Length, Transfer-Encoding and Connection are the library's own and ignored here.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    std::optional<client_timeouts> timeouts;  // instead of the client's
};

class reply {
public:
    int status() const noexcept { return head_.status; }
    std::string_view reason() const noexcept { return head_.reason; }
    const header_list& headers() const noexcept { return head_.headers; }
    std::optional<std::string_view> header(std::string_view name) const noexcept { return head_.headers.find(name); }
    std::string_view body() const noexcept { return body_.view(); }

    // What it took to open the connection that this came by.
    const open_times& opening() const noexcept { return opening_; }
    // The connection had been opened for an earlier request.
    bool reused() const noexcept { return reused_; }

private:
    friend class client_connection;
    response_head head_;
    buffer raw_;   // the bytes that head_ points into; they do not move with the reply
    buffer body_;
    open_times opening_;
    bool reused_ = false;
};

}  // namespace wire::http
