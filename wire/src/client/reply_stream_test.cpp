// Responses awaited piece by piece: back-pressure, ends of every kind, and who is destroyed first.
#include "wire/client/reply_stream.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/loop/task.hpp"
#include "wire/server/router.hpp"

namespace wire::http::reply_stream_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;

client_request get(std::string url) { return make_request(method::get, std::move(url)); }
std::string root(const served& s) { return "http://127.0.0.1:" + std::to_string(s.port()); }

// "STATUS body|how it ended".
task<std::string> read_all(async_client& c, client_request request) {
    auto got = co_await stream(c, std::move(request));
    if (!got) co_return std::string(to_string(got.code()));
    std::string all = std::to_string(got->head().status()) + " ";
    EXPECT_EQ(got->end(), nullptr);
    for (;;) {
        const auto piece = co_await got->next();
        if (!piece) {
            // The same again.
            EXPECT_EQ((co_await got->next()).code(), piece.code());
            EXPECT_EQ(got->end(), nullptr);
            co_return all + "|" + std::string(to_string(piece.code()));
        }
        if (piece->empty()) break;
        all += *piece;
    }
    EXPECT_TRUE((co_await got->next())->empty());
    if (got->end() == nullptr) co_return "no end";
    all += "|" + std::to_string(got->end()->redirects().size());
    for (const auto& f : got->end()->trailers()) all += " " + std::string(f.name);
    co_return all;
}

struct reply_streams : ::testing::Test {
    std::unique_ptr<event_loop> loop = *event_loop::create();
    client_options options;

    std::string read(const std::string& url) {
        async_client c(*loop, options);
        return block_on(*loop, read_all(c, get(url)));
    }
    std::string read_raw(const std::string& answer) {
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            v.send(answer);
        });
        return read(raw.url());
    }
};

TEST_F(reply_streams, give_bodies_of_every_framing) {
    EXPECT_EQ(read_raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), "200 hello|0");
    EXPECT_EQ(read_raw("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"), "404 |0");
    EXPECT_EQ(read_raw("HTTP/1.1 200 OK\r\n\r\nuntil the end"), "200 until the end|0");
    EXPECT_EQ(read_raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 1\r\n\r\n"),
              "200 abcde|0 X-Sum");
}
TEST_F(reply_streams, give_what_came_before_an_error) {
    EXPECT_EQ(read_raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
              "200 hello|" + std::string(to_string(errc::closed_early)));
    EXPECT_EQ(read_raw("HTTP/2.0 200 OK\r\n"), std::string(to_string(errc::bad_version)));
    EXPECT_EQ(read("nonsense"), std::string(to_string(errc::bad_url)));
}
TEST_F(reply_streams, follow_redirects_first) {
    served s([](response res) {
        if (res.request().path() == "/a") return res.redirect("/b");
        if (res.request().path() == "/c") return res.redirect("/c");
        res.send("here");
    });
    EXPECT_EQ(read(root(s) + "/a"), "200 here|1");
    EXPECT_EQ(read(root(s) + "/c"), std::string(to_string(errc::too_many_redirects)));
    options.max_redirects = 0;
    EXPECT_EQ(read(root(s) + "/a").substr(0, 4), "302 ");
}

// The server stops being read while nobody takes the pieces, and all arrives nevertheless.
TEST_F(reply_streams, slow_the_server_down) {
    static constexpr std::size_t size = 64 << 20;
    std::atomic<std::size_t> sent{0};
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n");
        const std::string piece(64 * 1024, 'x');
        for (std::size_t i = 0; i < size / piece.size(); ++i) {
            v.send(piece);
            sent += piece.size();
        }
        EXPECT_TRUE(v.is_left());
    });
    async_client c(*loop);
    const auto slowly = [](async_client& client, std::string url, event_loop& on,
                           std::atomic<std::size_t>& there) -> task<std::size_t> {
        auto got = co_await stream(client, get(std::move(url)));
        if (!got) co_return 0;
        std::size_t before = 0;
        do {  // until the server is stuck
            before = there;
            co_await sleep_for(on, 100ms);
        } while (there != before);
        EXPECT_LT(there, size);
        std::size_t bytes = 0;
        for (;;) {
            const auto piece = co_await got->next();
            if (!piece || piece->empty()) break;
            EXPECT_LE(piece->size(), 1U << 20);
            bytes += piece->size();
        }
        co_return bytes;
    };
    EXPECT_EQ(block_on(*loop, slowly(c, raw.url(), *loop, sent)), size);
}

