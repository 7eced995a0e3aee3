#include "wire/loop/listener.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace wire::listener_test {

using namespace std::chrono_literals;

struct open_door {
    open_door() {
        loop = *event_loop::create();
        auto listening = listen_tcp(address::loopback_v4(0));
        EXPECT_TRUE(listening);
        at = *local_address(listening->get());
        EXPECT_TRUE(door.start(*loop, *std::move(listening), [this](unique_fd fd, const address&) {
            accepted.push_back(std::move(fd));
        }));
    }
    std::unique_ptr<event_loop> loop;
    listener door;
    address at;
    std::vector<unique_fd> accepted;
};

TEST(listener, accepts_all_that_wait) {
    open_door d;
    std::vector<unique_fd> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(*connect_tcp(d.at));
    while (d.accepted.size() < 20) d.loop->run_once(100ms);
    d.door.close();
    EXPECT_FALSE(d.door.open());
}
TEST(listener, resumes_after_the_process_ran_out_of_descriptors) {
    open_door d;
    const unique_fd client = *connect_tcp(d.at);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    // All lower numbers are taken, or nearly.
    none.rlim_cur = static_cast<rlim_t>(client.get()) + 1;
    std::vector<unique_fd> filler;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) filler.emplace_back(fd);
    for (int i = 0; i < 3; ++i) d.loop->run_once(0ms);
    EXPECT_TRUE(d.accepted.empty());
    EXPECT_EQ(d.loop->run_once(0ms), 0U);  // it does not spin on the readable socket
    filler.clear();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    while (d.accepted.empty()) d.loop->run_once(1s);
}
// Somebody who has a copy of the socket may have ended it for all.
TEST(listener, does_not_spin_on_a_socket_that_listens_no_more) {
    const auto loop = *event_loop::create();
    auto listening = listen_tcp(address::loopback_v4(0));
    const unique_fd copy(::dup(listening->get()));
    int accepted = 0;
    listener door;
    ASSERT_TRUE(
        door.start(*loop, *std::move(listening), [&](unique_fd, const address&) { ++accepted; }));
    ASSERT_EQ(::shutdown(copy.get(), SHUT_RDWR), 0);
    loop->run_once(1s);
    EXPECT_EQ(loop->run_once(0ms), 0U);
    // Or has it listen again.
    ASSERT_EQ(::listen(copy.get(), 16), 0);
    const unique_fd client = *connect_tcp(*local_address(copy.get()));
    while (accepted == 0) loop->run_once(1s);
}
TEST(listener, finishes_with_those_that_wait) {
    for (const auto how : {listener::use::alone, listener::use::shared}) {
        const auto loop = *event_loop::create();
        auto listening = listen_tcp(address::loopback_v4(0));
        const address at = *local_address(listening->get());
        std::vector<unique_fd> accepted;
        listener door;
        ASSERT_TRUE(door.start(
            *loop, *std::move(listening),
            [&](unique_fd fd, const address&) { accepted.push_back(std::move(fd)); }, how));
        std::vector<unique_fd> clients;
        for (int i = 0; i < 20; ++i) clients.push_back(*connect_tcp(at));
        door.finish();
        EXPECT_EQ(accepted.size(), 20U);
        EXPECT_FALSE(door.open());
        door.finish();
    }
}
TEST(listener, finishes_with_all_whom_closing_would_reset) {
    const auto loop = *event_loop::create();
    auto listening = listen_tcp(address::loopback_v4(0));
    const address at = *local_address(listening->get());
    int accepted = 0;
    listener door;
    ASSERT_TRUE(
        door.start(*loop, *std::move(listening), [&](unique_fd, const address&) { ++accepted; }));
    std::vector<unique_fd> clients;
    for (int i = 0; i < 600; ++i) clients.push_back(*connect_tcp(at));  // more than at once
    door.finish();
    EXPECT_EQ(accepted, 600);
}
TEST(listener, shared_by_two_loops_leaves_none_waiting) {
    const auto first = *event_loop::create();
    const auto second = *event_loop::create();
    auto listening = listen_tcp(address::loopback_v4(0));
    const address at = *local_address(listening->get());
    unique_fd copy(::dup(listening->get()));
    int accepted = 0;
    const auto count = [&](unique_fd, const address&) { ++accepted; };
    listener a;
    listener b;
    ASSERT_TRUE(a.start(*first, *std::move(listening), count, listener::use::shared));
    ASSERT_TRUE(b.start(*second, std::move(copy), count, listener::use::shared));
    std::vector<unique_fd> clients;
    for (int i = 0; i < 40; ++i) clients.push_back(*connect_tcp(at));
    first->run_once(1s);
    EXPECT_EQ(accepted, 16);
    a.finish();
    for (int i = 0; i < 20; ++i) clients.push_back(*connect_tcp(at));
    while (accepted < 60) second->run_once(1s);
}
TEST(listener, may_be_closed_by_its_own_handler) {
    open_door d;
    listener door;
    auto listening = listen_tcp(address::loopback_v4(0));
    const address at = *local_address(listening->get());
    int count = 0;
    ASSERT_TRUE(door.start(*d.loop, *std::move(listening), [&](unique_fd, const address&) {
        ++count;
        door.close();
    }));
    const unique_fd a = *connect_tcp(at);
    const unique_fd b = *connect_tcp(at);
    while (count == 0) d.loop->run_once(100ms);
    d.loop->run_once(0ms);
    EXPECT_EQ(count, 1);
}

}  // namespace wire::listener_test
