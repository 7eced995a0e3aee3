#include "wire/loop/stream_filter.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "pieces.hpp"
#include "wire/loop/listener.hpp"
#include "wire/loop/stream.hpp"

namespace wire::stream_filter_test {

using namespace std::chrono_literals;

constexpr char key = 0x5a;
constexpr unsigned char end_mark = 0;
constexpr unsigned char question = 255;  // makes the other side owe 1,000 bytes

std::string veiled(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t n = std::min<std::size_t>(text.size(), 254);
        out += static_cast<char>(n);
        for (const char c : text.substr(0, n)) out += static_cast<char>(c ^ key);
        text.remove_prefix(n);
    }
    return out;
}

// A toy of the same shape as TLS: "hi!" and "yo!" are its handshake, a record is a length and
// veiled bytes, length 0 is the end.
class toy final : public stream_filter {
public:
    explicit toy(bool client) : client_(client) {}

    result<void> begin(buffer& to_peer) override {
        if (client_) to_peer.append("hi!");
        return {};
    }
    result<step> receive(std::span<const char> raw, std::span<char> plain,
                         buffer& to_peer) override {
        step s;
        while (!ended_ && (s.consumed < raw.size() || !ready_.empty())) {
            if (!ready_.empty()) {
                const std::size_t n = std::min(ready_.size(), plain.size() - s.produced);
                std::copy_n(ready_.data(), n, plain.data() + s.produced);
                ready_.erase(0, n);
                s.produced += n;
                if (s.produced == plain.size()) return s;
                continue;
            }
            part_ += raw[s.consumed++];
            const auto first = static_cast<unsigned char>(part_[0]);
            if (!open_) {
                const std::string expected = client_ ? "yo!" : "hi!";
                if (expected.compare(0, part_.size(), part_) != 0) {
                    to_peer.append("!!");
                    return error(errc::tls_failed, "handshake: not a toy");
                }
                if (part_ != expected) continue;
                part_.clear();
                open_ = true;
                if (!client_) to_peer.append("yo!");
                return s;
            }
            if (first == end_mark) {
                ended_ = true;
            } else if (first == question) {
                to_peer.append(veiled(std::string(1000, 'a')));
                part_.clear();
            } else if (part_.size() == std::size_t{first} + 1) {
                for (const char c : part_.substr(1)) ready_ += static_cast<char>(c ^ key);
                part_.clear();
            }
        }
        return s;
    }
    result<void> send(std::string_view plain, buffer& to_peer) override {
        if (plain.find("unsendable") != std::string_view::npos)
            return error(errc::tls_failed, "cannot send this");
        to_peer.append(veiled(plain));
        return {};
    }
    void finish(buffer& to_peer) noexcept override { to_peer.append(static_cast<char>(end_mark)); }
    bool is_open() const noexcept override { return open_; }
    bool has_ended() const noexcept override { return ended_; }

private:
    bool client_;
    bool open_ = false;
    bool ended_ = false;
    std::string part_;
    std::string ready_;
};

constexpr std::size_t scratch_bytes = 1 << 20;  // more than there is

// A stream that notes what happens to it.
struct probe : stream {
    std::string log;
    std::string received;
    errc failure = errc::none;
    unique_function<void()> on_opened;
    unique_function<void()> on_bytes;
    std::size_t most = scratch_bytes;  // received at a time
    int sends = 0;

    std::span<char> receive_space(std::span<char> scratch) override {
        return scratch.first(std::min(most, scratch.size()));
    }
    void on_connected() override { log += "connected "; }
    void on_open() override {
        log += "open ";
        if (on_opened) on_opened();
    }
    void on_data(std::span<char> bytes) override {
        received.append(bytes.data(), bytes.size());
        if (on_bytes) on_bytes();
    }
    void on_end() override { log += "end "; }
    void on_failure(const error& why) override {
        failure = why.code;
        log += "failed: " + why.message + " ";
    }
    void before_send() override { ++sends; }
    void on_drained() override { log += "drained "; }
};

