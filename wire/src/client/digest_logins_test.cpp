// Digest authentication as servers see it: when it is sent, to whom, and how often.
#include "digest_logins.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "proto/auth_challenge.hpp"
#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/client/streaming.hpp"

namespace wire::http::digest_logins_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;
using tls::detail::hash;
using tls::detail::hash_hex;

#define NEED_HASHES() \
    if (!hash_hex(hash::md5, "")) GTEST_SKIP() << "no MD5 in this build"

// Serves whoever knows that "me" has the password "secret". The log has an entry for each request:
// its nonce and count, or "-", and the status.
class guard {
public:
    explicit guard(std::string algorithm = "SHA-256", unsigned uses = 1000)
        : algorithm_(std::move(algorithm)), uses_(uses) {}

    void operator()(response res) {
        const std::lock_guard lock(mutex_);
        const request& r = res.request();
        const auto given = r.header("authorization");
        std::vector<detail::auth_challenge> found;
        if (!given || !detail::parse_auth_challenges(*given, found) || found.size() != 1)
            return refuse(std::move(res), "-", "");
        const auto& c = found.front();
        const auto part = [&c](const char* name) { return c.param(name).value_or(""); };
        const std::string entry = part("nonce") + "." + part("nc");
        if (part("response") != expected(part, r)) return refuse(std::move(res), entry, "");
        if (part("nonce") != nonce()) return refuse(std::move(res), entry, ", stale=true");
        if (used_++ == uses_) {
            ++generation_;
            used_ = 0;
            return refuse(std::move(res), entry, ", stale=true");
        }
        log_ += entry + " 200;";
        res.send(std::string(r.body()) + part("nc").substr(7));
    }
    std::string log() {
        const std::lock_guard lock(mutex_);
        return log_;
    }
    // As one that was started again: it knows no nonce of before, and does not say "stale".
    void forget() {
        const std::lock_guard lock(mutex_);
        ++generation_;
        forgot_ = true;
    }

private:
    std::string nonce() const { return "n" + std::to_string(generation_); }
    template <typename Part> std::string expected(const Part& part, const request& r) {
        if (forgot_ && part("nonce") != nonce()) return "none";
        const auto h = [this](const std::string& text) {
            return *hash_hex(algorithm_.starts_with("MD5") ? hash::md5 : hash::sha256, text);
        };
        std::string secret = h("me:here:secret");
        if (algorithm_.ends_with("-sess"))
            secret = h(secret + ":" + part("nonce") + ":" + part("cnonce"));
        return h(secret + ":" + part("nonce") + ":" + part("nc") + ":" + part("cnonce") +
                 ":auth:" + h(std::string(r.method_text()) + ":" + std::string(r.target())));
    }
    void refuse(response res, const std::string& entry, const std::string& more) {
        log_ += entry + " 401;";
        res.status(401).header("WWW-Authenticate",
                               "Basic realm=\"here\", Digest realm=\"here\", qop=\"auth\", "
                               "algorithm=" +
                                   algorithm_ + ", nonce=\"" + nonce() + "\"" + more);
        res.send("who are you?");
    }

    std::string algorithm_;
    unsigned uses_;
    std::mutex mutex_;
    std::string log_;
    unsigned generation_ = 1;
    unsigned used_ = 0;
    bool forgot_ = false;
};

std::string origin(const served& s) { return "http://127.0.0.1:" + std::to_string(s.port()); }
handler guarded(guard& g) {
    return [&g](response res) { g(std::move(res)); };
}
client with_logins(std::vector<digest_login> logins) {
    client_options options;
    options.digest_logins = std::move(logins);
    return *client::create(options);
}
std::string show(const result<reply>& r) {
    return r ? std::to_string(r->status()) + " " + std::string(r->body())
             : std::string(to_string(r.code()));
}