// Destroyed while it waits for the head, while it waits for a piece, and while it does not wait.
TEST_F(reply_streams, end_the_request_when_they_are_destroyed) {
    for (const std::string sent :
         {"", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nhello"}) {
        std::atomic<bool> left{false};
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            v.request();
            v.send(sent);
            EXPECT_TRUE(v.is_left());
            left = true;
        });
        async_client c(*loop);
        std::optional<task_group> group(std::in_place);
        bool opened = false;
        bool given = false;
        group->spawn([](async_client& client, std::string url, event_loop& on, bool& has_head,
                        bool& has_piece) -> task<> {
            auto got = co_await stream(client, get(std::move(url)));
            has_head = true;
            const auto piece = co_await got->next();
            has_piece = true;
            co_await sleep_for(on, 1h);
        }(c, raw.url(), *loop, opened, given));
        const auto until = clock::now() + 10s;
        const bool wants_head = !sent.empty();
        const bool wants_piece = sent.ends_with("hello");
        while ((opened != wants_head || given != wants_piece) && clock::now() < until)
            loop->run_once(10ms);
        if (!wants_head) {
            for (int i = 0; i < 3; ++i) loop->run_once(10ms);
        }
        EXPECT_EQ(opened, wants_head);
        EXPECT_EQ(given, wants_piece);
        group.reset();
        while (!left && clock::now() < until) loop->run_once(10ms);
        EXPECT_TRUE(left);
    }
}
TEST_F(reply_streams, are_told_when_the_client_goes) {
    std::atomic<bool> release{false};
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        v.request();
        v.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
        while (!release) std::this_thread::yield();
    });
    std::optional<async_client> c(std::in_place, *loop);
    std::string said;
    std::string body;
    task_group group;
    group.spawn(
        [](async_client& client, std::string url, std::string& all, std::string& how) -> task<> {
            auto got = co_await stream(client, get(std::move(url)));
            for (;;) {
                const auto piece = co_await got->next();
                if (!piece) {
                    how = to_string(piece.code());
                    co_return;
                }
                all += *piece;
            }
        }(*c, raw.url(), body, said));
    const auto until = clock::now() + 10s;
    while (body != "hello" && clock::now() < until) loop->run_once(10ms);
    c.reset();
    loop->run_once(0ms);
    EXPECT_EQ(said, to_string(errc::stopped));
    EXPECT_TRUE(group.empty());
    release = true;
}
// Coroutines may destroy the client from where they are resumed.
TEST_F(reply_streams, may_end_the_client) {
    served s([](response res) { res.send("body"); });
    std::optional<async_client> c(std::in_place, *loop);
    const auto ends = [](std::optional<async_client>& client,
                         std::string url) -> task<std::string> {
        auto got = co_await stream(*client, get(std::move(url)));
        client.reset();
        std::string all;
        for (;;) {
            const auto piece = co_await got->next();
            if (!piece) co_return all + "|" + std::string(to_string(piece.code()));
            if (piece->empty()) co_return all + "|";
            all += *piece;
        }
    };
    const std::string said = block_on(*loop, ends(c, root(s)));
    EXPECT_TRUE(said == "body|" || said.ends_with("|" + std::string(to_string(errc::stopped))))
        << said;
}

}  // namespace wire::http::reply_stream_test
