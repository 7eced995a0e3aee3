#include "wire/loop/stream.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wire/loop/listener.hpp"

namespace wire::stream_test {

using namespace std::chrono_literals;

// A stream that notes what happens to it.
struct probe : stream {
    std::string log;
    std::string received;
    unique_function<void()> on_bytes;
    unique_function<void()> on_finish;
    int sends = 0;

    void on_open() override { log += "open "; }
    void on_data(std::span<char> bytes) override {
        received.append(bytes.data(), bytes.size());
        if (on_bytes) on_bytes();
    }
    void on_end() override {
        log += "end ";
        if (on_finish) on_finish();
    }
    void on_failure(const error& why) override { log += "failed: " + why.message + " "; }
    void before_send() override { ++sends; }
    void on_drained() override { log += "drained "; }
};

class streams : public ::testing::Test {
protected:
    void SetUp() override {
        auto made = event_loop::create();
        ASSERT_TRUE(made);
        loop = *std::move(made);
    }
    // Iterates until `done`; a test that hangs is ended by its runner.
    void run_until(const std::function<bool()>& done) {
        while (!done()) loop->run_once(100ms);
    }
    // Two ends of one TCP connection.
    void connect(const connect_options& options = {}) {
        auto listening = listen_tcp(address::loopback_v4(0));
        ASSERT_TRUE(listening) << listening.error().message;
        const auto at = local_address(listening->get());
        ASSERT_TRUE(at);
        std::string from;
        ASSERT_TRUE(
            door.start(*loop, *std::move(listening), [&](unique_fd fd, const address& peer) {
                from = peer.to_string();
                EXPECT_TRUE(server.attach(*loop, std::move(fd)));
            }));
        ASSERT_TRUE(client.connect(*loop, *at, options));
        EXPECT_EQ(client.log, "");  // never from inside the call
        run_until([&] { return server.is_open() && client.is_open(); });
        EXPECT_EQ(client.log, "open ");
        if (client.fd() >= 0) {
            EXPECT_EQ(from, local_address(client.fd())->to_string());
        }
    }
    std::unique_ptr<event_loop> loop;
    listener door;
    probe client;
    probe server;

