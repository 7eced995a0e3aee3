// The order in which addresses are tried, and which of them wins.
#include "connector.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>

#include "loop/blocking_loop.hpp"
#include "wire/loop/event_loop.hpp"

namespace wire::detail::connector_test {

using namespace std::chrono_literals;

address v4(const char* literal, std::uint16_t port) { return *address::parse(literal, port); }

// Listens, and answers nobody: its backlog is full.
struct silent {
    explicit silent(const char* literal) {
        listening = *listen_tcp(v4(literal, 0), {.backlog = 0});
        at = *local_address(listening.get());
        for (int i = 0; i < 4; ++i) crowd.push_back(*connect_tcp(at));
    }
    unique_fd listening;
    address at;
    std::vector<unique_fd> crowd;
};
struct answering {
    explicit answering(const char* literal)
        : listening(*listen_tcp(v4(literal, 0))), at(*local_address(listening.get())) {}
    unique_fd listening;
    address at;
};
address nobody(const char* literal) { return answering(literal).at; }

struct race {
    std::unique_ptr<event_loop> loop;
    std::optional<connector> c;
    std::optional<result<unique_fd>> got;

    race(std::chrono::milliseconds delay, bool blocks)
        : loop(blocks ? blocking_loop() : *event_loop::create()) {
        c.emplace(*loop, connect_options{}, delay, blocks);
    }
    void run(std::vector<address> to) {
        c->start(std::move(to), [this](result<unique_fd> r) { got.emplace(std::move(r)); });
        wait();
    }
    void wait(std::chrono::milliseconds most = 5s) {
        const auto until = clock::now() + most;
        while (!got && clock::now() < until) loop->run_once(until - clock::now());
    }
    std::string winner() const {
        return got && *got ? peer_address((**got).get())->to_string() : "none";
    }
};

TEST(connector, families_take_turns) {
    const std::vector<address> in = {*address::parse("::1", 1), *address::parse("::2", 1),
                                     *address::parse("::3", 1), v4("10.0.0.1", 1),
                                     v4("10.0.0.2", 1)};
    std::string order;
    for (const address& a : interleave(in)) order += a.to_string() + " ";
    EXPECT_EQ(order, "[::1]:1 10.0.0.1:1 [::2]:1 10.0.0.2:1 [::3]:1 ");
    EXPECT_TRUE(interleave({}).empty());
}

// Without waiting, and as the blocking clients do.
struct race_of : ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(connector, race_of, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "blocking" : "on_a_loop"; });

