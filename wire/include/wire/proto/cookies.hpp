// Cookies (RFC 6265) as a server reads and sets them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/limits.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/http_types.hpp"

namespace wire::http {

// What a client sent: views into the fields that were read, and valid as long as they are.
class cookie_list {
public:
    // All Cookie fields of a request. Read tolerantly, as what is stored elsewhere is out of the
    // server's hands: pieces without "=" or without a name are left out, values are taken as they
    // stand, quotes included. Error: too_many_cookies, beyond limits::max_cookies.
    static result<cookie_list> parse(const header_list& fields, const limits& l = {});

    // The first of that name: the one whose path fits best (RFC 6265 section 5.4). Names are
    // case-sensitive.
    std::optional<std::string_view> find(std::string_view name) const noexcept;

    auto begin() const noexcept { return list_.begin(); }
    auto end() const noexcept { return list_.end(); }
    std::size_t size() const noexcept { return list_.size(); }

private:
    std::vector<std::pair<std::string_view, std::string_view>> list_;
};

enum class same_site : std::uint8_t { unset, strict, lax, none };

// One Set-Cookie field. To remove a cookie set it again with the same path and domain and max_age
// 0.
struct set_cookie {
    std::string name{};
    std::string value{};
    std::string path{};    // empty: the browser takes the directory of the request's path
    std::string domain{};  // empty: this host alone
    // With neither this nor expires: until the browser ends.
    std::optional<std::chrono::seconds> max_age{};
    std::optional<std::chrono::sys_seconds> expires{};
    bool secure = false;
    bool http_only = false;
    http::same_site same_site = same_site::unset;

    // The field's value; bad_cookie, with the reason, for one that browsers would refuse or read as
    // something else: a name that is no token, a value with a control character, space, quote
    // inside, comma, semicolon or backslash (section 4.1.1; encode it first), a path that does not
    // begin with '/' or a domain with a character that none has, SameSite=None without Secure, and
    // the rules of the prefixes __Secure- (Secure) and __Host- (Secure, Path=/, no Domain;
    // draft-ietf-httpbis-rfc6265bis section 4.1.3).
    result<std::string> text() const;
};

}  // namespace wire::http