    void TearDown() override {
        client.close();
        server.close();
        door.close();
    }
};

TEST_F(streams, carry_bytes_both_ways) {
    connect();
    client.write("ping");
    client.write(" and more");
    EXPECT_EQ(client.sends, 0);  // not before the end of the iteration
    run_until([&] { return server.received == "ping and more"; });
    EXPECT_EQ(client.sends, 1);
    server.write("pong");
    EXPECT_TRUE(server.flush());
    EXPECT_EQ(server.unsent(), loop->engine() == loop_engine::io_uring ? 4U : 0U);
    run_until([&] { return client.received == "pong"; });
}
TEST_F(streams, idle_ones_hold_no_buffer) {
    connect();
    client.write("x");
    run_until([&] { return server.received == "x"; });
    EXPECT_EQ(loop->pool().kept(), 1U);
    EXPECT_LE(sizeof(stream), 112U);
}
TEST_F(streams, what_is_written_while_connecting_is_sent) {
    auto listening = listen_tcp(address::loopback_v4(0));
    ASSERT_TRUE(listening);
    const auto at = local_address(listening->get());
    ASSERT_TRUE(door.start(*loop, *std::move(listening), [&](unique_fd fd, const address&) {
        EXPECT_TRUE(server.attach(*loop, std::move(fd)));
    }));
    ASSERT_TRUE(client.connect(*loop, *at));
    client.write("early");
    client.shutdown_write();
    run_until([&] { return server.log == "end "; });
    EXPECT_EQ(server.received, "early");
}
TEST_F(streams, more_than_the_socket_takes_waits_and_drains) {
    connect();
    const std::string large(8 << 20, 'x');
    server.pause_reading();
    client.write(large);
    EXPECT_TRUE(client.flush());
    EXPECT_GT(client.unsent(), 0U);
    for (int i = 0; i < 5; ++i) loop->run_once(0ms);
    EXPECT_GT(client.unsent(), 0U);
    EXPECT_EQ(server.received, "");
    server.resume_reading();
    run_until([&] { return server.received.size() == large.size(); });
    EXPECT_EQ(client.unsent(), 0U);
    run_until([&] { return client.log == "open drained "; });
    EXPECT_EQ(server.received, large);
}
TEST_F(streams, lasting_bytes_are_sent_behind_what_is_unsent) {
    connect();
    const std::string text = "lasting ";
    EXPECT_TRUE(client.send_lasting(text));
    client.write("written ");
    EXPECT_TRUE(client.send_lasting(text));
    run_until([&] { return server.received == "lasting written lasting "; });
    EXPECT_EQ(client.unsent(), 0U);
    client.close();
    EXPECT_FALSE(client.send_lasting(text));
}
TEST_F(streams, lasting_bytes_wait_for_room_and_drain) {
    connect();
    server.pause_reading();
    std::string text;
    while (text.size() < 16'000) text += "line " + std::to_string(text.size()) + "\n";
    std::size_t sent = 0;
    do {
        EXPECT_TRUE(client.send_lasting(text));
        ++sent;
        // Until the kernel has none of them and takes no more; io_uring says so an iteration later.
        for (int i = 0; i < 3; ++i) loop->run_once(0ms);
    } while (client.unsent() == 0);
    EXPECT_TRUE(client.send_lasting("the end"));
    server.resume_reading();
    run_until([&] { return server.received.ends_with("the end"); });
    EXPECT_EQ(server.received.size(), sent * text.size() + 7);
    bool same = true;
    for (std::size_t i = 0; i < sent; ++i)
        same = same && server.received.compare(i * text.size(), text.size(), text) == 0;
    EXPECT_TRUE(same);
    run_until([&] { return client.unsent() == 0; });
    EXPECT_NE(client.log.find("drained"), std::string::npos);
}
TEST_F(streams, end_of_the_peer_leaves_the_other_direction_open) {
    connect();
    client.shutdown_write();
    run_until([&] { return server.log == "end "; });
    server.write("still here");
    run_until([&] { return client.received == "still here"; });
    EXPECT_TRUE(server.is_open());
}
TEST_F(streams, both_ends_finished) {
    connect();
    client.on_finish = [&] { client.close(); };
    server.on_finish = [&] {
        server.write("last words");
        server.shutdown_write();
    };
    client.write("x");
    client.shutdown_write();
    run_until([&] { return client.is_closed() && server.is_closed(); });
    EXPECT_EQ(client.received, "last words");
    EXPECT_EQ(server.log, "end failed: both directions have finished ");
}
TEST_F(streams, reset_by_the_peer) {
    connect();
    client.close(true);
    run_until([&] { return server.is_closed(); });
    EXPECT_NE(server.log.find("failed: receive: Connection reset"), std::string::npos)
        << server.log;
}
TEST_F(streams, reset_is_seen_while_reading_is_paused) {
    connect();
    server.pause_reading();
    client.close(true);
    run_until([&] { return server.is_closed(); });
    EXPECT_NE(server.log.find("failed: "), std::string::npos);
}
// io_uring receives into several buffers, all before the pause that the first of them causes.
TEST_F(streams, what_was_taken_before_a_pause_comes_before_a_reset) {
    connect();
    server.on_bytes = [&] { server.pause_reading(); };
    client.write(std::string(10'000, 'x'));
    run_until([&] { return !server.received.empty(); });
    for (int i = 0; i < 5; ++i) loop->run_once(1ms);
    const bool all = server.received.size() == 10'000;
    client.close(true);
    for (int i = 0; i < 5; ++i) loop->run_once(1ms);
    EXPECT_EQ(server.is_closed(), all);
    while (!server.is_closed()) {
        if (!server.reading()) server.resume_reading();
        loop->run_once(1ms);
    }
    EXPECT_EQ(server.received, std::string(10'000, 'x'));
    EXPECT_NE(server.log.find("reset"), std::string::npos) << server.log;
}
// With both directions at their end, what came before the peer's is not lost.
TEST_F(streams, an_end_of_both_during_a_pause_waits_for_its_end) {
    connect();
    server.pause_reading();
    client.write("last");
    client.shutdown_write();
    server.shutdown_write();
    run_until([&] {
        return client.log == "open end failed: both directions have finished " ||
               client.log == "open end ";
    });
    for (int i = 0; i < 5; ++i) loop->run_once(1ms);
    EXPECT_EQ(server.log, "");
    server.resume_reading();
    run_until([&] { return server.log.starts_with("end "); });
    EXPECT_EQ(server.received, "last");
    EXPECT_EQ(server.log.find("reset"), std::string::npos) << server.log;
}
TEST_F(streams, writing_to_a_peer_that_is_gone_fails_from_the_loop) {
    connect();
    server.pause_reading();
    client.close(true);
    bool failed = false;
    for (int i = 0; i < 1000 && !failed; ++i) {
        server.write("x");
        failed = !server.flush();
    }
    EXPECT_TRUE(failed || loop->engine() == loop_engine::io_uring);
    EXPECT_EQ(server.log, "");
    run_until([&] { return server.is_closed(); });
    EXPECT_NE(server.log.find("failed: "), std::string::npos);
}
TEST_F(streams, refused) {
    auto listening = listen_tcp(address::loopback_v4(0));
    ASSERT_TRUE(listening);
    const address at = *local_address(listening->get());
    listening->reset();
    const auto begun = client.connect(*loop, at);
    if (begun) {
        run_until([&] { return client.is_closed() && !client.log.empty(); });
        EXPECT_EQ(client.log, "failed: connect: Connection refused ");
    } else {
        EXPECT_EQ(begun.code(), errc::refused);
    }
}
TEST_F(streams, close_inside_a_callback_ends_all_callbacks) {
    connect();
    server.on_bytes = [&] { server.close(); };
    client.write("x");
    run_until([&] { return server.is_closed(); });
    for (int i = 0; i < 3; ++i) loop->run_once(0ms);
    EXPECT_EQ(server.log, "");
}
TEST_F(streams, may_destroy_themselves_in_a_callback) {
    connect();
    client.close();
    client.log.clear();
    auto listening = listen_tcp(address::loopback_v4(0));
    ASSERT_TRUE(listening);
    auto mortal = std::make_unique<probe>();
    ASSERT_TRUE(client.connect(*loop, *local_address(listening->get())));
    door.close();
    ASSERT_TRUE(door.start(*loop, *std::move(listening), [&](unique_fd fd, const address&) {
        EXPECT_TRUE(mortal->attach(*loop, std::move(fd)));
    }));
    run_until([&] { return mortal->is_open() && client.is_open(); });
    mortal->on_bytes = [&] {
        auto* const owner = &mortal;
        owner->reset();
    };
    client.write("x");
    run_until([&] { return mortal == nullptr; });
    run_until([&] { return client.log == "open end "; });
}
TEST_F(streams, can_be_used_again) {
    connect();
    client.close();
    server.close();
    client.log.clear();
    connect();
    client.write("again");
    run_until([&] { return server.received == "again"; });
}
TEST_F(streams, bytes_arrive_before_they_are_read) {
    connect_options noting;
    noting.note_arrivals = true;
    connect(noting);
    time_point before, after, came;
    client.on_bytes = [&] { came = client.arrival(); };
    // The kernel takes a moment to begin with it, when nobody had asked for it before.
    do {
        client.received.clear();
        before = clock::now();
        server.write("x");
        ASSERT_TRUE(server.flush());
        after = clock::now();
        ::usleep(20'000);
        run_until([&] { return !client.received.empty(); });
        EXPECT_EQ(client.received, "x");
    } while (came > after + 10ms);
    EXPECT_GE(came, before - 1ms);  // the wall clock may be slewed
    EXPECT_LE(came, after + 1ms);
    server.close();
    run_until([&] { return client.log == "open end "; });
    // Not so on the next connection.
    client.close();
    door.close();
    client.log.clear();
    connect();
    if (loop->engine() == loop_engine::io_uring) return;  // its sockets are no descriptors
    int noted = 1;
    socklen_t size = sizeof noted;
    ASSERT_EQ(::getsockopt(client.fd(), SOL_SOCKET, SO_TIMESTAMPNS, &noted, &size), 0);
    EXPECT_EQ(noted, 0);
}
TEST_F(streams, what_is_noted_is_whole_and_in_order) {
    connect_options noting;
    noting.note_arrivals = true;
    connect(noting);
    std::string sent;
    for (int i = 0; i < 40'000; ++i) sent += std::to_string(i) + ' ';
    server.write(sent);
    server.flush_later();
    run_until([&] { return client.received.size() >= 10'000; });
    client.pause_reading();
    for (int i = 0; i < 20; ++i) loop->run_once(1ms);
    client.resume_reading();
    run_until([&] { return client.received.size() >= sent.size(); });
    EXPECT_EQ(client.received, sent);
    server.shutdown_write();
    run_until([&] { return client.log == "open end "; });
}
TEST_F(streams, source_address_and_port_as_asked) {
    auto listening = listen_tcp(address::loopback_v4(0));
    ASSERT_TRUE(listening);
    connect_options options;
    options.source = *address::parse("127.0.0.2", 0);
    const auto fd = connect_tcp(*local_address(listening->get()), options);
    ASSERT_TRUE(fd) << fd.error().message;
    EXPECT_EQ(local_address(fd->get())->to_string().substr(0, 10), "127.0.0.2:");
}

TEST(listen_tcp, a_taken_port_is_named) {
    const auto first = listen_tcp(address::loopback_v4(0));
    ASSERT_TRUE(first);
    const address at = *local_address(first->get());
    const auto second = listen_tcp(at);
    EXPECT_EQ(second.code(), errc::address_in_use);
    EXPECT_EQ(second.error().message,
              "cannot listen on " + at.to_string() + ": Address already in use");
}
TEST(listen_tcp, reuse_port_shares_it) {
    listen_options shared;
    shared.reuse_port = true;
    const auto first = listen_tcp(address::loopback_v4(0), shared);
    ASSERT_TRUE(first);
    EXPECT_TRUE(listen_tcp(*local_address(first->get()), shared));
}

// A slot is free when the kernel says that its socket is closed, which is not yet known to whoever
// closes and opens at once.
TEST(UringStreams, AFullTableMakesRoomForWhoReopens) {
    loop_options options;
    options.engine = loop_engine::io_uring;
    options.max_streams = 1;
    auto made = event_loop::create(options);
    if (!made) GTEST_SKIP() << made.error().message;
    event_loop& loop = **made;
    const auto listening = listen_tcp(address::loopback_v4(0));
    ASSERT_TRUE(listening);
    const auto at = local_address(listening->get());
    ASSERT_TRUE(at);
    probe client;
    int opened = 0;
    for (int i = 0; i < 5; ++i) {
        const auto begun = client.connect(loop, *at);
        ASSERT_TRUE(begun) << begun.error().message;
        while (!client.is_open()) loop.run_once(100ms);
        ++opened;
        client.close(i % 2 == 0);
    }
    EXPECT_EQ(opened, 5);
    probe other;
    ASSERT_TRUE(client.connect(loop, *at));
    EXPECT_FALSE(other.connect(loop, *at));
}

}  // namespace wire::stream_test
