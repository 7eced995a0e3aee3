// Which cookies are stored, sent, dropped and refused, and cookies.txt files.
#include "wire/client/cookie_jar.hpp"

#include <gtest/gtest.h>

#include "raw_server.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"

namespace wire::http::cookie_jar_test {

using testing::raw_server;

constexpr std::int64_t now = 1'700'000'000;

url at(std::string_view text) { return *parse_url(text); }

// What `to` is sent after `from` has set all of `fields`.
std::string sent(std::string_view from, const std::vector<std::string>& fields, std::string_view to,
                 std::int64_t when = now) {
    cookie_jar jar;
    for (const auto& f : fields) (void)jar.store(at(from), f, now);
    return jar.header(at(to), when);
}
bool kept(std::string_view from, std::string_view field) {
    cookie_jar jar;
    const auto r = jar.store(at(from), field, now);
    EXPECT_EQ(r.ok(), jar.size() == 1) << field;
    return r.ok();
}

TEST(cookie_jar, names_and_values) {
    const auto echo = [](const std::string& field) {
        return sent("http://x.org/", {field}, "http://x.org/");
    };
    EXPECT_EQ(echo("a=b"), "a=b");
    EXPECT_EQ(echo(" a = b ; Path=/"), "a=b");
    EXPECT_EQ(echo("a=\"b c\""), "a=\"b c\"");
    EXPECT_EQ(echo("a=b=c"), "a=b=c");
    EXPECT_EQ(echo("a="), "a=");
    EXPECT_EQ(echo("a=\xC3\xA9"), "a=\xC3\xA9");
    EXPECT_EQ(echo("a=b;;; ;=;x=y;Secure2"), "a=b");
    for (const auto bad :
         {"", ";", "a", "=b", " =b", "a=b\x01", "a=b\r\nX: y", "a=b\x7F", "a=b\tc"})
        EXPECT_FALSE(kept("http://x.org/", bad)) << bad;
}
TEST(cookie_jar, domains) {
    const auto from = "http://www.example.org/";
    EXPECT_EQ(sent(from, {"a=1"}, "http://www.example.org/"), "a=1");
    EXPECT_EQ(sent(from, {"a=1"}, "http://sub.www.example.org/"), "");
    EXPECT_EQ(sent(from, {"a=1"}, "http://example.org/"), "");
    for (const std::string d : {"example.org", ".example.org", "EXAMPLE.org"}) {
        EXPECT_EQ(sent(from, {"a=1; Domain=" + d}, "http://example.org/"), "a=1") << d;
        EXPECT_EQ(sent(from, {"a=1; Domain=" + d}, "http://deep.other.example.org:8080/"), "a=1")
            << d;
        EXPECT_EQ(sent(from, {"a=1; Domain=" + d}, "http://badexample.org/"), "") << d;
    }
    EXPECT_EQ(sent(from, {"a=1; Domain="}, "http://sub.www.example.org/"), "");
    for (const std::string d :
         {"org", ".org", "org.", "other.org", "sub.www.example.org", "ample.org"})
        EXPECT_FALSE(kept(from, "a=1; Domain=" + d)) << d;
    EXPECT_EQ(sent("http://localhost/", {"a=1; Domain=localhost"}, "http://localhost/"), "a=1");
    EXPECT_EQ(sent("http://localhost/", {"a=1; Domain=localhost"}, "http://x.localhost/"), "");
    EXPECT_EQ(sent("http://127.0.0.1/", {"a=1; Domain=127.0.0.1"}, "http://127.0.0.1:81/"), "a=1");
    EXPECT_FALSE(kept("http://127.0.0.1/", "a=1; Domain=0.0.1"));
    EXPECT_EQ(sent("http://[::1]/", {"a=1"}, "http://[::1]/"), "a=1");
    // The last one counts (RFC 6265 section 5.3).
    EXPECT_EQ(sent(from, {"a=1; Domain=other.org; Domain=example.org"}, "http://example.org/"),
              "a=1");
}
TEST(cookie_jar, paths) {
    const auto to = [](const std::string& from, const std::string& field, const std::string& path) {
        return sent("http://x.org" + from, {field}, "http://x.org" + path) == "a=1";
    };
    EXPECT_TRUE(to("/", "a=1; Path=/foo", "/foo"));
    EXPECT_TRUE(to("/", "a=1; Path=/foo", "/foo/"));
    EXPECT_TRUE(to("/", "a=1; Path=/foo", "/foo/bar?x"));
    EXPECT_TRUE(to("/", "a=1; Path=/foo", "/foo?x"));
    EXPECT_TRUE(to("/", "a=1; Path=/foo/", "/foo/bar"));
    EXPECT_FALSE(to("/", "a=1; Path=/foo", "/foobar"));
    EXPECT_FALSE(to("/", "a=1; Path=/foo/", "/foo"));
    EXPECT_FALSE(to("/", "a=1; Path=/foo", "/Foo"));
    EXPECT_TRUE(to("/a/b/c?d/e", "a=1", "/a/b"));
    EXPECT_TRUE(to("/a/b/c", "a=1", "/a/b/x"));
    EXPECT_FALSE(to("/a/b/c", "a=1", "/a/x"));
    EXPECT_TRUE(to("/a", "a=1", "/x"));
    EXPECT_TRUE(to("/a/b/c", "a=1; Path=relative", "/a/b/x"));
    EXPECT_TRUE(to("/a/b/c", "a=1; Path=", "/a/b/x"));
    EXPECT_FALSE(kept("http://x.org/", "a=b; Path=/c\td"));  // no line of cookies.txt could hold it
}
TEST(cookie_jar, order) {
    EXPECT_EQ(sent("http://x.org/a/b",
                   {"one=1; Path=/", "two=2; Path=/a/b", "three=3; Path=/", "four=4; Path=/a",
                    "one=5; Path=/"},
                   "http://x.org/a/b"),
              "two=2; four=4; one=5; three=3");  // replaced, `one` keeps its age
    cookie_jar jar;
    for (const auto name : {"z", "y", "x"})
        ASSERT_TRUE(jar.store(at("http://b.org/"), std::string(name) + "=1", now));
    ASSERT_TRUE(jar.store(at("http://a.org/"), "q=1", now));
    std::string names;
    for (const auto& c : jar.all()) names += c.domain.front() + c.name;
    EXPECT_EQ(names, "aqbxbybz");
}
TEST(cookie_jar, lifetimes) {
    const auto x = "http://x.org/";
    EXPECT_EQ(sent(x, {"a=1; Max-Age=10"}, x, now + 9), "a=1");
    EXPECT_EQ(sent(x, {"a=1; Max-Age=10"}, x, now + 10), "");
    EXPECT_EQ(sent(x, {"a=1; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, x), "a=1");
    EXPECT_EQ(sent(x, {"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=10"}, x), "a=1");
    EXPECT_EQ(sent(x, {"a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, x), "");
    EXPECT_EQ(sent(x, {"a=1; Expires=Tue, 14-Nov-2023 22:13:30 GMT"}, x, now + 9), "a=1");
    EXPECT_EQ(sent(x, {"a=1; Expires=Tue, 14-Nov-2023 22:13:30 GMT"}, x, now + 10), "");
    for (const std::string odd :
         {"Expires=never", "Max-Age=x", "Max-Age=", "Max-Age=1.5", "Max-Age=-"}) {
        // As if it were not there: of the session.
        EXPECT_EQ(sent(x, {"a=1; " + odd}, x, now + (1LL << 40)), "a=1") << odd;
    }
    for (const std::string gone : {"Max-Age=0", "Max-Age=-1", "Max-Age=-99999999999999999999",
                                   "Expires=Thu, 01 Jan 1970 00:00:00 GMT"}) {
        EXPECT_EQ(sent(x, {"a=1", "b=2", "a=; " + gone}, x), "b=2") << gone;
    }
    EXPECT_EQ(sent(x, {"a=1; Max-Age=99999999999999999999"}, x, now + 400 * 86400 - 1), "a=1");
    EXPECT_EQ(sent(x, {"a=1; Max-Age=99999999999999999999"}, x, now + 400 * 86400), "");
    EXPECT_EQ(sent(x, {"a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT"}, x, now + 400 * 86400), "");
    cookie_jar jar;
    (void)jar.store(at(x), "a=1", now);
    (void)jar.store(at(x), "b=1; Max-Age=9", now);
    jar.clear_session();
    EXPECT_EQ(jar.header(at(x), now), "b=1");
}
TEST(cookie_jar, secure_ones) {
    const auto plain = "http://x.org/";
    const auto tls = "https://x.org/";
    EXPECT_EQ(sent(tls, {"a=1; Secure"}, tls), "a=1");
    EXPECT_EQ(sent(tls, {"a=1; Secure"}, "wss://x.org/"), "a=1");
    EXPECT_EQ(sent(tls, {"a=1; Secure"}, plain), "");
    EXPECT_EQ(sent(tls, {"a=1"}, plain), "a=1");
    EXPECT_FALSE(kept(plain, "a=1; Secure"));
    EXPECT_FALSE(kept(tls, "a=1; SameSite=None"));
    EXPECT_TRUE(kept(tls, "a=1; SameSite=None; Secure"));
    EXPECT_FALSE(kept(tls, "__Secure-a=1"));
    EXPECT_TRUE(kept(tls, "__Secure-a=1; secure"));
    EXPECT_FALSE(kept(plain, "__secure-a=1; Secure"));
    EXPECT_TRUE(kept(tls, "__Host-a=1; Secure; Path=/"));
    EXPECT_FALSE(kept(tls, "__Host-a=1; Secure"));
    EXPECT_FALSE(kept(tls, "__Host-a=1; Path=/"));
    EXPECT_FALSE(kept(tls, "__Host-a=1; Secure; Path=/x"));
    EXPECT_FALSE(kept(tls, "__HOST-a=1; Secure; Path=/; Domain=x.org"));
    EXPECT_FALSE(kept("https://127.0.0.1/", "__Host-a=1; Secure; Path=/; Domain=127.0.0.1"));
    EXPECT_TRUE(kept("https://127.0.0.1/", "__Host-a=1; Secure; Path=/"));
    cookie_jar jar;
    ASSERT_TRUE(jar.store(at("https://x.org/"), "a=1; Secure; Path=/in", now));
    EXPECT_FALSE(jar.store(at("http://x.org/"), "a=2; Path=/in/side", now));
    EXPECT_FALSE(jar.store(at("http://sub.x.org/"), "a=2; Domain=x.org; Path=/in", now));
    EXPECT_TRUE(jar.store(at("http://x.org/"), "a=2; Path=/", now));
    EXPECT_EQ(jar.header(at("https://x.org/in"), now), "a=1; a=2");
    // One that has expired hides nothing, whether it was dropped or not.
    ASSERT_TRUE(jar.store(at("https://y.org/"), "b=1; Secure; Max-Age=5", now));
    EXPECT_FALSE(jar.store(at("http://y.org/"), "b=2", now + 4));
    EXPECT_TRUE(jar.store(at("http://y.org/"), "b=2", now + 5));
    EXPECT_EQ(jar.header(at("https://y.org/"), now + 5), "b=2");
}
TEST(cookie_jar, attributes_are_kept) {
    cookie_jar jar;
    ASSERT_TRUE(jar.store(at("https://x.org/"),
                          "a=1; HttpOnly; SameSite=LAX; Domain=x.org; Max-Age=5", now));
    const auto c = jar.all().front();
    EXPECT_TRUE(c.http_only);
    EXPECT_FALSE(c.secure);
    EXPECT_FALSE(c.host_only);
    EXPECT_EQ(c.same_site, same_site::lax);
    EXPECT_EQ(c.expires, now + 5);
}
TEST(cookie_jar, is_bounded) {
    cookie_limits l;
    l.max_per_domain = 3;
    l.max_cookies = 5;
    cookie_jar jar(l);
    const auto store = [&](const std::string& host, const std::string& field) {
        return jar.store(at("https://" + host + "/"), field, now).ok();
    };
    for (const auto name : {"a", "b", "c"}) EXPECT_TRUE(store("x.org", std::string(name) + "=1"));
    EXPECT_EQ(jar.header(at("https://x.org/"), now), "a=1; b=1; c=1");
    EXPECT_TRUE(store("x.org", "b=2"));
    EXPECT_TRUE(store("x.org", "s=1; Secure"));
    // A had not been used for longest.
    EXPECT_EQ(jar.header(at("https://x.org/"), now), "b=2; c=1; s=1");
    EXPECT_TRUE(store("x.org", "t=1; Secure"));
    EXPECT_TRUE(store("x.org", "u=1; Secure"));
    EXPECT_EQ(jar.header(at("https://x.org/"), now), "s=1; t=1; u=1");  // those not Secure first
    EXPECT_TRUE(store("x.org", "n=1; Max-Age=1"));
    EXPECT_EQ(jar.header(at("https://x.org/"), now), "t=1; u=1; n=1");
    // What has expired before all else.
    EXPECT_TRUE(jar.store(at("https://x.org/"), "o=1", now + 1));
    EXPECT_EQ(jar.header(at("https://x.org/"), now + 1), "t=1; u=1; o=1");
    for (const auto host : {"1.org", "2.org", "3.org", "4.org", "5.org"})
        EXPECT_TRUE(store(host, "h=1"));
    EXPECT_EQ(jar.size(), 5U);
    EXPECT_EQ(jar.header(at("https://x.org/"), now), "");
    EXPECT_EQ(jar.header(at("https://1.org/"), now), "h=1");
    EXPECT_FALSE(store("x.org", "a=" + std::string(4096, 'x')));
    EXPECT_TRUE(store("x.org", "a=" + std::string(4095, 'x')));
    // The attribute alone is ignored.
    EXPECT_TRUE(store("x.org", "a=1; Path=/" + std::string(1024, 'p')));
    EXPECT_EQ(jar.header(at("https://x.org/"), now), "a=1");
}
TEST(cookie_jar, as_text) {
    cookie_jar jar;
    ASSERT_TRUE(jar.store(at("https://www.x.org/"), "a=1; Domain=x.org; Secure; Max-Age=100", now));
    ASSERT_TRUE(jar.store(at("https://www.x.org/p/q"), "b=; HttpOnly", now));
    const std::string text = jar.save(now);
    EXPECT_EQ(text,
              "# Netscape HTTP Cookie File\n"
              "#HttpOnly_www.x.org\tFALSE\t/p\tFALSE\t0\tb\t\n"
              ".x.org\tTRUE\t/\tTRUE\t1700000100\ta\t1\n");
    cookie_jar read;
    ASSERT_TRUE(read.load(text, now));
    EXPECT_EQ(read.save(now), text);
    EXPECT_EQ(read.header(at("https://www.x.org/p"), now), "b=; a=1");
    EXPECT_TRUE(read.all()[0].http_only);
    EXPECT_EQ(jar.save(now + 100).find("x.org\tTRUE"), std::string::npos);
    EXPECT_TRUE(read.load(
        "\r\n# comment\r\nhost\tFALSE\t/\tFALSE\t0\tn\tv\r\nold\tFALSE\t/\tFALSE\t5\tn\tv", now));
    EXPECT_EQ(read.size(), 3U);
    for (const auto bad :
         {"x", "x\tFALSE\t/\tFALSE\t0", "x\tFALSE\t/\tFALSE\tsoon\tn\tv",
          "\tFALSE\t/\tFALSE\t0\tn\tv", "x\tFALSE\tp\tFALSE\t0\tn\tv", "x\tFALSE\t/\tFALSE\t0\t\tv",
          "x\tFALSE\t/\tFALSE\t0\tn\tv\tw", "x\tFALSE\t/\tFALSE\t0\tn\tv;w",
          "x\tFALSE\t/\tFALSE\t0\tn;w\tv", "..x\tTRUE\t/\tFALSE\t0\tn\tv",
          ".#x\tFALSE\t/\tFALSE\t0\tn\tv", "x\tFALSE\t/\tFALSE\t0\tn\tv\x01"}) {
        EXPECT_EQ(
            read.load("y\tFALSE\t/\tFALSE\t0\tn\tv\n" + std::string(bad), now).error().message,
            "line 2 is not one of a cookies.txt")
            << bad;
    }
    EXPECT_EQ(read.size(), 3U);
    cookie_jar other;
    ASSERT_TRUE(other.store(at("http://x.org/app;id=1/page"), "a=1", now));
    EXPECT_FALSE(other.store(at("http://.x.org/"), "a=1", now));
    ASSERT_TRUE(read.load(other.save(now), now));
    EXPECT_EQ(read.header(at("http://x.org/app;id=1/"), now), "a=1");
}
TEST(cookie_jar, travels_with_requests) {
    std::vector<std::string> asked;
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        asked.push_back(v.request());
        v.send(
            "HTTP/1.1 302 Go\r\nContent-Length: 0\r\nSet-Cookie: a=1; Path=/\r\nset-cookie: b=2; "
            "Path=/\r\nSet-Cookie: nonsense\r\nLocation: /two\r\n\r\n");
        for (int i = 0; i < 2; ++i) {
            asked.push_back(v.request());
            v.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=; Path=/; "
                "Max-Age=0\r\n\r\n");
        }
        asked.push_back(v.request());
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    client_options options;
    options.cookies = std::make_shared<cookie_jar>();
    auto c = *client::create(options);
    EXPECT_EQ(c.get(raw.url())->status(), 200);
    EXPECT_EQ(c.get(raw.url())->status(), 200);
    client_request own = make_request(method::get, raw.url());
    own.headers = {{"Cookie", "mine=1"}};
    EXPECT_EQ(c.send(own)->status(), 200);
    raw.finish();
    const auto cookie = [&](std::size_t i) {
        const auto from = asked[i].find("Cookie: ");
        return from == std::string::npos
                   ? "none"
                   : asked[i].substr(from + 8, asked[i].find("\r\n", from) - from - 8);
    };
    EXPECT_EQ(cookie(0), "none");
    EXPECT_EQ(cookie(1), "a=1; b=2");
    EXPECT_EQ(cookie(2), "b=2");
    EXPECT_EQ(cookie(3), "mine=1");
    EXPECT_EQ(options.cookies->size(), 1U);
}
// Of responses whose body is cut off, or not wanted to its end.
TEST(cookie_jar, is_filled_before_the_body_comes) {
    const auto jar = std::make_shared<cookie_jar>();
    client_options options;
    options.cookies = jar;
    raw_server raw([](raw_server& r) {
        for (const std::string name : {"cut", "pieces"}) {
            auto v = r.accept();
            v.request();
            v.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nSet-Cookie: " + name +
                   "=1; Path=/\r\n\r\nfive ");
            EXPECT_TRUE(name == "cut" || v.is_left());
        }
    });
    EXPECT_EQ(client::create(options)->get(raw.url()).code(), errc::closed_early);
    EXPECT_EQ(jar->size(), 1U);
    const auto loop = *event_loop::create();
    async_client c(*loop, options);
    std::size_t at_head = 0;
    std::optional<errc> ended;
    request_id id = 0;
    response_pieces to;
    to.head = [&](const reply&) { at_head = jar->size(); };
    to.data = [&](std::string_view) { c.cancel(id); };
    to.end = [&](const result<reply>& r) { ended = r.code(); };
    id = c.send(make_request(method::get, raw.url()), std::move(to));
    while (!ended) loop->run_once();
    EXPECT_EQ(*ended, errc::cancelled);
    EXPECT_EQ(at_head, 2U);
    EXPECT_EQ(jar->size(), 2U);
}
TEST(cookie_jar, travels_with_handshakes) {
    std::vector<std::string> asked;
    const auto jar = std::make_shared<cookie_jar>();
    {
        raw_server raw([&](raw_server& r) {
            for (int i = 0; i < 3; ++i) {
                auto v = r.accept();
                asked.push_back(v.request());
                v.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\nSet-Cookie: session=7\r\n\r\n");
            }
        });
        ws::dial_options options;
        options.cookies = jar;
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(ws::blocking_client::connect(raw.url("/", "ws"), options).code(),
                      errc::bad_handshake);
        options.headers = {{"cookie", "own=1"}};
        EXPECT_FALSE(ws::blocking_client::connect(raw.url("/", "ws"), options));
    }
    EXPECT_EQ(asked[0].find("Cookie"), std::string::npos);
    EXPECT_NE(asked[1].find("\r\nCookie: session=7\r\n"), std::string::npos) << asked[1];
    EXPECT_EQ(asked[2].find("session"), std::string::npos);
    EXPECT_NE(asked[2].find("\r\ncookie: own=1\r\n"), std::string::npos) << asked[2];
    EXPECT_EQ(jar->size(), 1U);
}

}  // namespace wire::http::cookie_jar_test
