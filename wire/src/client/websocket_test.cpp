// Dialing, messages, closing and time limits of the dialer.
#include "wire/client/websocket.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>

#include "raw_server.hpp"
#include "served.hpp"
#include "websocket/session_core.hpp"
#include "ws_server.hpp"

namespace wire::ws::websocket_test {

using namespace std::chrono_literals;
using testing::accept_handshake;
using testing::raw_server;
using testing::served;
using testing::ws_echo;
using testing::ws_url;

// Also where the server closes first.
TEST(ws_dialer, what_was_sent_before_close_arrives) {
    constexpr std::size_t size = 40'000'000 + max_frame_header_bytes;
    constexpr std::size_t close_frame = 8;
    for (const bool server_first : {false, true}) {
        std::atomic<bool> done = false;
        raw_server raw([&done, server_first](raw_server& r) {
            auto v = r.accept();
            accept_handshake(v);
            std::string bytes(1'000'000, '\0');
            std::size_t got = 0;
            if (server_first) v.send(std::string("\x88\x02\x03\xE8", 4));
            while (got < size + close_frame) {
                const auto n = ::recv(v.fd(), bytes.data(), bytes.size(), 0);
                if (n <= 0) break;
                got += static_cast<std::size_t>(n);
                std::this_thread::sleep_for(std::chrono::microseconds(n / 20));
            }
            EXPECT_EQ(got, size + close_frame);
            done = true;
            if (!server_first) v.send(std::string("\x88\x02\x03\xE8", 4));
        });
        auto loop = *event_loop::create();
        dialer d(*loop);
        dial_options options;
        options.limits.close_timeout = 1s;
        std::string ending;
        d.dial(raw.url("/", "ws"), options, [&](result<session*> opened) {
            ASSERT_TRUE(opened);
            (*opened)->on_close([&](session&, std::uint16_t code, std::string_view reason) {
                ending = std::to_string(code) + " " + std::string(reason);
            });
            (*opened)->send(std::string(size - max_frame_header_bytes, 'x'), opcode::binary);
            if (!server_first) (*opened)->close();
        });
        for (const auto until = clock::now() + 10s;
             (ending.empty() || !done) && clock::now() < until;)
            loop->run_once(10ms);
        EXPECT_EQ(ending, "1000 ");
    }
}
TEST(ws_dialer, does_not_wait_for_ever_for_a_server_that_takes_the_last_bytes_slowly) {
    constexpr std::size_t size = 40'000'000;
    for (const bool server_first : {false, true}) {
        std::size_t taken = 0;
        std::string ending;
        {
            raw_server raw([&taken, server_first](raw_server& r) {
                auto v = r.accept();
                accept_handshake(v);
                if (server_first) v.send(std::string("\x88\x02\x03\xE8", 4));
                std::string bytes(1'000'000, '\0');
                while (taken < size) {
                    const auto n = ::recv(v.fd(), bytes.data(), bytes.size(), 0);
                    if (n <= 0) break;
                    taken += static_cast<std::size_t>(n);
                    std::this_thread::sleep_for(std::chrono::microseconds(n / 20));
                }
            });
            auto loop = *event_loop::create();
            dialer d(*loop);
            dial_options options;
            options.limits.close_timeout = 500ms;
            options.limits.write_timeout = 1s;
            options.limits.max_unsent_bytes = 2 * size;  // the server is heard meanwhile
            bool over = false;
            d.dial(raw.url("/", "ws"), options, [&](result<session*> opened) {
                ASSERT_TRUE(opened);
                (*opened)->on_close([&](session&, std::uint16_t code, std::string_view reason) {
                    ending = std::to_string(code) + " " + std::string(reason);
                    loop->post([&] { over = true; });
                });
                (*opened)->send(std::string(size, 'x'), opcode::binary);
                if (!server_first) (*opened)->close();
            });
            while (!over) loop->run_once();
            // Until nothing is to be done any more: then the connection has ended.
            while (loop->next_timeout() != clock::duration::max()) loop->run_once();
        }
        EXPECT_LT(taken, size);
        EXPECT_EQ(ending, server_first ? "1000 " : "1006 no answer to close");
    }
}
TEST(ws_dialer, hears_its_server_however_much_it_sends) {
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        std::this_thread::sleep_for(100ms);  // until the socket is full
        for (int i = 0; i < 100; ++i) v.send("\x81\x01x");
        std::string bytes(1'000'000, '\0');
        // More slowly than it is filled.
        for (ssize_t n = 1; n > 0; n = ::recv(v.fd(), bytes.data(), bytes.size(), 0))
            std::this_thread::sleep_for(std::chrono::microseconds(n / 100));
    });
    auto loop = *event_loop::create();
    dialer d(*loop);
    int heard = 0;
    int filled = 0;
    d.dial(raw.url("/", "ws"), {}, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        (*opened)->on_message([&](session&, message) { ++heard; });
        (*opened)->on_drained([&](session& s) {
            ++filled;
            s.send(std::string(20'000'000, 'x'), opcode::binary);
        });
        (*opened)->send(std::string(20'000'000, 'x'), opcode::binary);
    });
    for (const auto until = clock::now() + 10s; filled < 3 && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_EQ(heard, 100);
}
// Nor where the server takes nothing itself while it has something to send. The client answers each
// message, and its answers stand behind what it sends.
TEST(ws_dialer, hears_a_server_that_waits_to_be_heard) {
    constexpr std::size_t size = 10'000'000;
    std::atomic<bool> got = false;
    http::server_options large;
    large.limits.max_message_bytes = size;
    http::router r;
    r.websocket("/", [&](session& s, const http::request&) {
        s.on_drained([left = 20'000](session& to) mutable {
            while (left > 0 && to.send(std::string(1000, 'x'))) --left;
        });
        s.on_message([&](session&, message m) { got = got || m.data.size() == size; });
        while (s.send(std::string(1000, 'x'))) {}
    });
    served s(std::move(r), large);
    auto loop = *event_loop::create();
    dialer d(*loop);
    d.dial(ws_url(s, "/"), {}, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        (*opened)->on_message([](session& s, message) { s.send("seen"); });
        (*opened)->send(std::string(size, 'x'), opcode::binary);
    });
    for (const auto until = clock::now() + 60s; !got && clock::now() < until;) loop->run_once(10ms);
    EXPECT_TRUE(got);
}
// A server that takes no answers gets no more of them than the client is told to hold.
TEST(ws_dialer, answers_no_more_than_its_limit_to_a_server_that_takes_nothing) {
    for (const std::size_t each : {10'000U, 500'000U}) {
        buffer frames;
        while (frames.size() < 64'000'000)
            append_frame(frames, opcode::binary, std::string(each, 'x'));
        std::promise<void> over;
        std::atomic<bool> stuck = false;
        raw_server raw([&](raw_server& r) {
            auto v = r.accept();
            accept_handshake(v);
            pollfd p{v.fd(), POLLOUT, 0};
            for (std::size_t sent = 0; sent < frames.size() && ::poll(&p, 1, 500) == 1;) {
                const auto n = ::send(v.fd(), frames.data() + sent, frames.size() - sent,
                                      MSG_NOSIGNAL | MSG_DONTWAIT);
                if (n <= 0) break;
                sent += static_cast<std::size_t>(n);
            }
            stuck = true;
            over.get_future().wait();
        });
        auto loop = *event_loop::create();
        dialer d(*loop);
        std::size_t most_unsent = 0;
        d.dial(raw.url("/", "ws"), {}, [&](result<session*> opened) {
            ASSERT_TRUE(opened);
            (*opened)->on_message([&](session& s, message m) {
                s.send(m);
                most_unsent = std::max(most_unsent, s.unsent());
            });
        });
        while (!stuck) loop->run_once(10ms);
        EXPECT_GT(most_unsent, limits().max_unsent_bytes);
        EXPECT_LT(most_unsent, 4 * limits().max_unsent_bytes);
        over.set_value();
    }
}
// Nor where its messages are short and the answers long, so that one piece brings many of them.
TEST(ws_dialer, answers_no_more_than_its_limit_to_many_short_messages) {
    constexpr std::size_t each = 100'000;
    std::promise<void> over;
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        std::string frames;
        for (int i = 0; i < 30'000; ++i) frames += std::string_view("\x81\x00", 2);
        v.send(frames);
        over.get_future().wait();
    });
    auto loop = *event_loop::create();
    dialer d(*loop);
    std::size_t most_unsent = 0;
    d.dial(raw.url("/", "ws"), {}, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        (*opened)->on_message([&](session& s, message) {
            s.send(std::string(each, 'x'));
            most_unsent = std::max(most_unsent, s.unsent());
        });
    });
    for (const auto until = clock::now() + 1s; clock::now() < until;) loop->run_once(10ms);
    EXPECT_GT(most_unsent, limits().max_unsent_bytes);
    EXPECT_LT(most_unsent, 4 * limits().max_unsent_bytes);
    over.set_value();
}
// A server that refuses what it is sent says why and takes no more of it. Whether it resets the
// connection, or ends its half and reads on later.
TEST(ws_dialer, receives_all_that_came_before_the_end) {
    for (const bool resets : {true, false}) {
        raw_server raw([resets](raw_server& r) {
            auto v = r.accept();
            accept_handshake(v);
            std::this_thread::sleep_for(50ms);  // until the socket is full
            v.send("\x81\x01x\x81\x01y\x81\x01z\x88\x06\x0F\xA2oops");
            std::this_thread::sleep_for(50ms);
            if (resets) return v.reset();
            ::shutdown(v.fd(), SHUT_WR);
            std::this_thread::sleep_for(50ms);
            std::string bytes(1'000'000, '\0');
            while (::recv(v.fd(), bytes.data(), bytes.size(), 0) > 0) {}
        });
        auto loop = *event_loop::create();
        dialer d(*loop);
        std::string heard;
        std::string ending;
        d.dial(raw.url("/", "ws"), {}, [&](result<session*> opened) {
            ASSERT_TRUE(opened);
            (*opened)->on_message([&](session&, message m) { heard += m.data; });
            (*opened)->on_close([&](session&, std::uint16_t code, std::string_view reason) {
                ending = std::to_string(code) + " " + std::string(reason);
            });
            (*opened)->send(std::string(20'000'000, 'x'), opcode::binary);
        });
        for (const auto until = clock::now() + 10s; ending.empty() && clock::now() < until;)
            loop->run_once(10ms);
        EXPECT_EQ(heard, "xyz") << resets;
        EXPECT_EQ(ending, "4002 oops") << resets;
    }
}
// What its handlers send meanwhile goes nowhere, and takes no memory.
TEST(ws_dialer, answers_to_what_came_before_a_reset_are_dropped) {
    constexpr std::size_t size = 20'000'000;
    raw_server raw([](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        std::this_thread::sleep_for(50ms);
        std::string frames;
        for (int i = 0; i < 100; ++i) frames += "\x81\x01x";
        v.send(frames);
        std::this_thread::sleep_for(50ms);
        v.reset();
    });
    auto loop = *event_loop::create();
    dialer d(*loop);
    int heard = 0;
    std::size_t most_unsent = 0;
    bool over = false;
    d.dial(raw.url("/", "ws"), {}, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        (*opened)->on_message([&](session& s, message) {
            ++heard;
            if (heard > 95) s.send(std::string(size, 'x'), opcode::binary);
            most_unsent = std::max(most_unsent, s.unsent());
        });
        (*opened)->on_close([&](session&, std::uint16_t, std::string_view) { over = true; });
        (*opened)->send(std::string(size, 'x'), opcode::binary);
    });
    for (const auto until = clock::now() + 10s; !over && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_EQ(heard, 100);
    EXPECT_LT(most_unsent, 3 * size);
}
TEST(ws_dialer, many_sessions_on_one_loop) {
    served s(ws_echo());
    auto loop = *event_loop::create();
    dialer d(*loop);
    int answered = 0;
    int closed = 0;
    for (int i = 0; i < 50; ++i) {
        d.dial(ws_url(s), {}, [&, i](result<session*> opened) {
            ASSERT_TRUE(opened) << opened.error().message;
            (*opened)->on_message([&, i](session& s, message m) {
                EXPECT_EQ(m.data, std::to_string(i));
                ++answered;
                s.close();
            });
            (*opened)->on_close([&](session&, std::uint16_t code, std::string_view) {
                EXPECT_EQ(code, 1000);
                ++closed;
            });
            (*opened)->send(std::to_string(i));
        });
    }
    while (closed < 50) loop->run_once();
    EXPECT_EQ(answered, 50);
}
TEST(ws_dialer, owes_one_pong_to_a_server_that_takes_none) {
    constexpr std::size_t size = 20'000'000;
    constexpr int pings = 200;
    std::atomic<bool> begun = false;
    std::atomic<bool> all_asked = false;
    std::promise<void> over;
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        std::string bytes(14, '\0');
        ASSERT_EQ(::recv(v.fd(), bytes.data(), bytes.size(), MSG_WAITALL), 14);
        std::this_thread::sleep_for(50ms);  // until the socket is full
        begun = true;
        for (int i = 0; i < pings; ++i) {
            v.send("\x89\x03" + std::to_string(100 + i));
            std::this_thread::sleep_for(1ms);
        }
        all_asked = true;
        over.get_future().wait();
        for (std::size_t got = 0; got < size;) {
            bytes.resize(std::min<std::size_t>(1'000'000, size - got));
            const auto n = ::recv(v.fd(), bytes.data(), bytes.size(), 0);
            ASSERT_GT(n, 0);
            got += static_cast<std::size_t>(n);
        }
        for (std::string said; said != std::to_string(99 + pings);) {
            bytes.resize(9);
            ASSERT_EQ(::recv(v.fd(), bytes.data(), bytes.size(), MSG_WAITALL), 9);
            limits l;
            message_reader reader(role::server, l);
            const step s = reader.read({bytes.data(), bytes.size()});
            ASSERT_EQ(s.what, event::pong);
            said = s.data;
        }
    });
    auto loop = *event_loop::create();
    dialer d(*loop);
    session* open = nullptr;
    d.dial(raw.url("/", "ws"), {}, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        open = *opened;
        open->on_close([&](session&, std::uint16_t, std::string_view) { open = nullptr; });
        open->send(std::string(size, 'x'), opcode::binary);
    });
    std::size_t unsent = 0;
    while (!all_asked) {
        loop->run_once(10ms);
        if (unsent == 0 && open != nullptr && begun) unsent = open->unsent();
    }
    ASSERT_NE(open, nullptr);
    EXPECT_GT(unsent, limits().max_unsent_bytes);
    EXPECT_LT(open->unsent(), unsent + 1'000);
    over.set_value();
    for (const auto until = clock::now() + 10s; open != nullptr && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_EQ(open, nullptr);
}
TEST(ws_dialer, gives_up_a_server_that_goes_on_sending_and_takes_nothing) {
    int failure = 0;
    raw_server raw([&failure](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        while (::send(v.fd(), "\x81\x01x", 3, MSG_NOSIGNAL) == 3) std::this_thread::sleep_for(5ms);
        failure = errno;
    });
    auto loop = *event_loop::create();
    auto d = std::make_unique<dialer>(*loop);
    dial_options options;
    options.limits.write_timeout = 300ms;
    std::string ending;
    d->dial(raw.url("/", "ws"), options, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        (*opened)->on_close([&](session& s, std::uint16_t code, std::string_view reason) {
            EXPECT_FALSE(s.is_open());
            ending = std::to_string(code) + " " + std::string(reason);
        });
        (*opened)->send(std::string(20'000'000, 'x'), opcode::binary);
    });
    for (const auto until = clock::now() + 10s; ending.empty() && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_EQ(ending, "1006 the server takes nothing");
    d.reset();
    loop->run_once(10ms);
    raw.finish();
    EXPECT_EQ(failure, ECONNRESET);
}
// It may have to be heard before it reads.
TEST(ws_dialer, gives_a_server_its_time_once_it_is_heard_again) {
    constexpr std::size_t size = 20'000'000;
    const std::string frame = "\x82\x7E\x27\x10" + std::string(10'000, 'y');
    constexpr int frames = 3000;
    std::atomic<std::size_t> taken = 0;
    raw_server raw([&](raw_server& r) {
        auto v = r.accept();
        accept_handshake(v);
        for (int i = 0; i < frames; ++i) v.send(frame);
        std::this_thread::sleep_for(300ms);
        std::string bytes(1'000'000, '\0');
        while (taken < size + max_frame_header_bytes) {
            const auto n = ::recv(v.fd(), bytes.data(), bytes.size(), 0);
            if (n <= 0) break;
            taken += static_cast<std::size_t>(n);
        }
    });
    auto loop = *event_loop::create();
    dialer d(*loop);
    dial_options options;
    options.limits.write_timeout = 1s;
    session* open = nullptr;
    int heard = 0;
    d.dial(raw.url("/", "ws"), options, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        open = *opened;
        open->on_message([&](session&, message) { ++heard; });
        open->on_close([&](session&, std::uint16_t, std::string_view) { open = nullptr; });
        open->send(std::string(size, 'x'), opcode::binary);
        detail::core_of(*open).hold();
    });
    for (const auto until = clock::now() + 1900ms; clock::now() < until;) loop->run_once(10ms);
    ASSERT_NE(open, nullptr);
    detail::core_of(*open).release();
    for (const auto until = clock::now() + 10s;
         taken < size + max_frame_header_bytes && open != nullptr && clock::now() < until;)
        loop->run_once(10ms);
    EXPECT_EQ(taken, size + max_frame_header_bytes);
    EXPECT_EQ(heard, frames);
}
// As where the loop runs inside another.
TEST(ws_dialer, closes_in_time_long_after_the_last_iteration) {
    served s(ws_echo());
    auto loop = *event_loop::create();
    dialer d(*loop);
    dial_options options;
    options.limits.close_timeout = 1s;
    session* open = nullptr;
    std::string ending;
    d.dial(ws_url(s), options, [&](result<session*> opened) {
        ASSERT_TRUE(opened);
        open = *opened;
        open->on_close([&](session&, std::uint16_t code, std::string_view reason) {
            ending = std::to_string(code) + " " + std::string(reason);
        });
    });
    while (open == nullptr) loop->run_once();
    std::this_thread::sleep_for(1100ms);
    open->close();
    while (ending.empty()) loop->run_once();
    EXPECT_EQ(ending, "1000 ");
}
TEST(ws_dialer, ends_what_it_owns) {
    served s(ws_echo());
    auto loop = *event_loop::create();
    std::vector<std::string> ends;
    {
        dialer d(*loop);
        bool opened_one = false;
        d.dial(ws_url(s), {}, [&](result<session*> opened) {
            opened_one = true;
            (*opened)->on_close([&](session&, std::uint16_t code, std::string_view) {
                ends.push_back(std::to_string(code));
            });
        });
        while (!opened_one) loop->run_once();
        const auto note = [&](result<session*> opened) {
            ends.emplace_back(to_string(opened.code()));
        };
        d.dial(ws_url(s), {}, note);
        d.dial("ws://localhost:1/", {}, note);
    }
    std::sort(ends.begin(), ends.end());
    EXPECT_EQ(ends, (std::vector<std::string>{"1006", "stopping", "stopping"}));
    loop->run_once(0ms);
}
TEST(ws_dialer, ends_though_all_that_it_ends_dial_again) {
    served s(ws_echo());
    auto loop = *event_loop::create();
    auto owner = std::make_unique<dialer>(*loop);
    dialer& d = *owner;
    std::vector<std::string> ends;
    std::function<void()> dial_again;
    bool gone = false;
    const auto ended = [&](std::string how) {
        ends.push_back(std::move(how));
        if (!gone && ends.size() < 100) dial_again();
    };
    bool is_open = false;
    dial_again = [&] {
        d.dial(ws_url(s), {}, [&](result<session*> opened) {
            if (!opened) return ended(std::string(to_string(opened.code())));
            is_open = true;
            (*opened)->on_close([&](session&, std::uint16_t code, std::string_view) {
                ended(std::to_string(code));
            });
        });
    };
    dial_again();
    while (!is_open) loop->run_once();
    dial_again();
    owner.reset();
    gone = true;
    std::sort(ends.begin(), ends.end());
    EXPECT_EQ(ends, (std::vector<std::string>{"1006", "stopping"}));
    loop->run_once(0ms);
    EXPECT_EQ(ends.size(), 4U);
}

}  // namespace wire::ws::websocket_test