class filtered_streams : public ::testing::Test {
protected:
    void SetUp() override {
        auto made = event_loop::create();
        ASSERT_TRUE(made);
        loop = *std::move(made);
        auto listening = listen_tcp(address::loopback_v4(0));
        ASSERT_TRUE(listening) << listening.error().message;
        at = *local_address(listening->get());
        ASSERT_TRUE(door.start(*loop, *std::move(listening), [this](unique_fd fd, const address&) {
            if (server_filtered) server.set_filter(std::make_unique<toy>(false));
            EXPECT_TRUE(server.attach(*loop, std::move(fd)));
        }));
    }
    // Iterates until `done`; a test that hangs is ended by its runner.
    void run_until(const std::function<bool()>& done) {
        while (!done()) loop->run_once(100ms);
    }
    void some_iterations() {
        for (int i = 0; i < 5; ++i) loop->run_once(0ms);
    }
    void begin(bool client_is = true, bool server_is = true) {
        server_filtered = server_is;
        if (client_is) client.set_filter(std::make_unique<toy>(true));
        ASSERT_TRUE(client.connect(*loop, at));
    }
    void connect() {
        begin();
        run_until([&] { return server.is_open() && client.is_open(); });
    }
    // A filtered client, and a server that speaks raw bytes.
    void connect_to_raw_server() {
        begin(true, false);
        run_until([&] { return server.received == "hi!"; });
    }
    void connect_to_raw_client() {
        begin(false, true);
        run_until([&] { return client.is_open(); });
    }
    std::unique_ptr<event_loop> loop;
    listener door;
    address at;
    probe client;
    probe server;
    bool server_filtered = true;

