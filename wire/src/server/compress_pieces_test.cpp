// Compression of bodies that are written in pieces.
#include <gtest/gtest.h>

#include <future>

#include "compressed.hpp"
#include "wire/server/compress.hpp"

namespace wire::http::compress_pieces_test {

using namespace std::chrono_literals;
using testing::next_chunk;
using testing::noise;
using testing::raw_peer;
using testing::unpacked;

constexpr std::size_t pieces = 200;

std::string piece(std::size_t i) { return "line " + std::to_string(i) + " of many lines\n"; }
std::string all_pieces() {
    std::string t;
    for (std::size_t i = 0; i < pieces; ++i) t += piece(i);
    return t;
}
void write_all(body_writer out) {
    for (std::size_t i = 0; i < pieces; ++i) out.write(piece(i));
    out.finish();
}

struct compressed_pieces : testing::compressed {
    compressed_pieces() { whole = all_pieces(); }
    void serve(router r, server_options o = {}) { server.emplace(std::move(r), std::move(o)); }
    static std::string request(const std::string& target) {
        return testing::get(target, "Accept-Encoding: gzip\r\n");
    }
};

TEST_F(compressed_pieces, as_the_client_asks_from_any_thread) {
    router r;
    r.after(compress());
    r.get("/", [](response res) { write_all(res.header("ETag", "\"x\"").start_body()); });
    r.get("/elsewhere", [this](response res) {
        pool.run([out = res.start_body()]() mutable { write_all(std::move(out)); });
    });
    r.get("/whole_elsewhere", [this](response res) {
        pool.run([res = std::move(res)]() mutable { write_all(res.start_body()); });
    });
    serve(std::move(r));
    EXPECT_EQ(ask("/"), "gzip|Accept-Encoding|W/\"x\"|whole");
    EXPECT_LT(sent, all_pieces().size() * 2 / 3);
    EXPECT_EQ(ask("/", "deflate"), "deflate|Accept-Encoding|W/\"x\"|whole");
    EXPECT_EQ(ask("/", "compress"), "Accept-Encoding|\"x\"|whole");
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(ask("/elsewhere"), "gzip|Accept-Encoding|whole");
        ASSERT_EQ(ask("/whole_elsewhere", "deflate"), "deflate|Accept-Encoding|whole");
    }
}
TEST_F(compressed_pieces, each_write_can_be_read_at_once) {
    std::promise<body_writer> started;
    router r;
    r.after(compress());
    r.get("/events", [&](response res) {
        started.set_value(res.content_type("text/event-stream").start_body());
    });
    serve(std::move(r));
    raw_peer p(server->port());
    p.send(request("/events"));
    body_writer out = started.get_future().get();
    EXPECT_NE(p.head().find("Transfer-Encoding: chunked\r\n"), std::string::npos);
    auto reader = *decompressor::create(coding::gzip);
    for (int i = 0; i < 5; ++i) {
        const std::string event = "data: " + std::to_string(i) + "\n\n";
        out.write(event);
        buffer got;
        while (got.size() < event.size()) {
            const std::string chunk = next_chunk(p);
            ASSERT_FALSE(chunk.empty());
            ASSERT_EQ(reader.add(chunk, 1000, got).error, errc::none);
        }
        EXPECT_EQ(got.view(), event);
    }
    out.finish();
    buffer got;
    EXPECT_TRUE(reader.add(next_chunk(p), 1000, got).ended);
    EXPECT_EQ(next_chunk(p), "");
}
// Middleware that sends later lets the handler write before anybody has said that it will be
// compressed.
TEST_F(compressed_pieces, what_was_written_before_it_is_sent) {
    router r;
    r.after(compress());
    r.after([this](response& res) {
        pool.run([res = std::move(res)]() mutable {
            std::this_thread::sleep_for(1ms);
            res.send();
        });
    });
    r.get("/", [](response res) { write_all(res.start_body()); });
    r.get("/elsewhere", [this](response res) {
        pool.run([out = res.start_body()]() mutable { write_all(std::move(out)); });
    });
    serve(std::move(r));
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(ask("/"), "gzip|Accept-Encoding|whole");
        ASSERT_EQ(ask("/elsewhere"), "gzip|Accept-Encoding|whole");
    }
}
TEST_F(compressed_pieces, what_is_left_alone) {
    router r;
    r.after(compress());
    const auto add = [&r](const std::string& path, auto change) {
        r.get(path, [change](response res) mutable {
            change(res);
            write_all(res.start_body());
        });
    };
    add("/part", [](response& res) { res.status(206); });
    add("/encoded", [](response& res) { res.header("Content-Encoding", "compress"); });
    add("/as-is", [](response& res) { res.header("Cache-Control", "no-transform"); });
    add("/image", [](response& res) { res.content_type("image/png"); });
    add("/204", [](response& res) { res.status(204); });
    add("/304", [](response& res) { res.status(304); });
    add("/bad", [](response& res) { res.header("a b", "c"); });
    r.get("/length", [](response res) { write_all(res.start_body(all_pieces().size())); });
    serve(std::move(r));
    for (const std::string path : {"/part", "/as-is", "/image", "/length"})
        EXPECT_EQ(ask(path), "whole") << path;
    EXPECT_EQ(ask("/encoded"), "compress|whole");
    EXPECT_EQ(ask("/204"), "");
    EXPECT_EQ(ask("/304"), "Accept-Encoding|");  // the Vary of its 200
    EXPECT_EQ(ask("/bad"), "Internal Server Error\n");
}
TEST_F(compressed_pieces, for_head_and_http_1_0) {
    router r;
    r.after(compress());
    r.get("/", [](response res) { write_all(res.start_body()); });
    serve(std::move(r));
    EXPECT_EQ(ask("/", "gzip", method::head), "gzip|Accept-Encoding|");
    raw_peer old(server->port());
    old.send("GET / HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
    EXPECT_NE(old.head().find("Content-Encoding: gzip\r\n"), std::string::npos);
    EXPECT_EQ(unpacked(coding::gzip, old.rest()), all_pieces());
}
TEST_F(compressed_pieces, no_more_at_a_time_than_allowed) {
    std::vector<body_writer> open;
    router r;
    r.after(compress({.max_streams = 2}));
    r.get("/open", [&](response res) { open.push_back(res.start_body()); });
    r.get("/", [](response res) { write_all(res.start_body()); });
    server_options o;
    o.drain_timeout = 100ms;
    serve(std::move(r), o);
    raw_peer a(server->port());
    raw_peer b(server->port());
    for (raw_peer* p : {&a, &b}) {
        p->send(request("/open"));
        EXPECT_NE(p->head().find("gzip"), std::string::npos);
    }
    EXPECT_EQ(ask("/"), "Accept-Encoding|whole");
    b.reset();  // gone before its end: the writer is kept all the same
    std::string got;
    for (int i = 0; i < 1000 && got != "gzip|Accept-Encoding|whole"; ++i) {
        std::this_thread::sleep_for(1ms);
        got = ask("/");
    }
    EXPECT_EQ(got, "gzip|Accept-Encoding|whole");
    server->stop();
}
TEST_F(compressed_pieces, a_slow_reader_holds_the_writer_back) {
    const std::string block = noise(48 * 1024);  // repeated beyond the window: it does not shrink
    std::promise<int> held;
    std::promise<void> drained;
    router r;
    r.after(compress());
    r.get("/", [&](response res) {
        pool.run([&, out = res.start_body()]() mutable {
            out.on_drained([&] { drained.set_value(); });
            int n = 1;
            while (out.write(block) && n < 1024) ++n;  // until the kernel takes no more either
            held.set_value(n);
            drained.get_future().wait();
            out.on_drained({});
            out.write(block);
            out.finish();
        });
    });
    server_options o;
    o.limits.max_unsent_bytes = 64 * 1024;
    serve(std::move(r), o);
    raw_peer p(server->port());
    p.send(request("/"));
    const int before = held.get_future().get();
    EXPECT_LT(before, 1024);
    const std::size_t bytes = block.size() * (static_cast<std::size_t>(before) + 1);
    const std::string got = p.response();
    auto d = *decompressor::create(coding::gzip);
    buffer all;
    EXPECT_TRUE(d.add(std::string_view(got).substr(4), bytes, all).ended);
    EXPECT_EQ(all.size(), bytes);
    EXPECT_TRUE(all.view().ends_with(block));
}
// At any moment of the writers, which run on other threads than the loop that notices.
TEST_F(compressed_pieces, while_the_connection_goes_away) {
    constexpr int peers = 60;
    const std::string block = noise(2 * 1024);
    std::atomic<int> closed{0};
    std::atomic<int> ended{0};
    router r;
    r.after(compress({.max_streams = peers}));
    r.get("/endless", [&](response res) {
        pool.run([&, out = res.start_body()]() mutable {
            out.on_closed([&] { ++closed; });
            while (out.is_open()) {
                if (!out.write(block)) std::this_thread::sleep_for(1ms);
            }
            ++ended;
        });
    });
    r.get("/", [](response res) { write_all(res.start_body()); });
    server_options o;
    o.limits.max_unsent_bytes = 64 * 1024;
    serve(std::move(r), o);
    for (int i = 0; i < peers; ++i) {
        raw_peer p(server->port());
        p.send(request("/endless"));
        if (i % 3 == 0) continue;  // perhaps before anything was written
        EXPECT_NE(p.head().find("gzip"), std::string::npos);
        p.exactly(static_cast<std::size_t>(i) * 500);
        if (i % 3 == 1) p.reset();
    }
    while (ended < peers) std::this_thread::sleep_for(1ms);
    // Had the compressors not come back, there would be none left.
    EXPECT_EQ(ask("/"), "gzip|Accept-Encoding|whole");
    server->stop();
    EXPECT_EQ(closed, peers);
}
TEST_F(compressed_pieces, a_writer_that_is_dropped_leaves_it_incomplete) {
    router r;
    r.after(compress());
    r.get("/", [](response res) {
        body_writer out = res.start_body();
        out.write("half");
    });
    serve(std::move(r));
    raw_peer p(server->port());
    p.send(request("/"));
    EXPECT_EQ(p.response(), "<end>");
    EXPECT_EQ(p.head_text.find("Content-Length"), std::string::npos);
}

}  // namespace wire::http::compress_pieces_test
