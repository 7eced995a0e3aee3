// Cookies as a client keeps them: RFC 6265, and draft-ietf-httpbis-rfc6265bis ("bis") where that is
// clearer or stricter.
//
//     wire::http::client_options options;
//     options.cookies = std::make_shared<wire::http::cookie_jar>();
//     // ws::dial_options has the same member: one jar may serve all clients of a thread.
//
// There is no public suffix list, which would be out of date: a Domain of a single label ("com",
// "localhost") is refused unless it is the host itself, but one like "co.uk" is not. So a server
// under co.uk can set cookies that all others under co.uk are sent; keep a jar of its own for each
// party where that matters.
//
// Every request counts as same-site, since the program asks on its own account: SameSite is stored
// and reported, but holds no cookie back.
#pragma once

#ifdef WIRE_WITHOUT_COOKIES
#error "this wire was built without cookies: build it with -D WIRE_WITH_COOKIES=ON"
#endif

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/export.hpp"
#include "wire/base/result.hpp"
#include "wire/proto/cookies.hpp"
#include "wire/proto/url.hpp"

namespace wire::http {

// How much one jar keeps. RFC 6265 section 6.1 asks for at least these numbers.
struct cookie_limits {
    // Cookies of one domain. Beyond it the one that was not used for longest is dropped, those
    // without Secure first.
    std::size_t max_per_domain = 50;
    // Cookies of all domains together. Beyond it the one that was not used for longest is dropped.
    std::size_t max_cookies = 3000;
    // Name and value together; a larger cookie is not kept.
    std::size_t max_bytes = 4096;
};

// Belongs to one thread at a time. Reads no clock: `now`, and all other times, are seconds since
// 1970 (Unix time) that the caller brings.
class WIRE_EXPORT cookie_jar {
public:
    // What cookie::expires holds for a session cookie, which lives until the program ends.
    static constexpr std::int64_t session = std::numeric_limits<std::int64_t>::max();

    // One stored cookie, as all() reports it.
    struct cookie {
        std::string name;
        std::string value;
        std::string domain;  // lower case, without a leading dot
        std::string path;    // begins with '/'
        std::int64_t expires = session;
        bool host_only = true;   // for this host, not for those under it
        bool secure = false;     // only with https and wss
        bool http_only = false;  // hidden from scripts, which means nothing here
        http::same_site same_site = http::same_site::unset;
    };

    explicit cookie_jar(const cookie_limits& l = {}) noexcept : limits_(l) {}

    // Stores what one Set-Cookie field of an answer from `from` says. errc::bad_cookie, with the
    // reason in its message, when the cookie is not kept. A field that removes a cookie (Max-Age=0,
    // a date that has passed) is no error.
    result<void> store(const url& from, std::string_view set_cookie, std::int64_t now);
    // The same for all Set-Cookie fields of an answer; those that are not kept are passed over.
    void store_all(const url& from, const header_list& fields, std::int64_t now);
    // The value of the Cookie field for a request to `to`: longer paths first, then older cookies.
    // Empty when no cookie matches: send no field then. Marks the cookies as used.
    std::string header(const url& to, std::int64_t now);

    // Cookies kept, including those that have expired and were not dropped yet.
    std::size_t size() const noexcept { return size_; }
    // Copies of all of them, ordered by domain, path and name.
    std::vector<cookie> all() const;
    // Drops all cookies.
    void clear() noexcept;
    // Drops the session cookies, as at the end of a program.
    void clear_session();

    // The jar as a Netscape cookies.txt file, which curl and others read and write, without cookies
    // that have expired at `now`. The format has no place for SameSite.
    std::string save(std::int64_t now) const;
    // Adds the cookies of a cookies.txt, replacing those of the same name, domain and path.
    // errc::bad_cookie with the number of the first wrong line; nothing is added then.
    result<void> load(std::string_view text, std::int64_t now);

private:
    struct entry {
        cookie c;
        std::uint64_t created;  // by clock_
        std::uint64_t used;
    };
    using entries = std::vector<entry>;

    result<void> keep(cookie c, std::int64_t now);
    bool would_hide_secure(const cookie& c, std::int64_t now) const;
    void make_room(entries& of_domain, std::int64_t now);
    void drop_expired(std::int64_t now);

    cookie_limits limits_;
    std::map<std::string, entries, std::less<>> domains_;
    std::size_t size_ = 0;
    std::uint64_t clock_ = 0;  // counts stores and uses: several fall into one second
};

}  // namespace wire::http
