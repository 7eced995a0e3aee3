// Cookies as a client keeps them: RFC 6265, and draft-ietf-httpbis-rfc6265bis ("bis") where that is
// clearer or stricter.
//
//     auto jar = std::make_shared<wire::http::cookie_jar>();
//     options.cookies = jar;   // of http::client_options and ws::dial_options: one jar for all of
//     them that share a thread
//
// There is no public suffix list: a Domain of a single label ("com", "localhost") is refused unless
// it is the host itself, but one like "co.uk" is not. So a server under co.uk can set cookies that
// all others under co.uk are sent; keep a jar of its own for each party where that matters. All
// requests count as of the same site (the program asks them on its own account), so SameSite is
// kept and told, and holds nothing back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/proto/cookies.hpp"
#include "wire/proto/url.hpp"

namespace wire::http {

// RFC 6265 section 6.1 asks for at least these. Beyond the first two the one that has not been used
// for longest goes; larger cookies are not kept.
struct cookie_limits {
    std::size_t max_per_domain = 50;
    std::size_t max_cookies = 3000;
    std::size_t max_bytes = 4096;  // name and value together
};

// Times are seconds since 1970, from whoever calls: the jar reads no clock.
class cookie_jar {
public:
    static constexpr std::int64_t session = std::numeric_limits<std::int64_t>::max();

    struct cookie {
        std::string name;
        std::string value;
        std::string domain;  // lower case, without a leading dot
        std::string path;
        std::int64_t expires = session;  // `session`: when the program ends
        bool host_only = true;           // for this host, not for those under it
        bool secure = false;
        bool http_only = false;
        http::same_site same_site = http::same_site::unset;
    };

    explicit cookie_jar(const cookie_limits& l = {}) noexcept : limits_(l) {}

    // One Set-Cookie field of an answer from `from`. errc::bad_cookie when it is not kept, with the
    // reason; a field that removes a cookie is no error.
    result<void> store(const url& from, std::string_view set_cookie, std::int64_t now);
    // All Set-Cookie fields of an answer; those that are not kept are passed over.
    void store_all(const url& from, const header_list& fields, std::int64_t now);
    // The value of the Cookie field for a request to `to`: longer paths first, then older cookies.
    // Empty: no field.
    std::string header(const url& to, std::int64_t now);

    std::size_t size() const noexcept { return size_; }
    std::vector<cookie> all() const;  // by domain, path and name
    void clear() noexcept;
    void clear_session();  // as at the end of a program

    // The cookies.txt of Netscape, which curl and others read and write. SameSite is not in it;
    // session cookies are.
    std::string save(std::int64_t now) const;
    // Adds to what there is, replacing what is the same. errc::bad_cookie with the number of the
    // line, and then nothing is added.
    result<void> load(std::string_view text, std::int64_t now);

private:
    struct entry {
        cookie c;
        std::uint64_t created;
        std::uint64_t used;
    };
    using entries = std::vector<entry>;

    result<void> keep(cookie c, std::int64_t now);
    bool would_hide_secure(const cookie& c) const;
    void make_room(entries& of_domain, std::int64_t now);
    void drop_expired(std::int64_t now);

    cookie_limits limits_;
    std::map<std::string, entries, std::less<>> domains_;
    std::size_t size_ = 0;
    std::uint64_t clock_ = 0;  // counts stores and uses, which seconds could not tell apart
};

}  // namespace wire::http
