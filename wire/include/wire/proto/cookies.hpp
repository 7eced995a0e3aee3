// Cookies (RFC 6265) as a server reads and sets them. A client's are in wire/client/cookie_jar.hpp.
//
//     auto cookies = wire::http::cookie_list::parse(request.headers);
//     if (cookies && cookies->find("session") == known) ...
//
//     const wire::http::set_cookie c{.name = "session", .value = id, .path = "/", .secure = true};
//     response.cookie(c);
#pragma once

#ifdef WIRE_WITHOUT_COOKIES
#error "this wire was built without cookies: build it with -D WIRE_WITH_COOKIES=ON"
#endif

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// The cookies that a client sent: views into the fields that were read, and valid as long as they
// are.
class WIRE_EXPORT cookie_list {
public:
    // Reads all Cookie fields of a request. Tolerant, because what browsers have stored is out of
    // the server's hands: pieces without "=" or without a name are left out, values are taken as
    // they stand, quotes included. errc::too_many_cookies beyond limits::max_cookies.
    static result<cookie_list> parse(const header_list& fields, const limits& l = {});

    // The value of the first cookie of that name: the one whose path fits best (RFC 6265
    // section 5.4). Names are case-sensitive.
    std::optional<std::string_view> find(std::string_view name) const noexcept;

    // Pairs of name and value, in the order in which they came.
    auto begin() const noexcept { return list_.begin(); }
    auto end() const noexcept { return list_.end(); }
    std::size_t size() const noexcept { return list_.size(); }

private:
    std::vector<std::pair<std::string_view, std::string_view>> list_;
};

// The SameSite attribute; `unset` leaves it out, and browsers then take lax.
enum class same_site : std::uint8_t { unset, strict, lax, none };

// One Set-Cookie field. To remove a cookie set it again with the same path and domain and a max_age
// of 0.
struct WIRE_EXPORT set_cookie {
    std::string name{};   // a token
    std::string value{};  // encoded by the caller where it holds other characters than text() takes
    // Empty: the browser takes the directory of the request's path.
    std::string path{};
    // Empty: this host alone; otherwise all hosts under it too.
    std::string domain{};
    // Lifetime from now on. With neither this nor expires the cookie ends with the browser.
    std::optional<std::chrono::seconds> max_age{};
    // The moment at which it ends; max_age wins where both are given.
    std::optional<std::chrono::sys_seconds> expires{};
    bool secure = false;     // sent over TLS only
    bool http_only = false;  // hidden from scripts
    http::same_site same_site = same_site::unset;

    // The field's value. errc::bad_cookie, with the reason, for a cookie that browsers would refuse
    // or read as something else:
    // - a name that is no token;
    // - a value with a control character, space, quote inside, comma, semicolon or backslash
    //   (section 4.1.1; encode it first);
    // - a path that does not begin with '/', a domain with a character that none has;
    // - SameSite=None without Secure;
    // - a name that begins with __Secure- without Secure, or with __Host- without Secure, Path=/
    //   and an empty domain (draft-ietf-httpbis-rfc6265bis section 4.1.3).
    result<std::string> text() const;
};

}  // namespace wire::http
