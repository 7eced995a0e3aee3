// TCP's probes of peers that say nothing: the options of sockets, and that the kernel's timer runs.
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdio>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "loop_client.hpp"
#include "raw_peer.hpp"
#include "requests.hpp"
#include "served.hpp"

namespace wire::http::keep_alive_test {

using namespace std::chrono_literals;
using testing::raw_peer;
using testing::served;

int option_of(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

// "idle interval probes", "off" without them.
std::string keep_alive_of(int fd) {
    if (option_of(fd, SOL_SOCKET, SO_KEEPALIVE) == 0) return "off";
    return std::to_string(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE)) + " " +
           std::to_string(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL)) + " " +
           std::to_string(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT));
}

// Which timer runs for the end at 127.0.0.1:`port` of the connection with `peer`, "02" for that of
// keep-alive. The kernel tells also where the socket is no descriptor, as with io_uring.
std::string timer_of(std::uint16_t port, std::uint16_t peer) {
    const auto hex = [](std::uint16_t n) {
        char text[16];
        std::snprintf(text, sizeof text, "0100007F:%04X", static_cast<unsigned>(n));
        return std::string(text);
    };
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
        std::istringstream words(line);
        std::string number, local, remote, state, queues, timer;
        words >> number >> local >> remote >> state >> queues >> timer;
        if (local == hex(port) && remote == hex(peer)) return timer.substr(0, 2);
    }
    return "no such connection";
}
bool is_probed(std::uint16_t port, std::uint16_t peer) {
    std::string timer = timer_of(port, peer);
    // Of retransmission, until the peer has acknowledged what it was sent.
    for (int i = 0; i < 1000 && timer == "01"; ++i) {
        std::this_thread::sleep_for(5ms);
        timer = timer_of(port, peer);
    }
    EXPECT_TRUE(timer == "00" || timer == "02") << timer;
    return timer == "02";
}

TEST(tcp_keep_alive, is_set_for_sockets_that_ask_for_it) {
    const tcp_keep_alive how{.idle = 40s, .interval = 7s, .probes = 3};
    const auto plain = listen_tcp(address::loopback_v4(0));
    const auto probing = listen_tcp(address::loopback_v4(0), {.keep_alive = how});
    ASSERT_TRUE(plain && probing);
    EXPECT_EQ(keep_alive_of(plain->get()), "off");
    EXPECT_EQ(keep_alive_of(probing->get()), "40 7 3");
    const address at = *local_address(probing->get());
    connect_options options;
    options.keep_alive = how;
    const auto client = connect_tcp(at, options);
    const auto quiet_client = connect_tcp(at);
    ASSERT_TRUE(client && quiet_client);
    EXPECT_EQ(keep_alive_of(client->get()), "40 7 3");
    EXPECT_EQ(keep_alive_of(quiet_client->get()), "off");
    pollfd there{probing->get(), POLLIN, 0};
    ASSERT_EQ(::poll(&there, 1, 10'000), 1);
    const unique_fd accepted(::accept(probing->get(), nullptr, nullptr));
    EXPECT_EQ(keep_alive_of(accepted.get()), "40 7 3");
}
TEST(tcp_keep_alive, that_cannot_be_is_an_error) {
    for (const tcp_keep_alive& wrong :
         {tcp_keep_alive{.idle = -1s}, tcp_keep_alive{.idle = 32768s},
          tcp_keep_alive{.idle = std::chrono::seconds::max()},
          tcp_keep_alive{.idle = 1s, .interval = 0s}, tcp_keep_alive{.idle = 1s, .probes = 128}}) {
        EXPECT_EQ(listen_tcp(address::loopback_v4(0), {.keep_alive = wrong}).code(),
                  errc::system_error);
        connect_options connecting;
        connecting.keep_alive = wrong;
        EXPECT_EQ(connect_tcp(address::loopback_v4(1), connecting).code(), errc::system_error);
        server_options options;
        options.keep_alive = wrong;
        EXPECT_EQ(server::listen(0, [](response) {}, options).code(), errc::system_error);
    }
}

void hello(response res) { res.send("hello"); }

TEST(server_keep_alive, is_on_unless_told_otherwise) {
    for (const bool on : {true, false}) {
        server_options options;
        if (!on) options.keep_alive = {};
        options.host = "127.0.0.1";
        auto made = server::listen(0, hello, options);
        ASSERT_TRUE(made);
        const auto sockets = made->hand_over();
        ASSERT_TRUE(sockets);
        for (const unique_fd& s : *sockets)
            EXPECT_EQ(keep_alive_of(s.get()), on ? "60 15 4" : "off");
        served running(hello, options);
        raw_peer p(running.port());
        p.send(testing::get("/"));
        EXPECT_EQ(p.response(), "200 hello");
        EXPECT_EQ(is_probed(running.port(), local_address(p.fd())->port()), on);
    }
}
TEST(server_keep_alive, is_set_on_sockets_that_were_given) {
    for (const bool on : {true, false}) {
        server_options options;
        if (!on) options.keep_alive = {};
        std::vector<unique_fd> given;
        given.push_back(*listen_tcp(address::loopback_v4(0)));
        auto made = server::listen(std::move(given), hello, options);
        ASSERT_TRUE(made);
        EXPECT_EQ(keep_alive_of(made->hand_over()->front().get()), on ? "60 15 4" : "off");
    }
}

struct client_keep_alive : testing::loop_client {};

TEST_F(client_keep_alive, is_an_option_of_its_sockets) {
    for (const bool on : {true, false}) {
        std::promise<std::uint16_t> port;
        served s([&](response res) {
            port.set_value(res.request().peer().port());
            hello(std::move(res));
        });
        made.reset();
        options.connect.keep_alive.idle = std::chrono::seconds(on ? 30 : 0);
        bool done = false;
        c().get("http://127.0.0.1:" + std::to_string(s.port()) + "/", [&](result<reply> got) {
            EXPECT_TRUE(got);
            done = true;
        });
        ASSERT_TRUE(run_until([&] { return done; }));
        EXPECT_EQ(is_probed(port.get_future().get(), s.port()), on);
        made.reset();
    }
}

}  // namespace wire::http::keep_alive_test