    void TearDown() override {
        client.close();
        server.close();
        door.close();
    }
};

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
TEST_F(filtered_streams, are_not_quiet_with_the_end_behind_bytes) {
    connect_to_raw_server();
    server.write("yo!");
    run_until([&] { return client.is_open(); });
    EXPECT_TRUE(client.quiet());
    bool quiet = true;
    client.on_bytes = [&] { quiet = client.quiet(); };
    server.write(veiled("last") + std::string(1, end_mark));
    run_until([&] { return client.received == "last"; });
    EXPECT_FALSE(quiet);
}
TEST_F(filtered_streams, a_pause_in_the_middle_holds_the_rest) {
    connect();
    std::string large;
    for (int i = 0; large.size() < 100'000; ++i) large += std::to_string(i) + ",";
    server.on_bytes = [&] { server.pause_reading(); };
    client.write(large);
    std::size_t before = 0;
    for (int pauses = 0; server.received.size() < large.size(); ++pauses) {
        run_until([&] { return server.received.size() > before; });
        before = server.received.size();
        some_iterations();
        EXPECT_EQ(server.received.size(), before);
        EXPECT_EQ(large.compare(0, before, server.received), 0);
        server.resume_reading();
        EXPECT_EQ(server.received.size(), before);  // never from inside the call
    }
    EXPECT_EQ(server.log, "open ");
}
// Whether the end of the connection comes during the pause or finds it over.
TEST_F(filtered_streams, what_a_pause_held_back_comes_before_the_end) {
    for (const bool during : {true, false}) {
        for (const bool in_order : {true, false}) {
            connect_to_raw_server();
            client.on_opened = [&] { client.pause_reading(); };
            server.write("yo!" + veiled("held") + (in_order ? std::string(1, end_mark) : ""));
            if (during) server.shutdown_write();
            run_until([&] { return client.is_open(); });
            some_iterations();
            server.shutdown_write();
            some_iterations();
            EXPECT_EQ(client.received, "");
            EXPECT_EQ(client.log, "connected open ");
            client.resume_reading();
            run_until([&] { return client.log != "connected open "; });
            some_iterations();
            EXPECT_EQ(client.received, "held");
            EXPECT_EQ(client.log, in_order ? "connected open end "
                                           : "connected open failed: the connection's end, without "
                                             "the peer's word that it has sent all ");
            client.close();
            server.close();
            client.on_opened = nullptr;
            client.log.clear();
            client.received.clear();
            server.log.clear();
            server.received.clear();
        }
    }
}
// The same where the peer resets the connection: in the pause, before it, or between its end and
// the next iteration.
TEST_F(filtered_streams, what_a_pause_held_back_comes_before_a_reset) {
    for (const bool during : {true, false}) {
        for (const bool pieces : {true, false}) {
            connect_to_raw_server();
            client.on_opened = [&] { client.pause_reading(); };
            server.write("yo!" + veiled("held") + veiled(std::string(250, 'x')));
            run_until([&] { return client.is_open(); });
            if (during) {
                server.close(true);
                some_iterations();
            }
            EXPECT_EQ(client.received, "");
            EXPECT_EQ(client.log, "connected open ");
            if (pieces) {
                client.most = 100;
                client.on_bytes = [&] { client.pause_reading(); };
            }
            client.resume_reading();
            if (!during) server.close(true);
            for (int i = 0; i < 20 && !client.is_closed(); ++i) {
                some_iterations();
                if (!client.reading()) client.resume_reading();
            }
            EXPECT_TRUE(client.is_closed());
            EXPECT_EQ(client.received, "held" + std::string(250, 'x'));
            EXPECT_EQ(client.failure, errc::reset);
            client.on_opened = nullptr;
            client.on_bytes = nullptr;
            client.most = scratch_bytes;
            client.log.clear();
            client.received.clear();
            server.log.clear();
            server.received.clear();
        }
    }
}
// A reader that pauses in the last bytes is not told of the end that came with them.
TEST_F(filtered_streams, a_pause_in_the_last_bytes_holds_the_end) {
    for (const bool closes : {true, false}) {
        connect_to_raw_server();
        client.on_bytes = [&] { client.pause_reading(); };
        server.write("yo!" + veiled("last") + std::string(1, end_mark));
        if (closes) server.shutdown_write();
        run_until([&] { return client.received == "last"; });
        some_iterations();
        EXPECT_EQ(client.log, "connected open ");
        EXPECT_FALSE(client.quiet());
        client.resume_reading();
        EXPECT_EQ(client.log, "connected open ");  // never from inside the call
        run_until([&] { return client.log != "connected open "; });
        some_iterations();
        EXPECT_EQ(client.log, "connected open end ");
        EXPECT_EQ(client.received, "last");
        client.close();
        server.close();
        client.on_bytes = nullptr;
        client.log.clear();
        client.received.clear();
        server.log.clear();
        server.received.clear();
    }
}
TEST_F(filtered_streams, a_reset_is_told_at_once_where_something_is_to_be_sent) {
    for (const bool before : {true, false}) {
        connect_to_raw_server();
        client.on_opened = [&] { client.pause_reading(); };
        server.write("yo!" + veiled("held"));
        run_until([&] { return client.is_open(); });
        if (before) client.out().append("unsent");
        server.close(true);
        some_iterations();
        EXPECT_EQ(client.is_closed(), before);
        if (!before) {
            client.out().append("unsent");
            EXPECT_FALSE(client.flush());
            some_iterations();
        }
        EXPECT_TRUE(client.is_closed());
        EXPECT_EQ(client.failure, errc::reset);
        client.on_opened = nullptr;
        client.failure = errc::none;
        server.received.clear();
    }
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
TEST_F(filtered_streams, the_end_leaves_the_other_direction_open) {
    connect();
    client.shutdown_write();
    run_until([&] { return server.log == "open end "; });
    server.write("still here");
    run_until([&] { return client.received == "still here"; });
    EXPECT_TRUE(server.is_open());
    server.shutdown_write();
    run_until([&] { return client.log.ends_with("end "); });
}
TEST_F(filtered_streams, a_bare_end_of_the_connection_is_a_failure) {
    connect_to_raw_server();
    server.write("yo!" + veiled("half"));
    server.shutdown_write();
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.failure, errc::truncated);
    EXPECT_EQ(client.received, "half");
    EXPECT_EQ(client.log,
              "connected open failed: the connection's end, without the peer's word that it has "
              "sent all ");
}
TEST_F(filtered_streams, end_in_the_handshake) {
    connect_to_raw_server();
    server.write("yo");
    server.shutdown_write();
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.failure, errc::truncated);
    EXPECT_EQ(client.log, "connected failed: handshake: the peer closed the connection ");
}
TEST_F(filtered_streams, reset_in_the_handshake) {
    connect_to_raw_server();
    server.close(true);
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.failure, errc::reset);
    EXPECT_EQ(client.log, "connected failed: handshake: Connection reset by peer ");
}
TEST_F(filtered_streams, a_failure_keeps_its_reason_and_tells_the_peer) {
    connect_to_raw_server();
    server.write("yoxxx");
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.failure, errc::tls_failed);
    EXPECT_EQ(client.log, "connected failed: handshake: not a toy ");
    run_until([&] { return server.log == "end "; });
    EXPECT_EQ(server.received, "hi!!!");
}
TEST_F(filtered_streams, a_failure_while_sending_is_told_from_the_loop) {
    connect();
    client.write("unsendable");
    EXPECT_FALSE(client.flush());
    EXPECT_FALSE(client.flush());
    EXPECT_EQ(client.log, "connected open ");
    run_until([&] { return client.is_closed(); });
    EXPECT_EQ(client.log, "connected open failed: cannot send this ");

    connect();
    client.write("unsendable");
    run_until([&] { return client.is_closed(); });
    EXPECT_TRUE(client.log.ends_with("connected open failed: cannot send this ")) << client.log;
}
TEST_F(filtered_streams, close_says_goodbye_and_reset_does_not) {
    connect();
    client.close();
    run_until([&] { return server.log == "open end "; });
    connect();
    client.close(true);
    run_until([&] { return server.is_closed(); });
    EXPECT_EQ(server.failure, errc::reset);
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
