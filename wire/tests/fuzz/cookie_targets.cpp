// Fuzz targets of the client's cookie jar.
#include <string>

#include "harness.hpp"
#include "targets.hpp"
#include "wire/client/cookie_jar.hpp"
#include "wire/proto/http_parser.hpp"
#include "wire/proto/url.hpp"

namespace wire::fuzz {

// A URL, and on the following lines what it sets: kept, given back, saved and loaded.
void set_cookie(std::string_view input) {
    const auto from = parse_url(take_line(input));
    if (!from) return;
    constexpr std::int64_t now = 1'700'000'000;
    const http::cookie_limits l{.max_per_domain = 4, .max_cookies = 6, .max_bytes = 60};
    http::cookie_jar jar(l);
    while (!input.empty()) (void)jar.store(*from, take_line(input), now);
    require(jar.size() <= l.max_cookies && jar.all().size() == jar.size(),
            "more cookies than the limit");
    for (const auto& c : jar.all())
        require(!c.name.empty() && c.name.size() + c.value.size() <= l.max_bytes,
                "a cookie beyond the limit");
    const std::string sent = jar.header(*from, now);
    require(sent.empty() || http::is_field_value(sent), "a cookie that splits its field");
    http::cookie_jar again(l);
    require(again.load(jar.save(now), now).ok(), "what was saved cannot be loaded");
    require(again.header(*from, now).size() == sent.size(), "what was saved is not what is loaded");
}

// The file of cookies itself.
void cookie_file(std::string_view input) {
    constexpr std::int64_t now = 1'700'000'000;
    http::cookie_jar jar;
    if (!jar.load(input, now)) {
        require(jar.size() == 0, "half a file was taken");
        return;
    }
    http::cookie_jar again;
    require(again.load(jar.save(now), now).ok() && again.save(now) == jar.save(now),
            "a file changes when it is read and written");
}

}  // namespace wire::fuzz
