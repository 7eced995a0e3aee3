// What goes before a response's head, and what follows a body: on the wire, and between this
// server and this client.
#include <gtest/gtest.h>

#include <thread>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"

namespace wire::http::interim_and_trailers_test {

using testing::get;
using testing::raw_peer;
using testing::served;

std::string all_of(const header_list& fields) {
    std::string text;
    for (const header& f : fields) text.append(f.name).append("=").append(f.value).append(";");
    return text;
}
std::string url_of(const served& s) { return "http://127.0.0.1:" + std::to_string(s.port()) + "/"; }

void with_trailers(response res) {
    body_writer out = res.start_body();
    const bool has_body = out.is_open();  // none to HEAD
    out.write("body");
    EXPECT_EQ(out.trailer("X-Sum", "4"), has_body);
    EXPECT_EQ(out.trailer("X-Other", ""), has_body);
    EXPECT_FALSE(out.trailer("Content-Length", "4"));
    EXPECT_FALSE(out.trailer("Set-Cookie", "a=b"));
    EXPECT_FALSE(out.trailer("X Y", "4"));
    EXPECT_FALSE(out.trailer("X-Split", "4\r\nX-Evil: 1"));
    out.finish();
    EXPECT_FALSE(out.trailer("X-Late", "4"));
}

TEST(response_trailers, follow_the_body_of_those_who_ask) {
    served s(with_trailers);
    raw_peer p(s.port());
    p.send(get("/", "TE: trailers\r\nConnection: close\r\n"));
    const std::string asked = p.rest();
    EXPECT_TRUE(asked.ends_with("4\r\nbody\r\n0\r\nX-Sum: 4\r\nX-Other: \r\n\r\n")) << asked;
}
TEST(response_trailers, are_left_out_where_nobody_asked_or_there_is_no_place) {
    served s(with_trailers);
    for (const std::string fields : {"", "TE: deflate\r\n"}) {
        raw_peer p(s.port());
        p.send(get("/", fields + "Connection: close\r\n"));
        const std::string got = p.rest();
        EXPECT_TRUE(got.ends_with("4\r\nbody\r\n0\r\n\r\n")) << got;
    }
    raw_peer old(s.port());
    old.send("GET / HTTP/1.0\r\nTE: trailers\r\n\r\n");
    EXPECT_TRUE(old.rest().ends_with("\r\n\r\nbody"));
    raw_peer head(s.port());
    head.send("HEAD / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(head.rest().ends_with("\r\n\r\n"));
    served whole([](response res) {
        body_writer out = res.start_body(4);
        out.write("body");
        out.trailer("X-Sum", "4");
        out.finish();
    });
    raw_peer p(whole.port());
    p.send(get("/", "TE: trailers\r\nConnection: close\r\n"));
    EXPECT_TRUE(p.rest().ends_with("\r\n\r\nbody"));
}
TEST(response_trailers, may_be_added_on_another_thread) {
    std::thread other;
    served s([&other](response res) {
        other = std::thread([out = res.start_body()]() mutable {
            out.write("body");
            out.trailer("X-Sum", "4");
            out.finish();
        });
    });
    raw_peer p(s.port());
    p.send(get("/", "TE: trailers\r\nConnection: close\r\n"));
    EXPECT_TRUE(p.rest().ends_with("0\r\nX-Sum: 4\r\n\r\n"));
    other.join();
}
TEST(response_trailers, reach_the_client) {
    served s(with_trailers);
    auto c = client::create();
    ASSERT_TRUE(c);
    client_request asks = make_request(method::get, url_of(s));
    asks.headers.emplace_back("TE", "trailers");
    const auto got = c->send(asks);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body(), "body");
    EXPECT_EQ(all_of(got->trailers()), "X-Sum=4;X-Other=;");
    EXPECT_FALSE(got->header("X-Sum"));
    served echo([](response res) {
        res.send(std::string(res.request().header("Connection").value_or("none")));
    });
    asks.url = url_of(echo);
    EXPECT_EQ(c->send(asks)->body(), "TE");
    EXPECT_EQ(c->get(url_of(echo))->body(), "none");
    const auto without = c->get(url_of(s));
    ASSERT_TRUE(without);
    EXPECT_TRUE(without->trailers().empty());
    EXPECT_EQ(c->connections_opened(), 2U);  // one for each server
}

constexpr std::string_view chunked =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n"
    "X-Sum: 4\r\nHost: evil\r\nAuthorization: x\r\nX-Other:\r\n\r\n";

TEST(request_trailers, are_apart_from_the_head_and_gone_with_the_next_request) {
    served s([](response res) {
        const request& r = res.request();
        const bool mixed = r.header("X-Sum") || r.header("Authorization");
        res.send(std::string(r.body()) + " " + all_of(r.trailers()) + (mixed ? " mixed" : ""));
    });
    raw_peer p(s.port());
    p.send(std::string(chunked) + get("/") + std::string(chunked));
    EXPECT_EQ(p.response(), "200 body X-Sum=4;X-Other=;");
    EXPECT_EQ(p.response(), "200  ");
    EXPECT_EQ(p.response(), "200 body X-Sum=4;X-Other=;");
    raw_peer slow(s.port());
    for (const char c : chunked) slow.send({&c, 1});
    EXPECT_EQ(slow.response(), "200 body X-Sum=4;X-Other=;");
}
TEST(request_trailers, are_there_at_the_end_of_a_body_in_pieces) {
    router r;
    r.stream(method::post, "/", [](response res, body_reader in) {
        in.read([](std::string_view) {},
                [res = std::move(res)](errc) mutable {
                    const std::string text = all_of(res.request().trailers());
                    res.send(text);
                });
    });
    served s(std::move(r));
    raw_peer p(s.port());
    p.send(chunked);
    EXPECT_EQ(p.response(), "200 X-Sum=4;X-Other=;");
}
TEST(request_trailers, are_bounded) {
    served s([](response res) { res.send("taken"); });
    raw_peer p(s.port());
    std::string many(chunked.substr(0, chunked.find("X-Sum")));
    for (int i = 0; i < 1000; ++i) many += "X-Filler: " + std::string(20, 'x') + "\r\n";
    p.send(many + "\r\n");
    EXPECT_EQ(p.response().substr(0, 11), "(close) 431");
}

void with_hints(response res) {
    EXPECT_FALSE(res.early_hints({{"Link", "</a>"}, {"X", "a\r\nY: b"}}));
    EXPECT_FALSE(res.early_hints({{"Content-Length", "3"}}));
    EXPECT_FALSE(res.early_hints({{"", "3"}}));
    const bool sent = res.early_hints({{"Link", "</a.css>; rel=preload"}, {"X-N", "1"}});
    EXPECT_EQ(sent, res.request().minor_version() == 1);
    res.header("Link", "</b.css>").send(res.early_hints({}) ? "hinted" : "not hinted");
}

TEST(early_hints, go_ahead_of_the_response) {
    served s(with_hints);
    raw_peer p(s.port());
    p.send(get("/"));
    EXPECT_EQ(p.response(), "103 103 200 hinted");
    EXPECT_TRUE(
        p.head_text.starts_with("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n"
                                "X-N: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"
                                "HTTP/1.1 200 OK\r\n"))
        << p.head_text;
    p.send(get("/"));
    EXPECT_EQ(p.response(), "103 103 200 hinted");
}
TEST(early_hints, are_not_sent_to_http_1_0_nor_from_other_threads) {
    served s(with_hints);
    raw_peer old(s.port());
    old.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_TRUE(old.rest().starts_with("HTTP/1.1 200 OK\r\n"));
    std::thread other;
    served elsewhere([&other](response res) {
        other = std::thread([res = std::move(res)]() mutable {
            res.send(res.early_hints({{"Link", "</a>"}}) ? "sent" : "not sent");
        });
    });
    raw_peer p(elsewhere.port());
    p.send(get("/"));
    EXPECT_EQ(p.response(), "200 not sent");
    other.join();
}
TEST(early_hints, are_told_to_clients_that_want_them_and_skipped_otherwise) {
    served s(with_hints);
    auto c = client::create();
    ASSERT_TRUE(c);
    std::string seen;
    client_request asks = make_request(method::get, url_of(s));
    asks.on_interim = [&seen](const response_head& h) {
        seen += std::to_string(h.status) + " " + std::string(h.headers.find("Link").value_or("-")) +
                ";";
    };
    const auto got = c->send(asks);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->status(), 200);
    EXPECT_EQ(got->header("Link"), "</b.css>");
    EXPECT_EQ(seen, "103 </a.css>; rel=preload;103 -;");
    EXPECT_EQ(c->get(url_of(s))->body(), "hinted");
    EXPECT_EQ(c->connections_opened(), 1U);
}
TEST(early_hints, may_make_a_client_cancel) {
    served s(with_hints);
    auto loop = event_loop::create();
    ASSERT_TRUE(loop);
    async_client c(**loop);
    client_request asks = make_request(method::get, url_of(s));
    request_id id = 0;
    int hints = 0;
    asks.on_interim = [&](const response_head&) {
        ++hints;
        c.cancel(id);
    };
    std::optional<errc> end;
    id = c.send(std::move(asks), [&end](result<reply> got) { end = got.code(); });
    while (!end) (*loop)->run_once();
    EXPECT_EQ(*end, errc::cancelled);
    EXPECT_EQ(hints, 1);
}

}  // namespace wire::http::interim_and_trailers_test
