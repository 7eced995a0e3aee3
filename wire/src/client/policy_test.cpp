// Redirects and retries as servers see them, and the arithmetic of pauses.
#include "policy.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <thread>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/loop/blocking_pool.hpp"

namespace wire::http::policy_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;

client make(client_options options = {}) {
    auto made = client::create(std::move(options));
    EXPECT_TRUE(made);
    return *std::move(made);
}
std::string root(const served& s) { return "http://127.0.0.1:" + std::to_string(s.port()); }
std::string show(const result<reply>& r) {
    return r ? std::to_string(r->status()) + " " + std::string(r->body())
             : std::string(to_string(r.code()));
}

// Answers "/STATUS/TARGET" with that redirect, "~" in TARGET standing for "..", all else with what
// it was asked.
void redirecting(response res) {
    const request& r = res.request();
    const std::string path(r.path());
    if (path.size() > 5 && path[1] == '3' && path[4] == '/') {
        std::string to = path.substr(4);
        if (const auto up = to.find('~'); up != std::string::npos) to.replace(up, 1, "..");
        res.status(std::stoi(path.substr(1, 3))).header("Location", to);
        res.send();
        return;
    }
    res.body() = std::string(r.method_text()) + " " + std::string(r.target()) + " " +
                 std::string(r.header("content-type").value_or("-")) + " " +
                 std::string(r.header("authorization").value_or("-")) + " " +
                 std::string(r.header("x-own").value_or("-")) + " " + std::string(r.body());
    res.send();
}

client_request request_with(method m, std::string url) {
    client_request r =
        make_request(m, std::move(url), m == method::post || m == method::put ? "body" : "",
                     m == method::get ? "" : "text/plain");
    r.headers.push_back(bearer_auth("secret"));
    r.headers.emplace_back("X-Own", "1");
    return r;
}