TEST(digest_logins, answer_a_challenge_and_count_from_then_on) {
    NEED_HASHES();
    for (const char* algorithm : {"MD5", "MD5-sess", "SHA-256", "SHA-256-sess"}) {
        guard g(algorithm);
        served s(guarded(g));
        client c = with_logins({{origin(s), "me", "secret"}});
        EXPECT_EQ(show(c.get(origin(s) + "/a?b=c")), "200 1") << algorithm;
        EXPECT_EQ(show(c.post(origin(s) + "/b", "body")), "200 body2") << algorithm;
        EXPECT_EQ(show(c.get(origin(s) + "/a")), "200 3") << algorithm;
        EXPECT_EQ(g.log(), "- 401;n1.00000001 200;n1.00000002 200;n1.00000003 200;");
        EXPECT_EQ(c.connections_opened(), 1U);
    }
}
TEST(digest_logins, take_a_fresh_nonce_where_theirs_is_stale) {
    NEED_HASHES();
    guard g("SHA-256", 2);
    served s(guarded(g));
    client c = with_logins({{origin(s), "me", "secret"}});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(c.get(origin(s) + "/")->status(), 200);
    EXPECT_EQ(g.log(), "- 401;n1.00000001 200;n1.00000002 200;n1.00000003 401;n2.00000001 200;");
}
TEST(digest_logins, survive_a_server_that_was_started_again) {
    NEED_HASHES();
    guard g;
    served s(guarded(g));
    client c = with_logins({{origin(s), "me", "secret"}});
    EXPECT_EQ(c.get(origin(s) + "/")->status(), 200);
    g.forget();
    EXPECT_EQ(c.get(origin(s) + "/")->status(), 200);
    EXPECT_EQ(g.log(), "- 401;n1.00000001 200;n1.00000002 401;n2.00000001 200;");
}
TEST(digest_logins, that_are_wrong_are_tried_once) {
    NEED_HASHES();
    guard g;
    served s(guarded(g));
    client c = with_logins({{origin(s), "me", "wrong"}});
    EXPECT_EQ(show(c.get(origin(s) + "/")), "401 who are you?");
    EXPECT_EQ(g.log(), "- 401;n1.00000001 401;");
    EXPECT_EQ(show(c.get(origin(s) + "/")), "401 who are you?");
    EXPECT_EQ(g.log(), "- 401;n1.00000001 401;- 401;n1.00000001 401;");
}
TEST(digest_logins, are_not_kept_asking_by_a_server_that_is_never_content) {
    NEED_HASHES();
    int requests = 0;
    served s([&](response res) {
        ++requests;
        res.status(401).header("WWW-Authenticate", "Digest realm=r, qop=auth, stale=true, nonce=n" +
                                                       std::to_string(requests));
        res.send();
    });
    EXPECT_EQ(with_logins({{origin(s), "me", "secret"}}).get(origin(s) + "/")->status(), 401);
    s.stop();
    EXPECT_EQ(requests, 3);
}
TEST(digest_logins, are_for_their_origin_alone) {
    NEED_HASHES();
    guard g;
    served other(guarded(g));
    served s([&](response res) {
        if (!res.request().header("authorization")) {
            res.status(401).header(
                "WWW-Authenticate",
                "Digest realm=here, qop=auth, nonce=n, domain=\"" + origin(other) + "/\"");
        } else {
            res.status(307).header("Location", origin(other) + "/there");
        }
        res.send();
    });
    // Another host, though it is the same server.
    const std::string by_name = "http://localhost:" + std::to_string(other.port());
    client c = with_logins({{origin(s), "me", "secret"}, {by_name, "me", "secret"}});
    EXPECT_EQ(show(c.get(origin(s) + "/")), "401 who are you?");
    EXPECT_EQ(show(c.get(origin(other) + "/")), "401 who are you?");
    EXPECT_EQ(g.log(), "- 401;- 401;");
    // A login of its own is used there.
    client both = with_logins({{origin(s), "me", "secret"}, {origin(other) + "/", "me", "secret"}});
    EXPECT_EQ(show(both.get(origin(s) + "/")), "200 1");
    EXPECT_EQ(g.log(), "- 401;- 401;- 401;n1.00000001 200;");
}
TEST(digest_logins, leave_requests_with_a_field_of_their_own_alone) {
    NEED_HASHES();
    guard g;
    served s(guarded(g));
    client c = with_logins({{origin(s), "me", "secret"}});
    client_request r = make_request(method::get, origin(s) + "/");
    r.headers.push_back(bearer_auth("token"));
    EXPECT_EQ(c.send(r)->status(), 401);
    EXPECT_EQ(g.log(), ". 401;");  // once
}
TEST(digest_logins, work_with_bodies_in_pieces) {
    NEED_HASHES();
    guard g;
    served s(guarded(g));
    client c = with_logins({{origin(s), "me", "secret"}});
    const auto with_source = [&](bool rewinds) {
        client_request r = make_request(method::put, origin(s) + "/");
        auto left = std::make_shared<int>(2);
        r.source.pull = [left](buffer& out, std::size_t) -> result<source_state> {
            out.append("piece");
            return --*left == 0 ? source_state::end : source_state::more;
        };
        if (rewinds) r.source.rewind = [left] { *left = 2; };
        return r;
    };
    std::string got;
    const auto collect = [&](std::string_view piece) {
        got += piece;
        return true;
    };
    // It cannot be sent again, and its caller is told why.
    EXPECT_EQ(c.send(with_source(false), collect)->status(), 401);
    EXPECT_EQ(got, "who are you?");
    got.clear();
    g.forget();
    EXPECT_EQ(c.send(with_source(true), collect)->status(), 200);
    EXPECT_EQ(got, "piecepiece1");
    got.clear();
    EXPECT_EQ(c.send(with_source(false), collect)->status(), 200);
    EXPECT_EQ(got, "piecepiece2");
}
// Their caller may ask again.
TEST(digest_logins, answer_the_next_time_for_what_cannot_be_sent_again) {
    NEED_HASHES();
    guard g("SHA-256", 2);
    served s(guarded(g));
    client c = with_logins({{origin(s), "me", "secret"}});
    const auto upload = [&] {
        client_request r = make_request(method::put, origin(s) + "/");
        r.source.pull = [](buffer& out, std::size_t) -> result<source_state> {
            out.append("body");
            return source_state::end;
        };
        return show(c.send(std::move(r)));
    };
    std::string seen;
    for (int i = 0; i < 5; ++i) seen += upload() + ";";
    EXPECT_EQ(seen, "401 who are you?;200 body1;200 body2;401 who are you?;200 body1;");
    EXPECT_EQ(g.log(), "- 401;n1.00000001 200;n1.00000002 200;n1.00000003 401;n2.00000001 200;");
}
TEST(digest_logins, serve_many_requests_at_once) {
    NEED_HASHES();
    guard g("SHA-256", 10);
    served s(guarded(g));
    client_options options;
    options.digest_logins = {{origin(s), "me", "secret"}};
    options.max_connections_per_host = 4;
    auto loop = *event_loop::create();
    async_client c(*loop, options);
    int done = 0;
    for (int i = 0; i < 20; ++i) {
        c.get(origin(s) + "/", [&](result<reply> r) {
            EXPECT_EQ(r->status(), 200);
            ++done;
        });
    }
    while (done < 20) loop->run_once();
}
TEST(digest_logins, hand_over_what_they_cannot_answer) {
    NEED_HASHES();
    for (const std::string value :
         {"Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\"", "Digest realm=\"r\", =",
          "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-512-256", ""}) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            v.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nWWW-Authenticate: " + value +
                   "\r\n\r\nno");
            EXPECT_TRUE(v.is_left());
        });
        client c = with_logins({{raw.url(""), "me", "secret"}});
        std::string pieces;
        const auto got = c.send(make_request(method::get, raw.url()), [&](std::string_view piece) {
            pieces += piece;
            return true;
        });
        EXPECT_EQ(show(got), "401 ") << value;
        EXPECT_EQ(pieces, "no") << value;
    }
}
TEST(digest_logins, that_are_malformed_are_refused) {
    const auto why = [](std::vector<digest_login> logins) {
        const auto got = with_logins(std::move(logins)).get("http://127.0.0.1:1/");
        EXPECT_FALSE(got);
        return std::string(to_string(got.code())) + " " + got.error().message;
    };
    if (!hash_hex(hash::md5, "")) {
        const auto told = why({{"http://a", "me", "secret"}});
        EXPECT_EQ(told.find("bad argument"), 0U) << told;
        EXPECT_NE(told.find("built without TLS"), std::string::npos) << told;
        return;
    }
    for (const char* bad : {"", "a", "http://", "ws://a", "http://a/path", "http://a?q",
                            "http://u:p@a", "http://a:0"})
        EXPECT_NE(why({{bad, "me", "secret"}}).find("bad argument"), std::string::npos) << bad;
    EXPECT_NE(why({{"http://a", "m:e", "secret"}}).find("without ':'"), std::string::npos);
    EXPECT_NE(why({{"http://a", "me\r\nX: y", "secret"}}).find("without ':'"), std::string::npos);
    EXPECT_NE(why({{"http://a", "me", "1"}, {"HTTP://A:80/", "you", "2"}})
                  .find("expected one login for each origin"),
              std::string::npos);
    EXPECT_EQ(why({{"http://a", "me", "secret"}}).find("bad argument"), std::string::npos);
}

}  // namespace wire::http::digest_logins_test
