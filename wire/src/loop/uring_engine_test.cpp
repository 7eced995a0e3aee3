// What only an engine of completions can get wrong: their order, when they come in the middle of an
// iteration, and slots of its table.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "wire/loop/event_loop.hpp"
#include "wire/loop/stream.hpp"

namespace wire::uring_engine_test {

using namespace std::chrono_literals;

struct probe : stream {
    std::string received;
    std::string log;
    unique_function<void()> on_bytes;

    void on_open() override { log += "open "; }
    void on_data(std::span<char> bytes) override {
        received.append(bytes.data(), bytes.size());
        if (on_bytes) on_bytes();
    }
    void on_end() override { log += "end "; }
    void on_failure(const error&) override { log += "failed "; }
};

class uring_streams : public ::testing::Test {
protected:
    void SetUp() override {
        make({.engine = loop_engine::io_uring, .max_streams = 300});
        if (loop == nullptr) GTEST_SKIP() << problem;
        auto listening = listen_tcp(address::loopback_v4(0), {.backlog = 4096});
        ASSERT_TRUE(listening) << listening.error().message;
        door = *std::move(listening);
        at = *local_address(door.get());
    }
    void make(const loop_options& options) {
        auto made = event_loop::create(options);
        if (made) {
            loop = *std::move(made);
        } else {
            problem = made.error().message;
        }
    }
    // Connects, and returns the other end: a blocking socket.
    unique_fd connect(probe& p) {
        EXPECT_TRUE(p.connect(*loop, at));
        while (!p.is_open()) loop->run_once(100ms);
        unique_fd peer;
        do {
            peer = unique_fd(::accept(door.get(), nullptr, nullptr));
        } while (!peer && errno == EAGAIN);
        return peer;
    }
    // Fills the ring, so that completions are taken out of it in the middle of an iteration.
    void fill_ring() {
        const unique_fd event(::eventfd(0, EFD_CLOEXEC));
        io_source source([](io_source&, ready) noexcept {});
        EXPECT_TRUE(loop->watch(source, event.get(), ready::read));
        for (int i = 0; i < 200; ++i) {
            loop->rewatch(source, ready::none);
            loop->rewatch(source, ready::read);
        }
        loop->unwatch(source);
    }
    static void say(const unique_fd& fd, std::string_view text) {
        EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }

    std::unique_ptr<event_loop> loop;
    std::string problem;
    unique_fd door;
    address at = address::loopback_v4(0);
};

TEST_F(uring_streams, bytes_keep_their_order_when_the_ring_is_full) {
    std::vector<probe> streams(10), others(260);
    std::vector<unique_fd> peers, of_others;
    for (auto& s : streams) peers.push_back(connect(s));
    for (auto& s : others) of_others.push_back(connect(s));
    bool filled = false;
    for (auto& own : streams) {
        own.on_bytes = [&] {
            if (std::exchange(filled, true)) return;
            // The others' bytes have come as well, and are not given yet.
            for (auto& s : others) {
                s.write("x");
                s.flush();
            }
            for (const auto& peer : peers) say(peer, "B");
            (void)own.quiet();  // lets the kernel receive
        };
    }
    for (const auto& peer : peers) say(peer, "A");
    for (const auto& s : streams) {
        while (s.received.size() < 2) loop->run_once(100ms);
        EXPECT_EQ(s.received, "AB");
    }
}

TEST_F(uring_streams, bytes_leave_when_operations_per_call_are_gathered) {
    for (const auto& [most, gone] : {std::pair<std::size_t, ssize_t>{8, 1}, {256, -1}}) {
        make({.engine = loop_engine::io_uring, .max_streams = 300, .operations_per_call = most});
        std::vector<probe> streams(9);
        std::vector<unique_fd> peers;
        for (auto& s : streams) peers.push_back(connect(s));
        char byte = 0;
        ssize_t got = 0;
        loop->post([&] {
            for (auto& s : streams) {
                s.write("x");
                s.flush();
            }
            got = ::recv(peers[0].get(), &byte, 1, MSG_DONTWAIT);
        });
        loop->run_once(100ms);
        EXPECT_EQ(got, gone) << most;
        for (const auto& peer : peers) {
            if (peer.get() == peers[0].get() && gone == 1) continue;
            EXPECT_EQ(::recv(peer.get(), &byte, 1, 0), 1);
        }
        streams.clear();
    }
}

TEST_F(uring_streams, one_with_bytes_that_wait_is_not_quiet) {
    probe streams[3];
    unique_fd peers[3];
    for (int i = 0; i < 3; ++i) peers[i] = connect(streams[i]);
    std::vector<int> quiet;
    bool filled = false;
    for (probe& own : streams) {
        own.on_bytes = [&] {
            if (!filled) fill_ring();
            filled = true;
            for (probe& other : streams) {
                if (other.received.empty()) quiet.push_back(other.quiet() ? 1 : 0);
            }
        };
    }
    for (const auto& peer : peers) say(peer, "A");
    for (const probe& p : streams) {
        while (p.received.empty()) loop->run_once(100ms);
    }
    EXPECT_EQ(quiet, (std::vector<int>{0, 0, 0}));
}

TEST_F(uring_streams, one_of_many_with_bytes_that_wait_is_not_quiet) {
    std::vector<probe> streams(100);
    std::vector<unique_fd> peers;
    for (auto& s : streams) peers.push_back(connect(s));
    for (const auto& peer : peers) say(peer, "A");
    EXPECT_FALSE(streams.back().quiet());
}

TEST_F(uring_streams, one_whose_bytes_cannot_be_told_is_not_quiet) {
    // The smallest ring has place for 256 completions.
    make({.engine = loop_engine::io_uring, .max_streams = 300, .receive_buffers = 16});
    std::vector<probe> streams(200);
    std::vector<unique_fd> peers;
    for (auto& s : streams) peers.push_back(connect(s));
    for (std::size_t i = 0; i + 1 < streams.size(); ++i) streams[i].close();
    say(peers.back(), "A");
    EXPECT_FALSE(streams.back().quiet());
    while (streams.back().received.empty()) loop->run_once(100ms);
    EXPECT_TRUE(streams.back().quiet());
}

TEST_F(uring_streams, a_full_table_makes_room_for_all_who_reopen_at_once) {
    std::vector<std::unique_ptr<probe>> streams;
    for (int i = 0; i < 300; ++i) streams.push_back(std::make_unique<probe>());
    for (auto& s : streams) ASSERT_TRUE(s->connect(*loop, at));
    const auto all_open = [&] {
        for (const auto& s : streams) {
            if (!s->is_open()) return false;
        }
        return true;
    };
    while (!all_open()) loop->run_once(100ms);
    int begun = 0;
    loop->post([&] {
        for (auto& s : streams) s->close();
        for (auto& s : streams) begun += s->connect(*loop, at) ? 1 : 0;
    });
    loop->run_once(100ms);
    EXPECT_EQ(begun, 300);
    while (begun == 300 && !all_open()) loop->run_once(100ms);
}

TEST_F(uring_streams, what_a_peer_said_before_it_left_is_read) {
    probe client;
    unique_fd peer = connect(client);
    client.write("never read");
    for (int i = 0; i < 3; ++i) loop->run_once(1ms);
    say(peer, "why");
    peer.reset();  // with bytes unread: a reset
    client.write("more");
    client.flush();
    while (!client.is_closed()) loop->run_once(100ms);
    EXPECT_EQ(client.received, "why");
    EXPECT_EQ(client.log, "open failed ");
}

}  // namespace wire::uring_engine_test
