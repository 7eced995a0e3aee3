// What a client asks and what it gets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/buffer.hpp"
#include "wire/proto/http_parser.hpp"

namespace wire::http {

struct client_request {
    http::method method = http::method::get;
    std::string url;  // http://host[:port]/path?query, characters that may not stand in a URL percent-encoded
    // Content-Length, Transfer-Encoding and Connection are the library's own and ignored here.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
};

class reply {
public:
    int status() const noexcept { return head_.status; }
    std::string_view reason() const noexcept { return head_.reason; }
    const header_list& headers() const noexcept { return head_.headers; }
    std::optional<std::string_view> header(std::string_view name) const noexcept { return head_.headers.find(name); }
    std::string_view body() const noexcept { return body_.view(); }

private:
    friend class client_connection;
    response_head head_;
    buffer raw_;   // the bytes that head_ points into; they do not move with the reply
    buffer body_;
};

}  // namespace wire::http