TEST(redirects, methods_and_bodies) {
    served s(redirecting);
    client c = make();
    const auto ask = [&](method m, const std::string& status) {
        return show(c.send(request_with(m, root(s) + "/" + status + "/to")));
    };
    EXPECT_EQ(ask(method::post, "301"), "200 GET /to - Bearer secret 1 ");
    EXPECT_EQ(ask(method::post, "302"), "200 GET /to - Bearer secret 1 ");
    EXPECT_EQ(ask(method::post, "303"), "200 GET /to - Bearer secret 1 ");
    EXPECT_EQ(ask(method::post, "307"), "200 POST /to text/plain Bearer secret 1 body");
    EXPECT_EQ(ask(method::post, "308"), "200 POST /to text/plain Bearer secret 1 body");
    EXPECT_EQ(ask(method::put, "301"), "200 PUT /to text/plain Bearer secret 1 body");
    EXPECT_EQ(ask(method::put, "302"), "200 PUT /to text/plain Bearer secret 1 body");
    EXPECT_EQ(ask(method::put, "303"), "200 GET /to - Bearer secret 1 ");
    EXPECT_EQ(ask(method::delete_, "303"), "200 GET /to - Bearer secret 1 ");
    EXPECT_EQ(ask(method::get, "301"), "200 GET /to - Bearer secret 1 ");
    EXPECT_EQ(c.head(root(s) + "/303/to")->status(), 200);
    EXPECT_EQ(c.get(root(s) + "/304/to")->status(), 304);
    EXPECT_EQ(c.get(root(s) + "/300/to")->status(), 300);
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST(redirects, tell_where_they_led) {
    served s(redirecting);
    client c = make();
    const auto got = c.get(root(s) + "/302/307/x/~/y?z#f");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->url(), root(s) + "/y#f");
    ASSERT_EQ(got->redirects().size(), 2U);
    EXPECT_EQ(got->redirects()[0].status, 302);
    EXPECT_EQ(got->redirects()[0].url, root(s) + "/302/307/x/~/y?z#f");
    EXPECT_EQ(got->redirects()[1].url, root(s) + "/307/y#f");
    const auto plain = c.get(root(s) + "/a#b");
    EXPECT_EQ(plain->url(), root(s) + "/a#b");
    EXPECT_TRUE(plain->redirects().empty());
}
TEST(redirects, forms_of_location) {
    const std::map<std::string, std::string> forms{{"x", "/a/x"},
                                                   {"/x?y#z", "/x?y"},
                                                   {"?q", "/a/b?q"},
                                                   {"../../x", "/x"},
                                                   {"", "/a/b"},
                                                   {"/a b\xC3\xA9", "/a%20b%C3%A9"},
                                                   {"//127.0.0.1:PORT/n", "/n"}};
    for (const auto& [form, expected] : forms) {
        std::string asked;
        raw_server raw([&, form = form](raw_server& r) {
            std::string location = form;
            if (const auto at = location.find("PORT"); at != std::string::npos)
                location.replace(at, 4, std::to_string(r.port()));
            auto v = r.accept();
            v.request();
            v.send("HTTP/1.1 302 Found\r\nContent-Length: 4\r\nLocation: " + location +
                   "\r\n\r\ngone");
            asked = v.request();
            v.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        });
        EXPECT_EQ(show(make().get(raw.url("/a/b"))), "200 ") << form;
        raw.finish();
        EXPECT_EQ(asked.substr(0, asked.find(" HTTP")), "GET " + expected) << form;
    }
}
TEST(redirects, credentials_stay_with_their_origin) {
    served other(redirecting);
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 307 Go\r\nContent-Length: 0\r\nLocation: " + root(other) +
               "/there\r\n\r\n");
    });
    client_request r = request_with(method::post, raw.url("/"));
    r.headers.emplace_back("Cookie", "a=b");
    r.headers.emplace_back("Host", "virtual");
    EXPECT_EQ(show(make().send(r)), "200 POST /there text/plain - 1 body");
}
TEST(redirects, named_fields_stay_with_their_origin_too) {
    const auto seen_by = [](bool other_origin) {
        const auto show_keys = [](response res) {
            std::string out;
            for (const header& h : res.request().headers())
                if (h.name.starts_with("X-")) out += std::string(h.name) + ";";
            res.send(out);
        };
        served other(show_keys);
        served s([&](response res) {
            if (res.request().path() == "/there") return show_keys(std::move(res));
            res.status(307).header("Location", other_origin ? root(other) + "/there" : "/there");
            res.send();
        });
        client_options options;
        options.credential_fields = {"x-api-key", "X-Token"};
        client_request r;
        r.url = root(s) + "/";
        for (const auto name : {"X-API-Key", "X-Token", "X-Trace"})
            r.headers.emplace_back(name, "1");
        return show(make(options).send(r));
    };
    EXPECT_EQ(seen_by(false), "200 X-API-Key;X-Token;X-Trace;");
    EXPECT_EQ(seen_by(true), "200 X-Trace;");
}
TEST(redirects, are_bounded) {
    served s([](response res) { res.status(302).header("Location", "/again").send(); });
    client_options options;
    options.max_redirects = 3;
    client c = make(options);
    const auto got = c.get(root(s) + "/");
    EXPECT_EQ(got.code(), errc::too_many_redirects);
    EXPECT_EQ(got.error().message,
              "GET " + root(s) + "/again: redirected to \"/again\": more than 3 redirects");
    options.max_redirects = 0;
    client off = make(options);
    const auto as_it_is = off.get(root(s) + "/");
    EXPECT_EQ(as_it_is->status(), 302);
    EXPECT_EQ(as_it_is->header("location"), "/again");
}
TEST(redirects, not_followed_anywhere) {
    for (const std::string to : {"ftp://x/", "ws://x/", "http://", "http://a@b/", "mailto:x"}) {
        served s([to](response res) { res.status(302).header("Location", to).send(); });
        EXPECT_EQ(make().get(root(s)).code(), errc::bad_redirect) << to;
    }
    served none([](response res) { res.status(302).send("no location"); });
    EXPECT_EQ(show(make().get(root(none))), "302 no location");
}

TEST(backoff, doubles_up_to_its_bound_with_full_jitter) {
    retry_options o;
    o.first_pause = 100ms;
    o.max_pause = 1s;
    const auto most = [&](unsigned n) {
        std::chrono::milliseconds greatest{};
        for (std::uint64_t random = 0; random < 3000; ++random)
            greatest = std::max(greatest, backoff(o, n, random));
        return greatest.count();
    };
    EXPECT_EQ(most(1), 100);
    EXPECT_EQ(most(2), 200);
    EXPECT_EQ(most(4), 800);
    EXPECT_EQ(most(5), 1000);
    EXPECT_EQ(most(4'000'000'000U), 1000);
    EXPECT_EQ(backoff(o, 3, 0), 0ms);
    o.first_pause = 0ms;
    EXPECT_EQ(most(9), 0);
    o.first_pause = o.max_pause = -5ms;
    EXPECT_EQ(most(2), 0);
    o.first_pause = 1ms;
    o.max_pause = std::chrono::milliseconds::max();
    for (const std::uint64_t random : {1ULL << 63, ~0ULL}) {
        EXPECT_GE(backoff(o, 100, random), 0ms);
        EXPECT_LE(backoff(o, 100, random), 24h * 365 * 100);
    }
}
TEST(retry_after, seconds_and_dates) {
    EXPECT_EQ(parse_retry_after("120", 0), 120s);
    EXPECT_EQ(parse_retry_after("0", 0), 0s);
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111770), 7s);
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111999), 0s);
    EXPECT_GT(parse_retry_after("99999999999999999999999999", 0), 3'000'000'000s);
    for (const auto bad : {"", "-1", "1.5", "soon"})
        EXPECT_EQ(parse_retry_after(bad, 0), std::nullopt) << bad;
}

