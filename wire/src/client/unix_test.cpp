// Clients and servers that meet at a Unix socket.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "raw_peer.hpp"
#include "scratch_folder.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"
#include "wire/loop/unix_socket.hpp"

namespace wire::unix_test {

using namespace std::chrono_literals;
using testing::raw_peer;
using testing::scratch_folder;
using testing::served;

http::router who_asks() {
    http::router r;
    r.get("/", [](http::response res) {
        res.send(res.request().peer().to_string() + " " + std::string(res.request().authority()));
    });
    r.get("/away", [](http::response res) {
        res.status(302).set_header("Location", "http://elsewhere.example/").send("");
    });
    r.websocket("/ws", [](ws::session& s, const http::request& req) { s.send(req.peer().host()); });
    return r;
}

http::client by(const std::string& path) {
    http::client_options options;
    options.unix_socket = path;
    options.proxy = "http://127.0.0.1:9";  // not used
    return *http::client::create(options);
}

TEST(unix_http, both_clients_ask_a_server_with_several_loops) {
    const scratch_folder f;
    std::string logged;
    http::server_options options;
    options.unix_socket = f.file("s");
    options.unix_socket_mode = 0660;
    options.loops = 2;
    options.limits.max_connections_per_address = 1;  // does not count who has no address
    std::mutex mutex;
    options.on_finished = [&](const http::access_record& r) {
        const std::lock_guard lock(mutex);
        logged = http::common_log(r);
    };
    {
        served s(who_asks(), options);
        EXPECT_EQ(s.port(), 0);
        struct stat file{};
        ASSERT_EQ(::stat(f.file("s").c_str(), &file), 0);
        EXPECT_EQ(file.st_mode & 07777U, 0660U);
        std::vector<http::client> clients;
        for (int i = 0; i < 8; ++i) {
            clients.push_back(by(f.file("s")));
            for (int n = 0; n < 2; ++n) {
                const auto got = clients.back().get("http://some.example/");
                ASSERT_TRUE(got) << got.error().message;
                EXPECT_EQ(got->body(), "unix: some.example");
                EXPECT_EQ(got->reused(), n == 1);
            }
        }
        const auto led = clients[0].get("http://some.example/away");
        ASSERT_TRUE(led) << led.error().message;
        EXPECT_EQ(led->body(), "unix: elsewhere.example");
        ws::dial_options dial;
        dial.unix_socket = f.file("s");
        auto room = ws::blocking_client::connect("ws://some.example/ws", dial);
        ASSERT_TRUE(room) << room.error().message;
        const auto greeting = room->receive();
        ASSERT_TRUE(greeting);
        EXPECT_EQ(greeting->data, "unix:");
    }
    EXPECT_TRUE(logged.starts_with("unix: - - [")) << logged;
    EXPECT_FALSE(std::filesystem::exists(f.file("s")));
}
TEST(unix_http, an_abstract_name_serves_as_well) {
    const std::string name = "@wire-http-" + std::to_string(::getpid());
    http::server_options options;
    options.unix_socket = name;
    served s(who_asks(), options);
    EXPECT_EQ(by(name).get("http://a/")->body(), "unix: a");
}
TEST(unix_http, tells_where_nobody_listens) {
    const scratch_folder f;
    const auto got = by(f.file("none")).get("http://a/");
    EXPECT_EQ(got.code(), errc::refused);
    EXPECT_NE(got.error().message.find("unix:" + f.file("none")), std::string::npos)
        << got.error().message;
    http::server_options options;
    options.unix_socket = f.file("no/such/folder");
    EXPECT_EQ(http::server::listen(0, http::router(), options).code(), errc::system_error);
}
TEST(unix_http, a_full_queue_is_waited_for) {
    const scratch_folder f;
    auto l = listen_unix(f.file("s"), {.backlog = 0});
    ASSERT_TRUE(l);
    std::vector<unique_fd> crowd;
    for (auto c = connect_unix(f.file("s")); c; c = connect_unix(f.file("s")))
        crowd.push_back(*std::move(c));
    http::client_options options;
    options.unix_socket = f.file("s");
    options.connect_timeout = 50ms;
    const auto late = http::client::create(options)->get("http://a/");
    EXPECT_EQ(late.code(), errc::timed_out);
    EXPECT_NE(late.error().message.find("unix:" + f.file("s")), std::string::npos)
        << late.error().message;
    // Once somebody accepts it gets through.
    options.connect_timeout = 10s;
    std::vector<unique_fd> sockets;
    sockets.push_back(std::move(l->socket));
    auto server = http::server::listen(std::move(sockets), who_asks());
    ASSERT_TRUE(server) << server.error().message;
    std::thread running([&] {
        std::this_thread::sleep_for(50ms);
        server->run();
    });
    const auto got = http::client::create(options)->get("http://a/");
    EXPECT_TRUE(got) << got.error().message;
    crowd.clear();
    server->stop();
    running.join();
}

}  // namespace wire::unix_test
