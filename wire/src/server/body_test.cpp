#include "wire/server/body.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"

namespace wire::http::body_test {

using testing::patterned;
using testing::post;
using testing::post_chunked;
using testing::raw_peer;
using testing::served;

// Sends back what it reads as it comes, and waits for the peer to take it.
struct echo : std::enable_shared_from_this<echo> {
    body_writer out;
    body_reader in;

    static void start(response res, body_reader reader) {
        auto self = std::make_shared<echo>();
        self->in = std::move(reader);
        self->out = res.start_body();
        self->out.on_drained([self] { self->in.resume(); });
        self->in.read(
            [self](std::string_view piece) {
                if (!self->out.write(piece)) self->in.pause();
            },
            [self](errc why) {
                if (why == errc::none) self->out.finish();
            });
    }
};

TEST(bodies, may_be_sent_back_as_they_come) {
    router routes;
    routes.stream(method::post, "/", echo::start);
    served s(std::move(routes));
    raw_peer p(s.port());
    for (const std::size_t n : {0UL, 1UL, 1000UL, 5'000'000UL}) {
        const std::string text = patterned(n);
        std::thread sender([&] {
            p.send(post("/", text) + post_chunked("/", n == 0 ? std::vector<std::string>{}
                                                              : std::vector{text, text}));
        });
        EXPECT_TRUE(p.response() == "200 " + text) << n;
        EXPECT_TRUE(p.response() == "200 " + text + text) << n;
        sender.join();
    }
}
TEST(bodies, whoever_sends_without_reading_has_to_wait) {
    server_options options;
    options.limits.max_unsent_bytes = 100'000;
    router routes;
    routes.stream(method::post, "/", echo::start);
    served s(std::move(routes), options);
    raw_peer p(s.port());
    const std::string text = patterned(60'000'000);
    const std::string all = post("/", text);
    const std::size_t sent = p.send_until_stuck(all, 300);
    EXPECT_LT(sent, all.size());
    std::thread sender([&] { p.send(std::string_view(all).substr(sent)); });
    EXPECT_TRUE(p.response() == "200 " + text);
    sender.join();
    p.send(post("/", "small"));
    EXPECT_EQ(p.response(), "200 small");
}
TEST(bodies, what_was_sent_back_is_cut_off_when_the_request_is) {
    router routes;
    routes.stream(method::post, "/", echo::start);
    served s(std::move(routes));
    for (const std::string end : {"x\r\n", ""}) {
        raw_peer p(s.port());
        p.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" +
               end);
        if (end.empty()) p.finish_sending();
        const std::string all = p.rest();
        EXPECT_EQ(all.find("0\r\n\r\n"), std::string::npos);
    }
}

}  // namespace wire::http::body_test