// What a peer saw of a client that retries; the n-th connection is answered by the n-th answer, the
// last of which is for all that follow.
struct seen {
    result<reply> got;
    int requests;
};
seen retried(const std::vector<std::string>& answers, retry_options retry,
             client_request request = {}) {
    retry.first_pause = 1ms;
    client_options options;
    options.retry = retry;
    options.response_timeout = 200ms;
    int requests = 0;
    std::optional<result<reply>> got;
    {
        raw_server raw([&](raw_server& r) {
            for (const std::string& answer : answers) {
                auto v = r.accept();
                if (v.request().empty()) return;
                ++requests;
                if (answer == "reset") {
                    v.reset();
                } else if (answer == "silence") {
                    v.request();
                } else {
                    v.send("HTTP/1.1 " + answer +
                           "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
                }
            }
            EXPECT_FALSE(r.anyone(20));
        });
        request.url = raw.url();
        got.emplace(make(options).send(request));
    }
    return {*std::move(got), requests};
}

TEST(retries, what_may_be_repeated_until_it_works) {
    retry_options r;
    r.max_retries = 4;
    r.seed = 1;
    const auto all = retried({"503 X", "reset", "silence", "429 X\r\nRetry-After: 0", "200 OK"}, r);
    EXPECT_EQ(show(all.got), "200 ");
    EXPECT_EQ(all.requests, 5);
    r.max_retries = 2;
    EXPECT_EQ(show(retried({"503 X", "502 X", "504 X"}, r).got), "504 ");
    EXPECT_EQ(show(retried({"reset", "reset", "reset"}, r).got), "connection reset by the peer");
    EXPECT_EQ(show(retried({"500 X"}, r).got), "500 ");
    EXPECT_EQ(show(retried({"503 X\r\nRetry-After: 31"}, r).got), "503 ");
    EXPECT_EQ(show(retried({"503 X\r\nRetry-After: Fri, 01 Jan 2100 00:00:00 GMT"}, r).got),
              "503 ");
    r.statuses = {500};
    EXPECT_EQ(show(retried({"503 X"}, r).got), "503 ");
    EXPECT_EQ(show(retried({"500 X", "200 OK"}, r).got), "200 ");
    r.max_total = 0ms;
    EXPECT_EQ(show(retried({"500 X"}, r).got), "500 ");
    r.max_total = std::chrono::milliseconds::max();
    EXPECT_EQ(show(retried({"500 X", "200 OK"}, r).got), "200 ");
    EXPECT_EQ(show(retried({"503 X"}, {}).got), "503 ");  // off unless asked for
}
TEST(retries, what_may_not_be_repeated_only_when_asked) {
    retry_options r;
    r.max_retries = 2;
    client_request post;
    post.method = method::post;
    post.body = "x";
    EXPECT_EQ(show(retried({"503 X"}, r, post).got), "503 ");
    EXPECT_EQ(show(retried({"reset"}, r, post).got), "connection reset by the peer");
    post.repeatable = true;
    EXPECT_EQ(show(retried({"503 X", "200 OK"}, r, post).got), "200 ");
    client_request put;
    put.method = method::put;
    EXPECT_EQ(show(retried({"503 X", "200 OK"}, r, put).got), "200 ");
}
// What a client asks of a proxy that gives its connections these answers in turn, until there is an
// end.
seen retried_by_proxy(const std::string& scheme, const std::vector<std::string>& answers,
                      retry_options retry, method m = method::get) {
    retry.first_pause = 1ms;
    int requests = 0;
    std::optional<result<reply>> got;
    {
        raw_server raw([&](raw_server& r) {
            for (const std::string& answer : answers) {
                const auto v = r.accept();
                ++requests;
                char bytes[512];
                bool answered = false;
                while (::recv(v.fd(), bytes, sizeof bytes, 0) > 0) {
                    if (!std::exchange(answered, true))
                        ::send(v.fd(), answer.data(), answer.size(), MSG_NOSIGNAL);
                }
            }
            EXPECT_FALSE(r.anyone(20));
        });
        client_options options;
        options.retry = retry;
        options.proxy = raw.url("", scheme);
        client_request request = make_request(m, "https://192.0.2.1/");
        got.emplace(make(options).send(std::move(request)));
    }
    return {*std::move(got), requests};
}

TEST(retries, when_a_proxy_cannot_reach_the_server) {
    retry_options r;
    r.max_retries = 3;
    const auto refused = [](const std::string& status) {
        return "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n";
    };
    const auto by_http =
        retried_by_proxy("http", {refused("502 X"), refused("503 X"), refused("407 X")}, r);
    EXPECT_EQ(by_http.got.code(), errc::proxy_failed);
    EXPECT_NE(by_http.got.error().message.find("407 X"), std::string::npos);
    EXPECT_EQ(by_http.requests, 3);
    EXPECT_EQ(retried_by_proxy("http", {refused("403 X")}, r).requests, 1);
    EXPECT_EQ(retried_by_proxy("http", {refused("503 X")}, r, method::post).requests, 1);
    EXPECT_EQ(retried_by_proxy("http", {refused("503 X")}, {}).requests, 1);
    // Refused by the server, unreachable; then not allowed.
    const auto by_socks = retried_by_proxy(
        "socks5h",
        {std::string("\5\0\5\5", 4), std::string("\5\0\5\4", 4), std::string("\5\0\5\2", 4)}, r);
    EXPECT_EQ(by_socks.got.code(), errc::proxy_failed);
    EXPECT_NE(by_socks.got.error().message.find("rules"), std::string::npos);
    EXPECT_EQ(by_socks.requests, 3);
    r.statuses = {};
    EXPECT_EQ(retried_by_proxy("http", {refused("502 X")}, r).requests, 1);
    EXPECT_EQ(retried_by_proxy("socks5", {std::string("\5\0\5\5", 4)}, r).requests, 1);
}
TEST(retries, when_nobody_listens) {
    std::string url;
    {
        raw_server raw([](raw_server&) {});
        url = raw.url();
    }
    client_options options;
    options.retry.max_retries = 3;
    options.retry.first_pause = 1ms;
    EXPECT_EQ(make(options).get(url).code(), errc::refused);
    EXPECT_EQ(make(options).get("nonsense").code(), errc::bad_url);
}
TEST(retries, waiting_ends_with_the_client) {
    served s([](response res) { res.status(503).header("Retry-After", "20").send(); });
    auto loop = *event_loop::create();
    errc end = errc::none;
    {
        client_options options;
        options.retry.max_retries = 1;
        async_client c(*loop, options);
        c.get(root(s), [&](result<reply> r) { end = r.code(); });
        const auto until = clock::now() + 100ms;
        while (clock::now() < until) loop->run_once(until - clock::now());
        EXPECT_EQ(end, errc::none);
    }
    EXPECT_EQ(end, errc::stopped);
    loop->run_once(0ms);
}
TEST(retries, are_cut_short_by_the_total_time) {
    served s([](response res) { res.status(503).send(); });
    client_options options;
    options.total_timeout = 15ms;
    options.retry.max_retries = 1'000'000;
    options.retry.first_pause = options.retry.max_pause = 1ms;
    client c = make(options);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(c.get(root(s)).code(), errc::timed_out);
}
TEST(authorization, fields) {
    // RFC 7617 section 2.
    EXPECT_EQ(basic_auth("Aladdin", "open sesame").second, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    EXPECT_EQ(bearer_auth("mF_9.B5f-4.1JqM"),
              (std::pair<std::string, std::string>("Authorization", "Bearer mF_9.B5f-4.1JqM")));
}
TEST(client, has_a_call_for_each_method) {
    served s(redirecting);
    client c = make();
    const std::string u = root(s) + "/u";
    EXPECT_EQ(show(c.put(u, "b", "text/x")), "200 PUT /u text/x - - b");
    EXPECT_EQ(show(c.patch(u, "b")), "200 PATCH /u application/octet-stream - - b");
    EXPECT_EQ(show(c.del(u)), "200 DELETE /u - - - ");
    EXPECT_EQ(show(c.head(u)), "200 ");
    auto loop = *event_loop::create();
    async_client a(*loop);
    std::string all;
    int left = 5;
    const auto note = [&](result<reply> r) {
        all += show(r).substr(4, 3);
        --left;
    };
    const auto wait = [&](int until) {
        while (left > until) loop->run_once();
    };
    a.post(u, "b", "text/x", note), wait(4);
    a.put(u, "b", "text/x", note), wait(3);
    a.patch(u, "b", "text/x", note), wait(2);
    a.del(u, note), wait(1);
    a.head(u, note), wait(0);
    EXPECT_EQ(all, "POSPUTPATDEL");
}

}  // namespace wire::http::policy_test