TEST_P(race_of, takes_the_first_in_order) {
    const answering a("127.0.0.1");
    const answering b("127.0.0.2");
    race r(250ms, GetParam());
    r.run({b.at, a.at});
    EXPECT_EQ(r.winner(), b.at.to_string());
}
TEST_P(race_of, goes_on_at_once_when_refused) {
    const answering good("127.0.0.1");
    race r(1h, GetParam());  // a delay would be noticed
    r.run({nobody("127.0.0.2"), nobody("127.0.0.3"), good.at});
    EXPECT_EQ(r.winner(), good.at.to_string());
    EXPECT_NE(r.c->describe_attempts().find("127.0.0.2"), std::string::npos);
}
TEST_P(race_of, goes_on_after_the_delay_when_nobody_answers) {
    const silent first("127.0.0.2");
    const silent second("127.0.0.3");
    const answering good("127.0.0.1");
    race r(20ms, GetParam());
    const auto begun = r.loop->now();
    r.run({first.at, second.at, good.at});
    EXPECT_EQ(r.winner(), good.at.to_string());
    EXPECT_GE(clock::now() - begun, 40ms);
}
TEST_P(race_of, the_delay_is_at_least_ten_milliseconds) {
    const silent first("127.0.0.2");
    const answering good("127.0.0.1");
    race r(0ms, GetParam());
    const auto begun = r.loop->now();
    r.run({first.at, good.at});
    EXPECT_GE(clock::now() - begun, 10ms);
    EXPECT_EQ(r.winner(), good.at.to_string());
}
TEST_P(race_of, the_delay_may_be_for_ever) {
    const silent first("127.0.0.2");
    const answering good("127.0.0.1");
    race r(std::chrono::milliseconds::max(), GetParam());
    r.c->start({first.at, good.at}, [&](result<unique_fd> got) { r.got.emplace(std::move(got)); });
    r.wait(50ms);
    EXPECT_FALSE(r.got);
}
TEST_P(race_of, a_later_one_may_lose_to_an_earlier) {
    silent slow("127.0.0.2");
    const silent never("127.0.0.3");
    race r(10ms, GetParam());
    r.c->start({slow.at, never.at}, [&](result<unique_fd> got) { r.got.emplace(std::move(got)); });
    r.wait(50ms);
    EXPECT_FALSE(r.got);
    // Room in the backlog, and nobody else who waits for it: the kernel's next SYN, about a
    // second later, finds it.
    slow.crowd.clear();
    while (unique_fd(::accept(slow.listening.get(), nullptr, nullptr))) continue;
    r.wait();
    EXPECT_EQ(r.winner(), slow.at.to_string());
}
TEST_P(race_of, is_told_from_the_loop) {
    const answering a("127.0.0.1");
    race r(10ms, GetParam());
    r.c->start({a.at}, [&](result<unique_fd> got) { r.got.emplace(std::move(got)); });
    EXPECT_FALSE(r.got);
    r.wait();
    EXPECT_EQ(r.winner(), a.at.to_string());
}
TEST_P(race_of, may_go_when_it_is_won) {
    const answering a("127.0.0.1");
    race r(10ms, GetParam());
    r.c->start({a.at, a.at}, [](result<unique_fd>) { ADD_FAILURE(); });
    r.c.reset();
    r.loop->run_once(20ms);
}
TEST_P(race_of, says_how_each_failed) {
    const address a = nobody("127.0.0.2");
    const address b = *address::parse("::1", a.port());
    race r(10ms, GetParam());
    r.run({a, b});
    ASSERT_TRUE(r.got && !*r.got);
    EXPECT_EQ(r.got->code(), errc::refused);
    EXPECT_NE(r.got->error().message.find(a.to_string() + ": Connection refused"),
              std::string::npos)
        << r.got->error().message;
    EXPECT_NE(r.got->error().message.find(b.to_string() + ": "), std::string::npos)
        << r.got->error().message;
}
TEST_P(race_of, no_address_is_an_error) {
    race r(10ms, GetParam());
    r.run({});
    EXPECT_EQ(r.got->code(), errc::not_resolved);
}
TEST_P(race_of, goes_on_with_those_that_lost) {
    const silent first("127.0.0.2");
    const answering good("127.0.0.1");
    const answering other("127.0.0.4");
    race r(10ms, GetParam());
    r.run({first.at, good.at, other.at});
    ASSERT_EQ(r.winner(), good.at.to_string());
    r.got.reset();
    EXPECT_TRUE(r.c->go_on([&](result<unique_fd> got) { r.got.emplace(std::move(got)); }));
    r.wait();
    EXPECT_EQ(r.winner(), other.at.to_string());
}
TEST_P(race_of, many_addresses_make_no_endless_story) {
    std::vector<address> to(200, nobody("127.0.0.2"));
    race r(10ms, GetParam());
    r.run(to);
    EXPECT_EQ(r.got->code(), errc::refused);
    EXPECT_LT(r.got->error().message.size(), 700U);
}
TEST_P(race_of, may_go_while_it_races) {
    const silent first("127.0.0.2");
    race r(10ms, GetParam());
    r.c->start({first.at, first.at}, [](result<unique_fd>) { ADD_FAILURE(); });
    r.loop->run_once(15ms);
    r.c.reset();
    r.loop->run_once(20ms);
}

}  // namespace wire::detail::connector_test
