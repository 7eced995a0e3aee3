// What servers say over TLS behind a response: a connection that has heard it is not used again.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "certificates.hpp"
#include "loop_client.hpp"
#include "raw_server.hpp"
#include "record_layers.hpp"
#include "wire/tls/server_context.hpp"

namespace wire::tls::kept_connections_test {

using namespace std::chrono_literals;
using testing::certificates;
using testing::raw_server;
using testing::raw_visitor;

std::string answer(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// A server that says what a test wants, in the records and packets that it wants.
class tls_visitor {
public:
    tls_visitor(raw_visitor v, server_context& context)
        : visitor_(std::move(v)), tls_(*context.accept()) {
        while (!tls_->is_open() && pull()) {}
    }
    // "" when the client has closed.
    std::string request() {
        while (heard_.find("\r\n\r\n") == std::string::npos) {
            if (!pull()) return "";
        }
        const auto end = heard_.find("\r\n\r\n") + 4;
        const std::string text = heard_.substr(0, end);
        heard_.erase(0, end);
        return text;
    }
    // Sent by send(), in a record of its own.
    void add(std::string_view text) { EXPECT_TRUE(tls_->send(text, out_)); }
    void add_notice() { tls_->finish(out_); }
    void send() {
        while (!out_.empty()) {
            const auto n = ::send(visitor_.fd(), out_.data(), out_.size(), MSG_NOSIGNAL);
            if (n <= 0) return;
            out_.consume(static_cast<std::size_t>(n));
        }
    }

private:
    bool pull() {
        std::array<char, 20'000> raw;
        std::array<char, 20'000> plain;
        pollfd p{visitor_.fd(), POLLIN, 0};
        if (::poll(&p, 1, 10'000) != 1) return false;
        const auto n = ::recv(visitor_.fd(), raw.data(), raw.size(), 0);
        if (n <= 0) return false;
        std::span<const char> left(raw.data(), static_cast<std::size_t>(n));
        for (bool again = true; again;) {
            const bool was_open = tls_->is_open();
            const auto s = tls_->receive(left, plain, out_);
            if (!s) return false;
            heard_.append(plain.data(), s->produced);
            left = left.subspan(s->consumed);
            again = !was_open && tls_->is_open();
        }
        send();
        return !tls_->has_ended();
    }

    raw_visitor visitor_;
    std::unique_ptr<connection> tls_;
    buffer out_;
    std::string heard_;
};

struct kept_tls_connections : testing::loop_client, ::testing::WithParamInterface<record_layer> {
    certificates files;
    std::shared_ptr<server_context> context;
    std::string got;

    kept_tls_connections() {
        server_options ours;
        const auto mine = files.for_localhost();
        ours.certificates = {{mine.certificate, mine.key}};
        context = *server_context::create(ours);
        client_options theirs;
        theirs.ca_file = files.ca_file();
        theirs.records = GetParam();
        options.tls = *client_context::create(theirs);
        options.response_timeout = 5s;
    }
    static std::string url(const raw_server& r) {
        return "https://localhost:" + std::to_string(r.port()) + "/";
    }
    // A server whose first connection answers with `first`, and which expects the next request on
    // another.
    template <typename First> auto twice(First first) {
        return [this, first](raw_server& r) {
            {
                tls_visitor v(r.accept(), *context);
                v.request();
                first(v);
                v.send();
                EXPECT_EQ(v.request(), "");
            }
            tls_visitor v(r.accept(), *context);
            EXPECT_FALSE(v.request().empty());
            v.add(answer("good"));
            v.send();
            v.request();
        };
    }
    // Asks again as soon as the first response is there.
    void ask_twice(raw_server& r, http::method then) {
        c().get(url(r), [this, &r, then](result<http::reply> first) {
            ASSERT_TRUE(first) << first.error().message;
            c().send(http::make_request(then, url(r), "x"), [this](result<http::reply> second) {
                got = second ? std::string(second->body()) : second.error().message;
            });
        });
        EXPECT_TRUE(run_until([this] { return !got.empty(); }));
        made.reset();
    }
};

TEST_P(kept_tls_connections, end_with_what_follows_a_response) {
    for (const std::size_t size : {1UL, 9'000UL, 12'000UL, 16'000UL}) {
        got.clear();
        raw_server raw(twice([size](tls_visitor& v) {
            const std::string first = answer(std::string(size, 'x'));
            v.add(std::string_view(first).substr(0, first.size() - size));
            v.send();
            std::this_thread::sleep_for(10ms);
            v.add(std::string_view(first).substr(first.size() - size));
            v.add(answer("evil"));
        }));
        ask_twice(raw, http::method::get);
        EXPECT_EQ(got, "good") << size;
    }
}
// A request that may be sent only once is not wasted on them.
TEST_P(kept_tls_connections, end_with_the_notice_that_comes_with_a_response) {
    raw_server raw(twice([](tls_visitor& v) {
        v.add(answer("first"));
        v.add_notice();
    }));
    ask_twice(raw, http::method::post);
    EXPECT_EQ(got, "good");
}
TEST_P(kept_tls_connections, end_with_the_notice_that_comes_during_a_pause) {
    raw_server raw(twice([](tls_visitor& v) {
        v.add(answer("first"));
        v.add_notice();
    }));
    http::request_id id = 0;
    bool over = false;
    http::response_pieces to;
    to.data = [&](std::string_view) { c().pause(id); };
    to.end = [&](result<http::reply> r) { over = r.ok(); };
    id = c().send(http::make_request(http::method::get, url(raw)), std::move(to));
    const auto until = clock::now() + 50ms;
    while (clock::now() < until) loop->run_once(until - clock::now());
    EXPECT_FALSE(over);
    c().resume(id);
    ASSERT_TRUE(run_until([&] { return over; }));
    c().get(url(raw), [this](result<http::reply> r) {
        got = r ? std::string(r->body()) : r.error().message;
    });
    EXPECT_TRUE(run_until([this] { return !got.empty(); }));
    EXPECT_EQ(got, "good");
    made.reset();
}
// Those that came before the notice count.
TEST_P(kept_tls_connections, give_all_pipelined_answers_before_the_notice) {
    options.max_pipelined = 4;
    options.max_connections_per_host = 1;
    raw_server raw([this](raw_server& r) {
        tls_visitor v(r.accept(), *context);
        v.request();
        v.add(answer("first"));
        v.send();
        v.request();
        v.request();
        v.add(answer("a") + answer("b"));
        v.add_notice();
        v.send();
        EXPECT_EQ(v.request(), "");
    });
    const auto note = [this](result<http::reply> r) {
        got += (r ? std::string(r->body()) : r.error().message) + "|";
    };
    c().get(url(raw), note);
    ASSERT_TRUE(run_until([this] { return !got.empty(); }));
    c().get(url(raw), note);
    c().get(url(raw), note);
    EXPECT_TRUE(run_until([this] { return got.size() >= 10; }));
    EXPECT_EQ(got, "first|a|b|");
    EXPECT_EQ(c().connections_opened(), 1U);
    made.reset();
}
WIRE_WITH_EACH_RECORD_LAYER(kept_tls_connections);

}  // namespace wire::tls::kept_connections_test
