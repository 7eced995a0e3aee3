#include "wire/loop/stream_filter.hpp"

#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "filtered_streams.hpp"
#include "pieces.hpp"

namespace wire::stream_filter_test {

using namespace std::chrono_literals;
using testing::end_mark;
using testing::filtered_streams;
using testing::probe;
using testing::question;
using testing::toy;
using testing::veiled;

TEST_F(filtered_streams, open_after_the_handshake_and_carry_bytes_both_ways) {
    connect();
    EXPECT_EQ(client.log, "connected open ");
    EXPECT_EQ(server.log, "open ");
    client.write("ping");
    client.write(" and more");
    EXPECT_EQ(client.unsent(), 13U);
    run_until([&] { return server.received == "ping and more"; });
    EXPECT_EQ(client.sends, 1);
    EXPECT_EQ(client.unsent(), 0U);
    server.write("pong");
    EXPECT_TRUE(server.flush());
    EXPECT_EQ(server.unsent(), loop->engine() == loop_engine::io_uring ? 5U : 0U);
    run_until([&] { return client.received == "pong"; });
}
TEST_F(filtered_streams, are_not_open_before_the_handshake_is_complete) {
    connect_to_raw_server();
    EXPECT_EQ(client.log, "connected ");
    EXPECT_FALSE(client.is_open());
    EXPECT_FALSE(client.is_closed());
    client.write("early");
    EXPECT_TRUE(client.flush());
    some_iterations();
    EXPECT_EQ(server.received, "hi!");
    EXPECT_EQ(client.sends, 0);
    server.write("yo!");
    run_until([&] { return server.received == "hi!" + veiled("early"); });
    EXPECT_EQ(client.log, "connected open ");
}
TEST_F(filtered_streams, what_is_written_while_connecting_is_sent) {
    begin();
    client.write("early");
    client.shutdown_write();
    run_until([&] { return server.log == "open end "; });
    EXPECT_EQ(server.received, "early");
}
TEST_F(filtered_streams, the_handshakes_last_bytes_leave_with_the_first_data) {
    begin(false, true);
    std::size_t unsent = 1;
    server.on_opened = [&] {
        unsent = server.unsent();
        server.write("first");
    };
    client.write("hi!");
    run_until([&] { return client.received == "yo!" + veiled("first"); });
    EXPECT_EQ(unsent, 0U);
    EXPECT_EQ(server.sends, 1);
}
TEST_F(filtered_streams, bytes_cut_anywhere) {
    const std::string transcript = "yo!" + veiled("one") + veiled("two") + std::string(1, end_mark);
    for (const auto& pieces : testing::all_cuts(transcript)) {
        connect_to_raw_server();
        for (const auto piece : pieces) {
            server.write(piece);
            EXPECT_TRUE(server.flush());
            loop->run_once(0ms);
        }
        run_until([&] { return client.log == "connected open end "; });
        EXPECT_EQ(client.received, "onetwo");
        client.close();
        server.close();
        client.log.clear();
        client.received.clear();
        server.received.clear();
    }
}
TEST_F(filtered_streams, handshake_of_the_other_role_cut_anywhere) {
    const std::string transcript = "hi!" + veiled("question");
    for (const auto& pieces : testing::all_cuts(transcript)) {
        connect_to_raw_client();
        for (const auto piece : pieces) {
            client.write(piece);
            EXPECT_TRUE(client.flush());
            loop->run_once(0ms);
        }
        run_until([&] { return server.received == "question"; });
        EXPECT_EQ(server.log, "open ");
        client.close();
        server.close();
        server.log.clear();
        server.received.clear();
    }
}
TEST_F(filtered_streams, more_than_the_socket_takes_waits_and_drains) {
    connect();
    std::string large;
    for (int i = 0; large.size() < (8U << 20); ++i) large += std::to_string(i);
    server.pause_reading();
    client.write(large);
    EXPECT_TRUE(client.flush());
    EXPECT_GT(client.unsent(), 0U);
    some_iterations();
    EXPECT_GT(client.unsent(), 0U);
    EXPECT_EQ(server.received, "");
    server.resume_reading();
    run_until([&] { return server.received.size() == large.size(); });
    EXPECT_EQ(client.unsent(), 0U);
    run_until([&] { return client.log == "connected open drained "; });
    EXPECT_TRUE(server.received == large);
}
TEST_F(filtered_streams, idle_ones_hold_no_buffer) {
    connect();
    client.write("x");
    server.write("y");
    run_until([&] { return server.received == "x" && client.received == "y"; });
    const std::size_t kept = loop->pool().kept();
    EXPECT_GE(kept, 1U);
    buffer probe_of_pool;
    loop->pool().lend(probe_of_pool);
    EXPECT_EQ(loop->pool().kept(), kept - 1);
    loop->pool().reclaim(probe_of_pool);
}
// The handshake's last word is the other side's: nothing follows that would give the storage back.
TEST_F(filtered_streams, hold_no_buffer_once_their_handshake_is_sent) {
    connect();
    EXPECT_EQ(client.filter()->to_peer_.capacity(), 0U);
}
TEST_F(filtered_streams, questions_of_a_peer_that_takes_no_answers_are_bounded) {
    connect_to_raw_client();
    client.write("hi!");
    client.pause_reading();
    const std::string questions(2000, static_cast<char>(question));
    for (int i = 0; i < 100 && !server.is_closed(); ++i) {
        client.write(questions);
        EXPECT_TRUE(client.flush() || server.is_closed());
        loop->run_once(0ms);
    }
    run_until([&] { return server.is_closed(); });
    EXPECT_EQ(server.log, "open failed: the peer does not take the answers that it asks for ");
}
TEST_F(filtered_streams, close_inside_a_callback_ends_all_callbacks) {
    begin();
    client.write("x");
    server.on_opened = [&] { server.close(); };
    run_until([&] { return server.log == "open " && server.is_closed(); });
    some_iterations();
    EXPECT_EQ(server.log, "open ");
    EXPECT_EQ(server.received, "");
}
TEST_F(filtered_streams, may_destroy_themselves_in_a_callback) {
    for (const bool when_opened : {true, false}) {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        const unique_fd peer(ends[0]);
        auto mortal = std::make_unique<probe>();
        mortal->set_filter(std::make_unique<toy>(false));
        ASSERT_TRUE(mortal->attach(*loop, unique_fd(ends[1])));
        (when_opened ? mortal->on_opened : mortal->on_bytes) = [&] {
            auto* const owner = &mortal;
            owner->reset();
        };
        const std::string said = "hi!" + veiled("x");
        ASSERT_EQ(::send(peer.get(), said.data(), said.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(said.size()));
        run_until([&] { return mortal == nullptr; });
    }
}
TEST_F(filtered_streams, can_lead_a_new_life_from_inside_a_callback) {
    connect();
    bool again = false;
    client.on_bytes = [&] {
        if (std::exchange(again, true)) return;
        client.set_filter(std::make_unique<toy>(true));
        EXPECT_TRUE(client.connect(*loop, at));
    };
    server.write(std::string(40'000, 'x'));  // more than one callback's worth
    run_until([&] { return client.log == "connected open connected open "; });
    EXPECT_LE(client.received.size(), 33'000U);
    server.write("second");
    run_until([&] { return client.received.ends_with("second"); });
}
TEST_F(filtered_streams, forget_the_filter_when_closed) {
    connect();
    EXPECT_NE(client.filter(), nullptr);
    client.close();
    EXPECT_EQ(client.filter(), nullptr);
    server.close();
    server.received.clear();
    begin(false, false);
    run_until([&] { return client.is_open() && server.is_open(); });
    client.write("plain");
    run_until([&] { return server.received == "plain"; });
}
TEST_F(filtered_streams, storage_of_ones_own_is_filled_directly) {
    struct owner final : stream {
        std::array<char, 7> own{};
        std::string seen;
        std::span<char> receive_space(std::span<char>) override { return own; }
        void on_data(std::span<char> bytes) override {
            EXPECT_EQ(bytes.data(), own.data());
            seen.append(bytes.data(), bytes.size());
        }
        void on_end() override {}
        void on_failure(const error&) override {}
    } special;
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    const unique_fd peer(ends[0]);
    special.set_filter(std::make_unique<toy>(true));
    ASSERT_TRUE(special.attach(*loop, unique_fd(ends[1])));
    const std::string said = "yo!" + veiled("twenty bytes in all!");
    ASSERT_EQ(::send(peer.get(), said.data(), said.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(said.size()));
    run_until([&] { return special.seen == "twenty bytes in all!"; });
}

}  // namespace wire::stream_filter_test
