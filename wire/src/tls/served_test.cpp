// Server and clients over TLS, on sockets.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "certificates.hpp"
#include "command.hpp"
#include "raw_peer.hpp"
#include "raw_server.hpp"
#include "record_layers.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"
#include "wire/client/websocket.hpp"
#include "wire/server/files.hpp"
#include "wire/server/tunnel.hpp"

namespace wire::tls::served_test {

using namespace std::chrono_literals;
using testing::certificates;
using testing::output_of;
using testing::raw_peer;
using testing::raw_server;
using testing::served;

// A blocking peer that speaks TLS and shows how it ends.
class tls_peer {
public:
    // `first` goes before the handshake, in one piece with it.
    tls_peer(std::uint16_t port, client_context& context, std::string_view first = {})
        : tls_(*context.connect("localhost", port)) {
        fd_ = unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const address to = address::loopback_v4(port);
        EXPECT_EQ(::connect(fd_.get(), to.raw(), to.size()), 0);
        to_peer_.append(first);
        EXPECT_TRUE(tls_->begin(to_peer_));
        push();
        while (!tls_->is_open() && pull()) {}
    }
    void send(std::string_view text) {
        EXPECT_TRUE(tls_->send(text, to_peer_));
        push();
    }
    void finish() {
        tls_->finish(to_peer_);
        push();
    }
    std::string until(std::string_view end) {
        while (heard_.find(end) == std::string::npos && pull()) {}
        return heard_;
    }
    // Everything up to the end, and how that came.
    std::string rest() {
        while (pull()) {}
        return heard_ + (tls_->has_ended() ? "<notice>" : "<bare end>");
    }

private:
    void push() {
        if (!to_peer_.empty()) ::send(fd_.get(), to_peer_.data(), to_peer_.size(), MSG_NOSIGNAL);
        to_peer_.clear();
    }
    bool pull() {
        std::array<char, 20'000> raw;
        std::array<char, 20'000> plain;
        pollfd p{fd_.get(), POLLIN, 0};
        if (::poll(&p, 1, 10'000) != 1) return false;
        const auto n = ::recv(fd_.get(), raw.data(), raw.size(), 0);
        if (n <= 0) return false;
        std::span<const char> left(raw.data(), static_cast<std::size_t>(n));
        for (bool again = true; again;) {
            const bool was_open = tls_->is_open();
            const auto s = tls_->receive(left, plain, to_peer_);
            push();
            if (!s) return false;
            heard_.append(plain.data(), s->produced);
            left = left.subspan(s->consumed);
            again = s->produced == plain.size() || (!was_open && tls_->is_open());
        }
        return !tls_->has_ended();
    }

    std::unique_ptr<connection> tls_;
    unique_fd fd_;
    buffer to_peer_;
    std::string heard_;
};

struct tls_servers : ::testing::TestWithParam<record_layer> {
    certificates files;
    http::server_options options;
    http::client_options client_options;
    ws::dial_options dial_options;

    tls_servers() {
        server_options ours;
        const auto mine = files.for_localhost();
        ours.certificates = {{mine.certificate, mine.key}};
        ours.records = GetParam();
        options.tls = *server_context::create(ours);
        client_options.tls = dial_options.tls = trusting();
    }
    std::shared_ptr<client_context> trusting() const {
        tls::client_options theirs;
        theirs.ca_file = files.ca_file();
        theirs.records = GetParam();
        return *client_context::create(theirs);
    }
    static void mirror(http::response res) {
        res.body() = std::string(res.request().path()) + " " + std::string(res.request().body());
        res.send();
    }
    static std::string url(const served& s, const std::string& target,
                           const std::string& scheme = "https") {
        return scheme + "://127.0.0.1:" + std::to_string(s.port()) + target;
    }
};

WIRE_WITH_EACH_RECORD_LAYER(tls_servers);

TEST_P(tls_servers, are_reached_through_a_tunnel_and_named_there) {
    http::router routes;
    routes.get("/{any}", mirror);
    routes.websocket("/ws", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& s, ws::message m) { s.send(m); });
    });
    served s(std::move(routes), options);
    const auto through = [&](const std::string& host, auto use) {
        raw_server proxy([&](raw_server& r) {
            auto v = r.accept();
            EXPECT_EQ(v.request().substr(0, 9 + host.size()), "CONNECT " + host + ":");
            v.send("HTTP/1.1 200 OK\r\n\r\n");
            v.carry_to(s.port());
        });
        client_options.proxy = dial_options.proxy =
            "http://127.0.0.1:" + std::to_string(proxy.port());
        use("://" + host + ":" + std::to_string(s.port()));
    };
    through("localhost", [&](const std::string& there) {
        auto c = *http::client::create(client_options);
        for (int i = 0; i < 2; ++i) {
            const auto got = c.get("https" + there + "/x");
            ASSERT_TRUE(got) << got.error().message;
            EXPECT_EQ(got->body(), "/x ");
            EXPECT_GT(got->opening().tls, 0ns);
        }
        EXPECT_EQ(c.connections_opened(), 1U);
    });
    through("localhost", [&](const std::string& there) {
        auto c = ws::blocking_client::connect("wss" + there + "/ws", dial_options);
        ASSERT_TRUE(c) << c.error().message;
        EXPECT_TRUE(c->send("hidden"));
        EXPECT_EQ(c->receive(5s)->data, "hidden");
    });
    // The certificate is for the origin, whose name it is held to, not the proxy's.
    through("other.example", [&](const std::string& there) {
        EXPECT_EQ(http::client::create(client_options)->get("https" + there + "/x").code(),
                  errc::tls_failed);
    });
}
TEST_P(tls_servers, that_do_not_answer_a_handshake_are_told_in_time) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        char byte;
        while (::recv(v.fd(), &byte, 1, 0) > 0) {}
    });
    client_options.tls_timeout = 30ms;
    const auto got = http::client::create(client_options)->get(raw.url("/", "https"));
    EXPECT_EQ(got.code(), errc::timed_out);
    EXPECT_NE(got.error().message.find("TLS handshake: not complete within 30 ms"),
              std::string::npos)
        << got.error().message;
}
TEST_P(tls_servers, answer_https) {
    served s(mirror, options);
    auto c = *http::client::create(client_options);
    for (int i = 0; i < 5; ++i) {
        const auto got = c.get(url(s, "/" + std::to_string(i)));
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->body(), "/" + std::to_string(i) + " ");
    }
    EXPECT_EQ(c.connections_opened(), 1U);
    const std::string large(900'000, 'x');
    const auto got = c.post(url(s, "/"), large);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_TRUE(got->body() == "/ " + large);
    EXPECT_EQ(c.connections_opened(), 1U);
}
TEST_P(tls_servers, are_not_left_for_plain_http_unless_allowed) {
    served plain(mirror);
    served s(
        [&](http::response res) {
            res.status(302).header("Location", url(plain, "/plain", "http")).send();
        },
        options);
    EXPECT_EQ(http::client::create(client_options)->get(url(s, "/")).code(), errc::bad_redirect);
    client_options.allow_https_to_http = true;
    const auto got = http::client::create(client_options)->get(url(s, "/"));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body(), "/plain ");
}
TEST_P(tls_servers, pass_bodies_in_pieces_and_files) {
    std::string name = "/tmp/wire_tls_files_XXXXXX";
    const std::filesystem::path directory = ::mkdtemp(name.data());
    std::string large(5'000'000, 'x');
    for (std::size_t i = 0; i < large.size(); i += 997) large[i] = static_cast<char>('a' + i % 26);
    std::ofstream(directory / "large") << large;
    http::router routes;
    routes.get("/files/{path...}", *http::serve_files(directory.string()));
    routes.stream(http::method::post, "/echo", [](http::response res, http::body_reader reader) {
        struct echo {
            http::body_reader in;
            http::body_writer out;
        };
        auto self = std::make_shared<echo>();
        self->in = std::move(reader);
        self->out = res.start_body();
        self->out.on_drained([self] { self->in.resume(); });
        self->in.read(
            [self](std::string_view piece) {
                if (!self->out.write(piece)) self->in.pause();
            },
            [self](errc why) {
                if (why == errc::none) self->out.finish();
            });
    });
    options.limits.max_unsent_bytes = 100'000;
    served s(std::move(routes), options);
    auto c = *http::client::create(client_options);
    for (int i = 0; i < 2; ++i) {
        const auto file = c.get(url(s, "/files/large"));
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_TRUE(file->body() == large);
        const auto back = c.post(url(s, "/echo"), large);
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_TRUE(back->body() == large);
    }
    EXPECT_EQ(c.connections_opened(), 1U);
    std::filesystem::remove_all(directory);
}
TEST_P(tls_servers, answer_wss) {
    http::router routes;
    routes.websocket("/", [](ws::session& s, const http::request&) {
        s.on_message([](ws::session& s, ws::message m) { s.send(m); });
    });
    options.limits.max_message_bytes = 3'000'000;
    dial_options.limits = options.limits;
    served s(std::move(routes), options);
    auto c = ws::blocking_client::connect(url(s, "/", "wss"), dial_options);
    ASSERT_TRUE(c) << c.error().message;
    for (const std::size_t n : {0UL, 125UL, 65'536UL, 3'000'000UL}) {
        const std::string text(n, 'x');
        ASSERT_TRUE(c->send(text));
        const auto got = c->receive(10s);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_TRUE(got->data == text) << n;
    }
    c->close();
    EXPECT_FALSE(c->is_open());
}
TEST_P(tls_servers, are_verified_unless_that_is_switched_off) {
    served s(mirror, options);
    const auto got = http::client::create()->get(url(s, "/"));
    EXPECT_EQ(got.code(), errc::tls_failed);
    EXPECT_EQ(got.error().message, "GET " + url(s, "/") +
                                       ": TLS handshake: the server's certificate is not to be "
                                       "trusted: unable to get local issuer certificate");
    const auto dialed = ws::blocking_client::connect(url(s, "/", "wss"));
    EXPECT_EQ(dialed.code(), errc::tls_failed);
    EXPECT_EQ(dialed.error().message.find("wss://127.0.0.1:"), 0U);
    tls::client_options careless;
    careless.insecure = true;
    client_options.tls = *client_context::create(careless);
    EXPECT_TRUE(http::client::create(client_options)->get(url(s, "/")));
}
TEST_P(tls_servers, and_those_without_tls_do_not_understand_each_other) {
    served secure(mirror, options);
    EXPECT_FALSE(http::client::create()->get(url(secure, "/", "http")));
    served plain(mirror);
    const auto got = http::client::create(client_options)->get(url(plain, "/"));
    EXPECT_EQ(got.code(), errc::tls_failed);
    EXPECT_NE(got.error().message.find("does the server speak TLS on this port?"),
              std::string::npos)
        << got.error().message;
}
TEST_P(tls_servers, end_with_notice) {
    served s(mirror, options);
    const auto context = trusting();
    tls_peer p(s.port(), *context);
    p.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const std::string heard = p.rest();
    EXPECT_EQ(heard.find("HTTP/1.1 200 OK\r\n"), 0U);
    EXPECT_TRUE(heard.ends_with("/a <notice>")) << heard;
}
TEST_P(tls_servers, answer_a_client_that_has_said_its_last_word) {
    served s(mirror, options);
    const auto context = trusting();
    tls_peer p(s.port(), *context);
    p.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    p.finish();
    EXPECT_TRUE(p.rest().ends_with("/a <notice>"));
}
// The kernel would drop what it has yet to send of the answer, on a socket that is closed.
TEST_P(tls_servers, send_all_to_a_client_whose_last_word_comes_meanwhile) {
    const std::string large(1'000'000, 'x');
    served s([&](http::response res) { res.send(large); }, options);
    const auto context = trusting();
    tls_peer p(s.port(), *context);
    p.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    p.until("\r\n\r\n");
    p.finish();
    const std::string heard = p.rest();
    EXPECT_TRUE(heard.ends_with("x<notice>")) << heard.substr(heard.size() - 20);
    EXPECT_EQ(heard.size(), heard.find("\r\n\r\n") + 4 + large.size() + 8);
}
TEST_P(tls_servers, answer_for_https_targets) {
    served s(mirror, options);
    const auto context = trusting();
    tls_peer p(s.port(), *context);
    p.send("GET https://a/b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const std::string heard = p.rest();
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 200 ")) << heard;
}
TEST_P(tls_servers, pipelined_requests) {
    served s(mirror, options);
    const auto context = trusting();
    tls_peer p(s.port(), *context);
    std::string many;
    for (int i = 0; i < 2000; ++i)
        many += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    p.send(many + "GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const std::string heard = p.rest();
    std::size_t at = 0;
    for (int i = 0; i < 2000; ++i) {
        at = heard.find("\r\n\r\n/" + std::to_string(i) + " ", at);
        ASSERT_NE(at, std::string::npos) << i;
    }
    EXPECT_TRUE(heard.ends_with("/end <notice>"));
}
TEST_P(tls_servers, do_not_wait_for_ever_for_a_handshake) {
    options.limits.header_timeout = 50ms;
    served s(mirror, options);
    raw_peer silent(s.port());
    raw_peer slow(s.port());
    slow.send(std::string("\x16\x03\x01\x02\x00\x01\x00", 7));
    EXPECT_EQ(silent.rest(), "");
    EXPECT_EQ(slow.rest(), "");
}
TEST_P(tls_servers, tell_garbage_why_and_close) {
    served s(mirror, options);
    raw_peer p(s.port());
    p.send(std::string("\x16\x03\x01\x00\x08\x01\x00\x00\x04xxxx", 13));
    p.finish_sending();
    EXPECT_EQ(p.rest().substr(0, 1), "\x15");  // an alert
    raw_peer lost(s.port());
    lost.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(lost.rest(), "");
    EXPECT_EQ(http::client::create(client_options)->get(url(s, "/"))->body(), "/ ");
}
// Each in its own words, to the hook and to the metrics.
TEST_P(tls_servers, tell_of_handshakes_that_fail) {
    std::mutex mutex;
    std::vector<std::string> told;
    options.metrics = std::make_shared<http::metrics>();
    options.limits.header_timeout = 200ms;
    options.on_handshake_failure = [&](const http::handshake_failure& f) {
        EXPECT_EQ(f.peer.to_string().substr(0, 10), "127.0.0.1:");
        const std::lock_guard lock(mutex);
        told.push_back(std::string(to_string(f.code)) + "|" + std::string(f.reason) + "|" +
                       std::string(f.alert.name) + (f.alert.sent ? " sent" : ""));
    };
    served s(mirror, options);
    const auto expect_told = [&](const std::string& what) {
        for (int i = 0; i < 1000; ++i) {
            {
                const std::lock_guard lock(mutex);
                if (!told.empty()) break;
            }
            std::this_thread::sleep_for(5ms);
        }
        const std::lock_guard lock(mutex);
        ASSERT_EQ(told.size(), 1U) << what;
        EXPECT_EQ(told[0], what);
        told.clear();
    };
    raw_peer(s.port()).finish_sending();
    expect_told(
        "connection ended without the peer's notice|handshake: the peer closed the connection|");
    const raw_peer silent(s.port());
    expect_told("timed out|TLS handshake: timed out|");
    raw_peer lost(s.port());
    lost.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect_told("TLS failed|TLS handshake: http request|");
    tls::client_options theirs;
    theirs.ca_file = files.other_ca_file();
    client_options.tls = *client_context::create(theirs);
    EXPECT_FALSE(http::client::create(client_options)->get(url(s, "/")));
    expect_told("TLS failed|TLS handshake: the peer's alert: unknown_ca|unknown_ca");
    theirs.ca_file = files.ca_file();
    theirs.protocols = {"other"};
    client_options.tls = *client_context::create(theirs);
    EXPECT_FALSE(http::client::create(client_options)->get(url(s, "/")));
    expect_told("TLS failed|TLS handshake: no application protocol|no_application_protocol sent");
    client_options.tls = trusting();
    EXPECT_TRUE(http::client::create(client_options)->get(url(s, "/")));
    s.stop();
    EXPECT_TRUE(told.empty());
    const std::string counts = options.metrics->text();
    EXPECT_NE(counts.find("\nwire_handshake_failures_total 5\n"), std::string::npos) << counts;
    EXPECT_NE(counts.find("\nwire_timeouts_total{phase=\"handshake\"} 1\n"), std::string::npos);
}
TEST_P(tls_servers, behind_the_proxy_protocol) {
    options.proxy_protocol = http::proxy_protocol::required;
    options.trusted_proxies = {*network::parse("127.0.0.1")};
    served s([](http::response res) { res.send(res.request().peer().to_string() + "!"); }, options);
    const auto context = trusting();
    tls_peer p(s.port(), *context, "PROXY TCP4 192.0.2.1 192.0.2.2 4711 443\r\n");
    p.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(p.rest().ends_with("\r\n192.0.2.1:4711!<notice>"));
}
TEST_P(tls_servers, drain) {
    served s(mirror, options);
    const auto context = trusting();
    // First, so that it has been accepted when the other is answered.
    raw_peer in_its_handshake(s.port());
    tls_peer idle(s.port(), *context);
    idle.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    idle.until("/a ");
    s.stop();
    EXPECT_TRUE(idle.rest().ends_with("/a <notice>"));
    EXPECT_EQ(in_its_handshake.rest(), "");
}
TEST_P(tls_servers, open_tunnels) {
    options.tunnels = true;
    served s(
        [](http::response res) {
            const auto t = std::make_shared<http::tunnel>(res.open_tunnel());
            t->from_peer.read([t](std::string_view bytes) { t->to_peer.write(bytes); },
                              [t](errc why) {
                                  if (why == errc::none) t->to_peer.finish();
                              });
        },
        options);
    const auto context = trusting();
    tls_peer p(s.port(), *context);
    p.send("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\nearly ");
    p.until("early ");
    p.send("late");
    p.until("late");
    p.finish();
    EXPECT_TRUE(p.rest().ends_with("\r\n\r\nearly late<notice>"));
}
TEST_P(tls_servers, a_reply_cut_short_is_an_error) {
    // What is passed on ends in the middle of the last record, or just before the notice.
    served s([](http::response res) { res.send("hello"); }, options);
    // No tickets between handshake and reply, which could come in one piece or two.
    tls::client_options older;
    older.ca_file = files.ca_file();
    older.max_version = version::tls_1_2;
    client_options.tls = *client_context::create(older);
    for (const bool in_record : {true, false}) {
        raw_server between([&](raw_server& r) {
            auto visitor = r.accept();
            raw_peer inner(s.port());
            std::array<char, 20'000> bytes;
            for (int reply = 0;;) {
                std::array<pollfd, 2> both{{{visitor.fd(), POLLIN, 0}, {inner.fd(), POLLIN, 0}}};
                if (::poll(both.data(), 2, 10'000) <= 0) return;
                if (both[0].revents != 0) {
                    const auto n = ::recv(visitor.fd(), bytes.data(), bytes.size(), 0);
                    if (n <= 0) return;
                    inner.send({bytes.data(), static_cast<std::size_t>(n)});
                }
                if (both[1].revents != 0) {
                    const auto n = ::recv(inner.fd(), bytes.data(), bytes.size(), 0);
                    if (n <= 0) return;
                    const bool last = ++reply > 1 && std::string_view(bytes.data(), 1) == "\x17";
                    visitor.send(
                        {bytes.data(), static_cast<std::size_t>(n) - (last && in_record ? 1 : 0)});
                    if (last) return;
                }
            }
        });
        auto c = *http::client::create(client_options);
        const auto got = c.get(between.url("/", "https"));
        if (in_record) {
            EXPECT_EQ(got.code(), errc::truncated) << got.error().message;
        } else {
            EXPECT_TRUE(got) << got.error().message;
        }
    }
}

TEST_P(tls_servers, talk_to_the_openssl_command) {
    served s(mirror, options);
    for (const std::string version : {"-tls1_2", "-tls1_3"}) {
        const std::string heard = output_of(
            "printf 'GET /a HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n' | timeout 20 "
            "openssl s_client -quiet " +
            version +
            " -verify_return_error -verify_hostname localhost -servername localhost -alpn "
            "h2,http/1.1 -CAfile " +
            files.ca_file() + " -connect 127.0.0.1:" + std::to_string(s.port()) + " 2>&1");
        EXPECT_NE(heard.find("HTTP/1.1 200 OK"), std::string::npos) << heard;
        EXPECT_NE(heard.find("/a "), std::string::npos) << heard;
    }
}

}  // namespace wire::tls::served_test
