// Cookies of requests and responses.
#include "wire/proto/cookies.hpp"

#include "exchange.hpp"
#include "wire/server/forms.hpp"

namespace wire::http {

result<cookie_list> cookies(const request& r, const limits& l) {
    return cookie_list::parse(r.headers(), l);
}

response& response::cookie(const set_cookie& c) {
    const auto text = c.text();
    if (text) return header("Set-Cookie", *text);
    exchange_->refused = true;
    return *this;
}

}  // namespace wire::http
