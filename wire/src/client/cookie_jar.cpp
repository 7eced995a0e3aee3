// Stores cookies and picks those for a request (RFC 6265 section 5). Sans-IO; one thread at a time.
//
//     Set-Cookie -> parse() -> rules of domain, path, prefix, Secure, SameSite -> keep()
//         refused by a rule                  errc::bad_cookie, nothing changes
//         same name, domain, path, scope     replaces the old one, which keeps its age
//         expired already                    only removes the old one
//         no room                            make_room() drops expired ones, then by last use
//     request -> header(): the host itself and each domain above it, by path, Secure and expiry
//
// A cookie leaves when it is replaced, removed or dropped for room, or by clear(). An expired one
// is never sent, and stays until its domain or the jar needs the room.
#include "wire/client/cookie_jar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

#include "is_address.hpp"
#include "proto/char_tables.hpp"
#include "wire/proto/lenient_date.hpp"

namespace wire::http {

namespace {

using detail::trim;
using wire::detail::is_address;

constexpr std::int64_t longest_life = 400LL * 86400;  // bis section 5.5
constexpr std::size_t longest_attribute = 1024;       // bis section 5.6

error refuse(std::string_view why) {
    return {errc::bad_cookie, "cookie not kept: " + std::string(why)};
}

std::string lowered(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = detail::lower(c);
    return out;
}

bool begins_ignoring_case(std::string_view text, std::string_view with) {
    return text.size() >= with.size() && equals_ignoring_case(text.substr(0, with.size()), with);
}

// RFC 6265 section 5.1.3, but for equality.
bool is_under(std::string_view host, std::string_view domain) noexcept {
    return host.size() > domain.size() && host.substr(host.size() - domain.size()) == domain &&
           host[host.size() - domain.size() - 1] == '.' && !is_address(host);
}

// RFC 6265 section 5.1.4.
bool path_matches(std::string_view path, std::string_view of_cookie) noexcept {
    if (path.substr(0, of_cookie.size()) != of_cookie) return false;
    return path.size() == of_cookie.size() || of_cookie.back() == '/' ||
           path[of_cookie.size()] == '/';
}

std::string_view path_of(const url& u) noexcept {
    return std::string_view(u.target).substr(0, u.target.find('?'));
}

std::string default_path(const url& u) {
    const std::string_view path = path_of(u);
    const auto slash = path.rfind('/');
    return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

std::int64_t expiry(std::int64_t at, std::int64_t now) noexcept {
    return std::min(at, now + longest_life);
}

// RFC 6265 section 5.2.2; false when it is none.
bool read_max_age(std::string_view value, std::int64_t now, std::int64_t& expires) {
    const bool negative = !value.empty() && value.front() == '-';
    const std::string_view digits = negative ? value.substr(1) : value;
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
        return false;
    std::int64_t seconds = 0;
    for (const char c : digits) seconds = std::min(longest_life, seconds * 10 + (c - '0'));
    expires = negative || seconds == 0 ? std::numeric_limits<std::int64_t>::min() : now + seconds;
    return true;
}

struct parsed {
    cookie_jar::cookie c;
    bool has_max_age = false;
    bool has_root_path = false;
};

// RFC 6265 section 5.2. The domain is that of the attribute, empty without one.
result<parsed> parse(std::string_view text, std::int64_t now) {
    for (const char ch : text) {
        if (detail::is_control_char(ch)) return refuse("control character");
    }
    parsed p;
    const auto pair = text.substr(0, text.find(';'));
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos) return refuse("no \"=\"");
    p.c.name = trim(pair.substr(0, equals));
    p.c.value = trim(pair.substr(equals + 1));
    if (p.c.name.empty()) return refuse("no name");
    // It could stand in a field, but in no line of cookies.txt.
    const auto has_tab = [](std::string_view part) {
        return part.find('\t') != std::string_view::npos;
    };
    if (has_tab(p.c.name) || has_tab(p.c.value)) return refuse("tab in name or value");
    text.remove_prefix(pair.size());
    while (!text.empty()) {
        text.remove_prefix(1);
        const auto piece = text.substr(0, text.find(';'));
        text.remove_prefix(piece.size());
        const auto at = std::min(piece.find('='), piece.size());
        const auto name = trim(piece.substr(0, at));
        const auto value = at == piece.size() ? std::string_view() : trim(piece.substr(at + 1));
        if (value.size() > longest_attribute) continue;
        if (equals_ignoring_case(name, "expires")) {
            const auto date = parse_lenient_date(value);
            if (date && !p.has_max_age) p.c.expires = expiry(*date, now);
        } else if (equals_ignoring_case(name, "max-age")) {
            p.has_max_age |= read_max_age(value, now, p.c.expires);
        } else if (equals_ignoring_case(name, "domain")) {
            p.c.domain = lowered(!value.empty() && value.front() == '.' ? value.substr(1) : value);
        } else if (equals_ignoring_case(name, "path")) {
            p.c.path = !value.empty() && value.front() == '/' ? value : std::string_view();
            p.has_root_path = value == "/";
            if (has_tab(p.c.path)) return refuse("tab in path");
        } else if (equals_ignoring_case(name, "secure")) {
            p.c.secure = true;
        } else if (equals_ignoring_case(name, "httponly")) {
            p.c.http_only = true;
        } else if (equals_ignoring_case(name, "samesite")) {
            p.c.same_site = equals_ignoring_case(value, "strict") ? same_site::strict
                            : equals_ignoring_case(value, "lax")  ? same_site::lax
                            : equals_ignoring_case(value, "none") ? same_site::none
                                                                  : same_site::unset;
        }
    }
    return p;
}

}  // namespace

// RFC 6265 section 5.3, bis section 5.7.
result<void> cookie_jar::store(const url& from, std::string_view set_cookie, std::int64_t now) {
    auto read = parse(set_cookie, now);
    if (!read) return read.error();
    cookie& c = read->c;
    if (!c.domain.empty() && c.domain.find('.') >= c.domain.size() - 1) {  // also "com."
        if (c.domain != from.host) return refuse("its domain is a single label");
        c.domain.clear();
    }
    c.host_only = c.domain.empty();
    if (c.host_only) {
        c.domain = from.host;
    } else if (c.domain != from.host && !is_under(from.host, c.domain)) {
        return refuse("its domain is another's");
    }
    // A cookies.txt could not tell it from a domain.
    if (c.domain.front() == '.') return refuse("its host begins with a dot");
    if (c.path.empty()) c.path = default_path(from);
    if (c.secure && !from.secure()) return refuse("Secure, but received without TLS");
    if (c.same_site == same_site::none && !c.secure) return refuse("SameSite=None without Secure");
    if (begins_ignoring_case(c.name, "__Secure-") && !c.secure)
        return refuse("__Secure- without Secure");
    if (begins_ignoring_case(c.name, "__Host-") &&
        !(c.secure && c.host_only && read->has_root_path)) {
        return refuse("__Host- without Secure and Path=/, or with a Domain");
    }
    if (is_address(c.domain)) c.host_only = true;
    if (!from.secure() && would_hide_secure(c, now)) return refuse("it would hide a Secure one");
    return keep(std::move(c), now);
}

void cookie_jar::store_all(const url& from, const header_list& fields, std::int64_t now) {
    for (const http::header& h : fields) {
        if (equals_ignoring_case(h.name, "set-cookie")) (void)store(from, h.value, now);
    }
}

// A server without TLS, or somebody on the way to it, must not put its own in the place of what was
// set over TLS.
bool cookie_jar::would_hide_secure(const cookie& c, std::int64_t now) const {
    for (const auto& [domain, list] : domains_) {
        if (domain != c.domain && !is_under(domain, c.domain) && !is_under(c.domain, domain))
            continue;
        for (const entry& e : list) {
            if (e.c.secure && e.c.expires > now && e.c.name == c.name &&
                path_matches(c.path, e.c.path))
                return true;
        }
    }
    return false;
}

result<void> cookie_jar::keep(cookie c, std::int64_t now) {
    if (c.name.size() + c.value.size() > limits_.max_bytes) return refuse("too large");
    entries& list = domains_[c.domain];
    std::uint64_t created = ++clock_;
    const auto same = std::find_if(list.begin(), list.end(), [&](const entry& e) {
        return e.c.name == c.name && e.c.path == c.path && e.c.host_only == c.host_only;
    });
    if (same != list.end()) {
        created = same->created;
        list.erase(same);
        --size_;
    }
    if (c.expires <= now || limits_.max_per_domain == 0 || limits_.max_cookies == 0) {
        if (list.empty()) domains_.erase(c.domain);
        return {};
    }
    make_room(list, now);
    domains_[c.domain].push_back({std::move(c), created, clock_});
    ++size_;
    return {};
}

// Order of bis section 5.7: what has expired, then of a crowded domain those not Secure, then any
// of it, then any at all.
void cookie_jar::make_room(entries& of_domain, std::int64_t now) {
    if (of_domain.size() < limits_.max_per_domain && size_ < limits_.max_cookies) return;
    const auto before = [](const entry& a, const entry& b) { return a.used < b.used; };
    const auto gone = std::erase_if(of_domain, [&](const entry& e) { return e.c.expires <= now; });
    size_ -= gone;
    while (!of_domain.empty() && of_domain.size() >= limits_.max_per_domain) {
        of_domain.erase(std::min_element(
            of_domain.begin(), of_domain.end(), [&](const entry& a, const entry& b) {
                return a.c.secure != b.c.secure ? !a.c.secure : before(a, b);
            }));
        --size_;
    }
    if (size_ < limits_.max_cookies) return;
    drop_expired(now);
    while (size_ >= limits_.max_cookies) {
        auto oldest = domains_.end();
        entries::iterator at;
        for (auto d = domains_.begin(); d != domains_.end(); ++d) {
            const auto e = std::min_element(d->second.begin(), d->second.end(), before);
            if (e == d->second.end() || (oldest != domains_.end() && !before(*e, *at))) continue;
            oldest = d;
            at = e;
        }
        if (oldest == domains_.end()) return;
        oldest->second.erase(at);
        if (oldest->second.empty()) domains_.erase(oldest);
        --size_;
    }
}

void cookie_jar::drop_expired(std::int64_t now) {
    for (auto d = domains_.begin(); d != domains_.end();) {
        size_ -= std::erase_if(d->second, [&](const entry& e) { return e.c.expires <= now; });
        d = d->second.empty() ? domains_.erase(d) : std::next(d);
    }
}

// RFC 6265 section 5.4.
std::string cookie_jar::header(const url& to, std::int64_t now) {
    std::vector<entry*> found;
    const std::string_view path = path_of(to);
    const auto take = [&](std::string_view domain, bool exact) {
        const auto list = domains_.find(domain);
        if (list == domains_.end()) return;
        for (entry& e : list->second) {
            if (e.c.host_only && !exact) continue;
            if (e.c.expires <= now || (e.c.secure && !to.secure()) || !path_matches(path, e.c.path))
                continue;
            found.push_back(&e);
        }
    };
    take(to.host, true);
    if (!is_address(to.host)) {
        for (auto dot = to.host.find('.'); dot != std::string::npos;
             dot = to.host.find('.', dot + 1)) {
            take(std::string_view(to.host).substr(dot + 1), false);
        }
    }
    std::sort(found.begin(), found.end(), [](const entry* a, const entry* b) {
        return a->c.path.size() != b->c.path.size() ? a->c.path.size() > b->c.path.size()
                                                    : a->created < b->created;
    });
    std::string out;
    if (!found.empty()) ++clock_;
    for (entry* const e : found) {
        if (!out.empty()) out += "; ";
        ((out += e->c.name) += '=') += e->c.value;
        e->used = clock_;
    }
    return out;
}

std::vector<cookie_jar::cookie> cookie_jar::all() const {
    std::vector<cookie> out;
    for (const auto& [domain, list] : domains_) {
        for (const entry& e : list) out.push_back(e.c);
    }
    std::sort(out.begin(), out.end(), [](const cookie& a, const cookie& b) {
        return std::tie(a.domain, a.path, a.name, a.host_only) <
               std::tie(b.domain, b.path, b.name, b.host_only);
    });
    return out;
}

void cookie_jar::clear() noexcept {
    domains_.clear();
    size_ = 0;
}

void cookie_jar::clear_session() {
    for (auto d = domains_.begin(); d != domains_.end();) {
        size_ -= std::erase_if(d->second, [](const entry& e) { return e.c.expires == session; });
        d = d->second.empty() ? domains_.erase(d) : std::next(d);
    }
}

// ---- cookies.txt ----

// domain, for those under it too, path, Secure, expiry, name, value; "#HttpOnly_" before the domain
// is curl's.
std::string cookie_jar::save(std::int64_t now) const {
    std::string out = "# Netscape HTTP Cookie File\n";
    for (const cookie& c : all()) {
        if (c.expires <= now) continue;
        if (c.http_only) out += "#HttpOnly_";
        if (!c.host_only) out += '.';
        out += c.domain + (c.host_only ? "\tFALSE\t" : "\tTRUE\t") + c.path +
               (c.secure ? "\tTRUE\t" : "\tFALSE\t") +
               std::to_string(c.expires == session ? 0 : c.expires) + "\t" + c.name + "\t" +
               c.value + "\n";
    }
    return out;
}

result<void> cookie_jar::load(std::string_view text, std::int64_t now) {
    std::vector<cookie> read;
    for (int line_number = 1; !text.empty(); ++line_number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        constexpr std::string_view mark = "#HttpOnly_";
        cookie c;
        c.http_only = line.substr(0, mark.size()) == mark;
        if (c.http_only) line.remove_prefix(mark.size());
        if (line.empty() || line.front() == '#') continue;
        std::array<std::string_view, 7> fields;
        std::size_t n = 0;
        for (std::string_view rest = line; n < 7; ++n) {
            fields[n] = rest.substr(0, rest.find('\t'));
            if (fields[n].size() == rest.size()) {
                ++n;
                break;
            }
            rest.remove_prefix(fields[n].size() + 1);
        }
        std::int64_t expires = 0;
        const auto [end, failed] =
            std::from_chars(fields[4].data(), fields[4].data() + fields[4].size(), expires);
        if (!fields[0].empty() && fields[0].front() == '.') fields[0].remove_prefix(1);
        const bool clean = std::none_of(line.begin(), line.end(), detail::is_control_char);
        const bool tabs = n >= 6 && std::count(line.begin(), line.end(), '\t') <= 6;
        const bool number = failed == std::errc() && end == fields[4].data() + fields[4].size();
        const bool domain =
            !fields[0].empty() && fields[0].front() != '.' && fields[0].front() != '#';
        const bool path = !fields[2].empty() && fields[2].front() == '/';
        const bool pair = !fields[5].empty() &&
                          fields[5].find_first_of(";=") == std::string_view::npos &&
                          fields[6].find(';') == std::string_view::npos &&
                          fields[5].size() + fields[6].size() <= limits_.max_bytes;
        if (!tabs || !clean || !number || !domain || !path || !pair) {
            return error(errc::bad_cookie,
                         "line " + std::to_string(line_number) + " is not one of a cookies.txt");
        }
        c.domain = lowered(fields[0]);
        c.host_only = fields[1] != "TRUE" || is_address(c.domain);
        c.path = fields[2];
        c.secure = fields[3] == "TRUE";
        c.expires = expires == 0 ? session : expiry(expires, now);
        c.name = fields[5];
        c.value = fields[6];
        read.push_back(std::move(c));
    }
    for (cookie& c : read) {
        if (auto kept = keep(std::move(c), now); !kept) return kept;
    }
    return {};
}

}  // namespace wire::http
