#include "wire/websocket/topics.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <thread>

#include "served.hpp"
#include "ws_peer.hpp"

namespace wire::ws::topics_test {

using testing::frame;
using testing::served;
using testing::ws_peer;

// "+topic" and "-topic" subscribe and unsubscribe, "topic:text" publishes to the others; each but
// the last is answered.
http::router service(const topics& all) {
    http::router r;
    r.websocket("/", [all](session& s, const http::request&) {
        s.on_message([all](session& s, message m) {
            const std::string text(m.data);
            if (text[0] == '+') {
                s.send(to_string(all.subscribe(s, text.substr(1)).code()));
            } else if (text[0] == '-') {
                s.send(all.unsubscribe(s, text.substr(1)) ? "left" : "was not there");
            } else {
                const auto colon = text.find(':');
                all.publish_from(s, text.substr(0, colon), text.substr(colon + 1), m.op);
                s.send("published");
            }
        });
    });
    return r;
}
std::string ask(ws_peer& p, const std::string& text, opcode op = opcode::text) {
    p.send(frame(op, text));
    return p.next();
}

TEST(topics, reach_the_subscribers_of_all_loops_but_the_publisher) {
    const topics all;
    http::server_options options;
    options.loops = 3;
    served s(service(all), options);
    std::list<ws_peer> peers;
    for (int i = 0; i < 12; ++i) EXPECT_EQ(ask(peers.emplace_back(s.port()), "+a"), "1 no error");
    EXPECT_EQ(ask(peers.back(), "+b"), "1 no error");
    EXPECT_EQ(ask(peers.front(), "a:\x01\x02", opcode::binary), "1 published");
    for (auto p = std::next(peers.begin()); p != peers.end(); ++p)
        EXPECT_EQ(p->next(), "2 \x01\x02");
    all.publish("b", "only one");
    all.publish("a", "all");
    all.publish("none", "nobody");
    EXPECT_EQ(peers.back().next(), "1 only one");
    for (auto& p : peers) EXPECT_EQ(p.next(), "1 all");
}
TEST(topics, reach_the_subscribers_of_all_loops_of_one_thread) {
    const topics all;
    const auto make_server = [&all] {
        http::server_options options;
        options.host = "127.0.0.1";
        auto made = http::server::listen(0, service(all), std::move(options));
        EXPECT_TRUE(made) << made.error().message;
        return *std::move(made);
    };
    http::server one = make_server();
    http::server two = make_server();
    std::atomic<bool> over{false};
    std::thread peers([&] {
        ws_peer p(one.port());
        ws_peer q(two.port());
        EXPECT_EQ(ask(p, "+a"), "1 no error");
        EXPECT_EQ(ask(q, "+a"), "1 no error");
        EXPECT_EQ(ask(p, "a:x"), "1 published");
        EXPECT_EQ(q.next(), "1 x");
        EXPECT_EQ(ask(q, "a:y"), "1 published");
        EXPECT_EQ(p.next(), "1 y");
        over = true;
    });
    while (!over) {
        one.run_once(std::chrono::milliseconds(1));
        two.run_once(std::chrono::milliseconds(1));
    }
    peers.join();
}
TEST(topics, left_by_asking_and_by_closing) {
    const topics all;
    served s(service(all));
    ws_peer stays(s.port());
    EXPECT_EQ(ask(stays, "+a"), "1 no error");
    {
        ws_peer goes(s.port());
        ws_peer closes(s.port());
        EXPECT_EQ(ask(goes, "+a"), "1 no error");
        EXPECT_EQ(ask(closes, "+a"), "1 no error");
        EXPECT_EQ(ask(closes, "+b"), "1 no error");
        EXPECT_EQ(ask(closes, "-b"), "1 left");
        EXPECT_EQ(ask(closes, "-b"), "1 was not there");
        EXPECT_EQ(ask(closes, "b:nobody"), "1 published");
        closes.send(frame(opcode::close, "\x03\xE8"));
        EXPECT_EQ(closes.next(), "8 \x03\xE8");
    }
    EXPECT_EQ(ask(stays, "+a"), "1 no error");  // twice is once
    all.publish("a", "x");
    EXPECT_EQ(stays.next(), "1 x");
    EXPECT_EQ(ask(stays, "-a"), "1 left");
    all.publish("a", "y");
    EXPECT_EQ(ask(stays, "-a"), "1 was not there");
}
TEST(topics, bounded_in_number_and_name) {
    const topics all;
    http::server_options options;
    options.limits.max_topics = 2;
    options.limits.max_topic_bytes = 3;
    served s(service(all), options);
    ws_peer p(s.port());
    EXPECT_EQ(ask(p, "+abcd"), "1 bad argument");
    EXPECT_EQ(ask(p, "+abc"), "1 no error");
    EXPECT_EQ(ask(p, "+b"), "1 no error");
    EXPECT_EQ(ask(p, "+c"), "1 subscribed to too many topics");
    EXPECT_EQ(ask(p, "-abc"), "1 left");
    EXPECT_EQ(ask(p, "+c"), "1 no error");
    ws_peer q(s.port());
    EXPECT_EQ(ask(q, "+c"), "1 no error");
    EXPECT_EQ(ask(p, "c:hi"), "1 published");
    EXPECT_EQ(q.next(), "1 hi");
}
TEST(topics, in_order_from_each_thread) {
    const topics all;
    http::server_options options;
    options.loops = 2;
    served s(service(all), options);
    std::list<ws_peer> peers;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(ask(peers.emplace_back(s.port()), "+a"), "1 no error");
    constexpr int count = 500;
    std::vector<std::thread> publishers;
    for (const std::string name : {"x", "y"}) {
        publishers.emplace_back([&all, name] {
            for (int i = 0; i < count; ++i) all.publish("a", name + std::to_string(i));
        });
    }
    for (auto& p : peers) {
        int x = 0;
        int y = 0;
        while (x + y < 2 * count) {
            const std::string got = p.next();
            ASSERT_EQ(got,
                      got[2] == 'x' ? "1 x" + std::to_string(x++) : "1 y" + std::to_string(y++));
        }
    }
    for (auto& t : publishers) t.join();
}

// Publishes until a peer that does not read has been congested for a while; what that peer, and one
// that does read, get.
std::pair<std::string, int> overwhelm(slow_subscriber policy) {
    const topics all(policy);
    http::server_options options;
    options.limits.max_unsent_bytes = 50'000;
    served s(service(all), options);
    ws_peer slow(s.port());
    ws_peer quick(s.port());
    EXPECT_EQ(ask(slow, "+a"), "1 no error");
    EXPECT_EQ(ask(quick, "+a"), "1 no error");
    constexpr int count = 2000;
    int received = 0;
    for (int i = 0; i < count; ++i) {
        all.publish("a", std::to_string(i) + std::string(10'000, 'x'));
        received += quick.next().starts_with("1 " + std::to_string(i) + "x") ? 1 : 0;
    }
    EXPECT_EQ(received, count);
    int got = 0;
    for (;;) {
        const std::string next = slow.next();
        if (next.starts_with("8 ")) return {next, got};
        ++got;
        if (policy == slow_subscriber::skip && got == 5) return {"open", got};
    }
}
TEST(topics, slow_subscribers_miss_messages) {
    EXPECT_EQ(overwhelm(slow_subscriber::skip).first, "open");
}
TEST(topics, slow_subscribers_are_closed) {
    const auto [end, got] = overwhelm(slow_subscriber::close);
    EXPECT_EQ(end,
              "8 \x03\xF5"
              "too slow");
    EXPECT_LT(got, 2000);
}
TEST(topics, one_set_for_several_servers_of_which_one_ends) {
    const topics all;
    http::server_options options;
    options.drain_timeout = std::chrono::milliseconds(50);
    served stays(service(all), options);
    ws_peer p(stays.port());
    EXPECT_EQ(ask(p, "+a"), "1 no error");
    {
        served goes(service(all));
        ws_peer q(goes.port());
        EXPECT_EQ(ask(q, "+a"), "1 no error");
        all.publish("a", "both");
        EXPECT_EQ(q.next(), "1 both");
    }
    all.publish("a", "one");
    EXPECT_EQ(p.next(), "1 both");
    EXPECT_EQ(p.next(), "1 one");
    stays.stop();
    all.publish("a", "nobody");
}

}  // namespace wire::ws::topics_test
