// A listening socket that was given to a server, and its handing over to a new process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "raw_peer.hpp"
#include "scratch_folder.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/loop/unix_socket.hpp"

namespace wire::http {
namespace {

using namespace std::chrono_literals;
using testing::raw_peer;

handler saying(std::string text) {
    return [text = std::move(text)](response res) { res.send(text); };
}

// Descriptors go from process to process over this pair (SCM_RIGHTS).
class passage {
public:
    passage() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0); }
    ~passage() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    void give(int fd) {
        message m;
        std::memcpy(CMSG_DATA(m.control()), &fd, sizeof fd);
        EXPECT_EQ(::sendmsg(ends_[0], &m.head, 0), 1);
    }
    int take() {
        message m;
        if (::recvmsg(ends_[1], &m.head, MSG_CMSG_CLOEXEC) != 1) return -1;
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(m.control()), sizeof fd);
        return fd;
    }
    void say_ready() { EXPECT_EQ(::write(ends_[1], "r", 1), 1); }
    void await_ready() {
        char c;
        EXPECT_EQ(::read(ends_[0], &c, 1), 1);
    }

private:
    struct message {
        message() {
            head.msg_iov = &bytes;
            head.msg_iovlen = 1;
            head.msg_control = space;
            head.msg_controllen = sizeof space;
            control()->cmsg_level = SOL_SOCKET;
            control()->cmsg_type = SCM_RIGHTS;
            control()->cmsg_len = CMSG_LEN(sizeof(int));
        }
        cmsghdr* control() { return CMSG_FIRSTHDR(&head); }
        char byte = 'd';
        iovec bytes{&byte, 1};
        alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
        msghdr head{};
    };
    int ends_[2] = {-1, -1};
};

// A process that serves on the socket it is given until it is terminated.
pid_t start_successor(passage& way) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    std::vector<unique_fd> given;
    given.emplace_back(way.take());
    server_options options;
    options.loops = 2;
    auto s = server::listen(std::move(given), saying("new"), options);
    if (!s) ::_exit(1);
    way.say_ready();
    s->run();
    ::_exit(0);
}

// Asks `count` times, by a new connection each time; what was answered or went wrong, all distinct.
std::set<std::string> ask(std::uint16_t port, int count, std::atomic<int>& asked) {
    std::set<std::string> out;
    for (int i = 0; i < count; ++i) {
        raw_peer p(port);
        p.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        out.insert(p.response());
        ++asked;
    }
    return out;
}

TEST(handover, to_a_new_process_under_load_loses_no_connection) {
    passage way;
    const pid_t child = start_successor(way);
    ASSERT_GT(child, 0);
    auto s = server::listen(0, saying("old"), [] {
        server_options options;
        options.host = "127.0.0.1";
        return options;
    }());
    ASSERT_TRUE(s) << s.error().message;
    std::thread running([&] { s->run(); });
    std::atomic<int> asked{0};
    std::set<std::string> seen[3];
    std::vector<std::thread> load;
    for (auto& mine : seen) load.emplace_back([&] { mine = ask(s->port(), 400, asked); });
    while (asked < 300) std::this_thread::sleep_for(1ms);
    {
        auto sockets = s->hand_over();
        ASSERT_TRUE(sockets) << sockets.error().message;
        ASSERT_EQ(sockets->size(), 1U);
        way.give(sockets->front().get());
    }
    way.await_ready();
    s->stop();
    running.join();
    const int when_old_ended = asked;
    for (auto& t : load) t.join();
    std::set<std::string> all;
    for (const auto& mine : seen) all.insert(mine.begin(), mine.end());
    EXPECT_EQ(all, (std::set<std::string>{"(close) 200 old", "(close) 200 new"}));
    EXPECT_LT(when_old_ended, 1200);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}
TEST(handover, leaves_the_file_of_a_unix_socket_to_the_successor) {
    const testing::scratch_folder f;
    server_options options;
    options.unix_socket = f.file("s");
    std::vector<unique_fd> sockets;
    {
        auto old = server::listen(0, saying("old"), options);
        ASSERT_TRUE(old) << old.error().message;
        sockets = *old->hand_over();
        old->stop();
        old->run();
        EXPECT_TRUE(old->hand_over()->empty());
    }
    EXPECT_TRUE(std::filesystem::exists(f.file("s")));
    auto successor = server::listen(std::move(sockets), saying("new"));
    ASSERT_TRUE(successor) << successor.error().message;
    std::thread running([&] { successor->run(); });
    client_options to;
    to.unix_socket = f.file("s");
    EXPECT_EQ(client::create(to)->get("http://a/")->body(), "new");
    successor->stop();
    running.join();
}
TEST(given_sockets, of_every_kind_serve_together_on_every_loop) {
    const testing::scratch_folder f;
    std::vector<unique_fd> sockets;
    auto local = listen_unix(f.file("s"));
    ASSERT_TRUE(local);
    sockets.push_back(std::move(local->socket));
    sockets.push_back(*listen_tcp(address::loopback_v4(0)));
    const auto port = local_address(sockets[1].get())->port();
    server_options options;
    options.loops = 3;
    auto s = server::listen(std::move(sockets), saying("here"), options);
    ASSERT_TRUE(s) << s.error().message;
    EXPECT_EQ(s->port(), port);
    std::thread running([&] { s->run(); });
    std::atomic<int> asked{0};
    EXPECT_EQ(ask(port, 20, asked), (std::set<std::string>{"(close) 200 here"}));
    client_options to;
    to.unix_socket = f.file("s");
    EXPECT_EQ(client::create(to)->get("http://a/")->body(), "here");
    s->stop();
    running.join();
}
TEST(given_sockets, must_listen) {
    EXPECT_EQ(server::listen(std::vector<unique_fd>(), saying("")).code(), errc::bad_argument);
    std::vector<unique_fd> idle;
    idle.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(server::listen(std::move(idle), saying("")).code(), errc::bad_argument);
}
TEST(stop, leaves_a_new_connection_a_moment_for_its_request) {
    server_options options;
    options.host = "127.0.0.1";
    options.limits.close_timeout = 50ms;
    auto s = server::listen(0, saying("just in time"), options);
    ASSERT_TRUE(s);
    raw_peer used(s->port());
    raw_peer fresh(s->port());
    used.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    // Both are accepted, and the one is answered.
    for (int i = 0; i < 5; ++i) s->run_once(20ms);
    EXPECT_EQ(used.response(), "200 just in time");
    std::this_thread::sleep_for(1100ms);  // else that connection would have a moment, too
    s->stop();
    s->run_once(0ms);
    fresh.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(used.rest(), "");
    while (s->run_once(1s)) {}
    EXPECT_EQ(fresh.response(), "(close) 200 just in time");
}

}  // namespace
}  // namespace wire::http
