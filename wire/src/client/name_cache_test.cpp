// What is kept of name look-ups: alone, with a clock of the test's, and in clients.
#include "name_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "raw_server.hpp"
#include "served.hpp"
#include "wire/client/client.hpp"

namespace wire::name_cache_test {

using namespace std::chrono_literals;
using testing::raw_server;
using testing::served;

std::string show(const result<std::vector<address>>& found) {
    if (!found) return std::string(to_string(found.code()));
    if (found->empty()) return "none";
    std::string text;
    for (const address& a : *found) text += (text.empty() ? "" : " ") + a.to_string();
    return text;
}

// A cache on a loop, with a book of names and a clock that stands still.
class a_name_cache : public ::testing::Test {
protected:
    void begin(const name_cache_options& options) {
        cache.emplace(*loop, names, options, [this] { return now; });
    }
    // What becomes of asking for `host`; "kept: " in front when it came at once.
    std::string ask(const std::string& host, std::uint16_t port = 80) {
        std::string told;
        const auto* const kept =
            cache->resolve(host, port, how(), always,
                           [&](const result<std::vector<address>>& r) { told = show(r); });
        if (kept != nullptr) return "kept: " + show(*kept);
        while (told.empty()) loop->run_once();
        return told;
    }
    static bool always() { return true; }
    detail::resolver::look_up how() {
        return [this](const std::string& host, std::uint16_t port) { return look_up(host, port); };
    }
    result<std::vector<address>> look_up(const std::string& host, std::uint16_t port) {
        ++look_ups;
        while (held) std::this_thread::yield();
        if (host == "none") return errc::not_resolved;
        if (host == "broken") return errc::system_error;
        if (host == "empty") return std::vector<address>{};
        return std::vector<address>{*address::parse("2001:db8::2", port),
                                    *address::parse("192.0.2.1", port),
                                    *address::parse("2001:db8::1", port)};
    }

    std::unique_ptr<event_loop> loop = *event_loop::create();
    std::atomic<int> look_ups{0};
    std::atomic<bool> held{false};
    time_point now{1h};
    detail::resolver names{*loop};
    std::optional<detail::name_cache> cache;
};

TEST_F(a_name_cache, keeps_nothing_unless_told_to) {
    begin({});
    const std::string all = "[2001:db8::2]:80 192.0.2.1:80 [2001:db8::1]:80";
    EXPECT_EQ(ask("a"), all);
    EXPECT_EQ(ask("a"), all);
    EXPECT_EQ(ask("none"), "the name has no address");
    EXPECT_EQ(ask("none"), "the name has no address");
    EXPECT_EQ(look_ups, 4);
}
TEST_F(a_name_cache, keeps_addresses_in_their_order_for_their_time) {
    begin({.lifetime = 30s});
    const std::string all = "[2001:db8::2]:80 192.0.2.1:80 [2001:db8::1]:80";
    EXPECT_EQ(ask("a"), all);
    now += 30s - 1ns;
    EXPECT_EQ(ask("a"), "kept: " + all);
    now += 1ns;
    EXPECT_EQ(ask("a"), all);
    now += 29s;
    EXPECT_EQ(ask("a"), "kept: " + all);
    EXPECT_EQ(ask("a", 81), "[2001:db8::2]:81 192.0.2.1:81 [2001:db8::1]:81");
    EXPECT_EQ(look_ups, 3);
}
TEST_F(a_name_cache, keeps_names_without_addresses_for_a_short_time) {
    begin({.lifetime = 30s, .failure_lifetime = 2s});
    for (const char* const host : {"none", "empty"}) {
        look_ups = 0;
        ask(host);
        now += 2s - 1ns;
        EXPECT_EQ(ask(host), "the name has no address");
        EXPECT_EQ(look_ups, 1) << host;
        now += 1ns;
        ask(host);
        EXPECT_EQ(look_ups, 2) << host;
    }
}
TEST_F(a_name_cache, keeps_no_errors_of_its_own_host) {
    begin({.lifetime = 30s});
    ask("broken");
    ask("broken");
    EXPECT_EQ(look_ups, 2);
}
TEST_F(a_name_cache, may_keep_addresses_only) {
    begin({.lifetime = 30s, .failure_lifetime = 0s});
    ask("none");
    ask("none");
    ask("a");
    ask("a");
    EXPECT_EQ(look_ups, 3);
}
TEST_F(a_name_cache, is_bounded_in_time_whatever_it_is_told) {
    begin({.lifetime = std::chrono::milliseconds::max()});
    ask("a");
    now += 24h;
    ask("a");
    EXPECT_EQ(look_ups, 2);
}
TEST_F(a_name_cache, replaces_what_ends_first) {
    begin({.lifetime = 30s, .max_names = 2});
    ask("a");
    now += 1s;
    ask("b");
    now += 1s;
    ask("c");
    EXPECT_EQ(ask("b").substr(0, 4), "kept");
    EXPECT_EQ(ask("c").substr(0, 4), "kept");
    EXPECT_NE(ask("a").substr(0, 4), "kept");
    begin({.lifetime = 30s, .max_names = 0});
    ask("a");
    EXPECT_NE(ask("a").substr(0, 4), "kept");
}
TEST_F(a_name_cache, drops_what_proved_useless) {
    begin({.lifetime = 30s});
    ask("a");
    ask("a", 81);
    cache->drop("a", 80);
    cache->drop("other", 80);
    EXPECT_NE(ask("a").substr(0, 4), "kept");
    EXPECT_EQ(ask("a", 81).substr(0, 4), "kept");
}
TEST_F(a_name_cache, those_who_ask_at_once_share_a_look_up) {
    begin({});
    held = true;
    std::vector<std::string> told;
    const auto note = [&](const result<std::vector<address>>& r) { told.push_back(show(r)); };
    for (const char* const host : {"a", "a", "none", "a", "none"})
        EXPECT_EQ(cache->resolve(host, 80, how(), always, note), nullptr);
    held = false;
    while (told.size() < 5) loop->run_once();
    EXPECT_EQ(look_ups, 2);
    EXPECT_EQ(std::multiset<std::string>(told.begin(), told.end()).count("the name has no address"),
              2U);
}
TEST_F(a_name_cache, who_is_told_may_ask_again) {
    begin({});
    std::string told;
    cache->resolve("none", 80, how(), always, [&](const result<std::vector<address>>&) {
        cache->resolve("none", 80, how(), always,
                       [&](const result<std::vector<address>>& r) { told = show(r); });
    });
    while (told.empty()) loop->run_once();
    EXPECT_EQ(told, "the name has no address");
    EXPECT_EQ(look_ups, 2);
}

TEST_F(a_name_cache, asks_for_no_name_that_nobody_waits_for_any_more) {
    begin({});
    held = true;
    std::vector<std::string> told;
    const auto note = [&](const result<std::vector<address>>& r) { told.push_back(show(r)); };
    const std::size_t busy = detail::resolver::most_at_once;
    for (std::size_t i = 0; i < busy; ++i)
        cache->resolve("busy" + std::to_string(i), 80, how(), always, note);
    bool given_up = false;
    for (int i = 0; i < 10; ++i)
        cache->resolve("late", 80, how(), [&given_up] { return !given_up; }, note);
    cache->resolve("wanted", 80, how(), [&given_up] { return !given_up; }, note);
    cache->resolve("wanted", 80, how(), always, note);
    given_up = true;
    held = false;
    while (told.size() < busy + 12) loop->run_once();
    EXPECT_EQ(look_ups, static_cast<int>(busy) + 1);
    EXPECT_EQ(std::count(told.begin(), told.end(), "cancelled"), 10);
    EXPECT_EQ(ask("late"), "[2001:db8::2]:80 192.0.2.1:80 [2001:db8::1]:80");
}

// ---- in clients ----

// Looks up what is in it; may be changed between two requests.
struct book {
    std::vector<std::string> addresses{"127.0.0.1"};
    int look_ups = 0;
    std::mutex mutex;

    auto reader() {
        return [this](const std::string&, std::uint16_t port) -> result<std::vector<address>> {
            const std::lock_guard lock(mutex);
            ++look_ups;
            std::vector<address> out;
            for (const auto& a : addresses) out.push_back(*address::parse(a, port));
            return out;
        };
    }
    void set(std::vector<std::string> now) {
        const std::lock_guard lock(mutex);
        addresses = std::move(now);
    }
    int count() {
        const std::lock_guard lock(mutex);
        return look_ups;
    }
};
http::client_options with(book& b, std::chrono::milliseconds lifetime) {
    http::client_options options;
    options.resolve = b.reader();
    options.name_cache.lifetime = lifetime;
    options.max_idle_per_host = 0;  // a connection for each request
    return options;
}
std::string name_url(std::uint16_t port) {
    return "http://some.example:" + std::to_string(port) + "/";
}
void ok(http::response res) { res.send("ok"); }

TEST(names_of_clients, are_looked_up_for_each_connection_by_default) {
    served s(ok);
    book names;
    auto c = *http::client::create(with(names, 0ms));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(c.get(name_url(s.port())));
    EXPECT_EQ(c.connections_opened(), 3U);
    EXPECT_EQ(names.count(), 3);
}
TEST(names_of_clients, are_kept_when_told_to) {
    served s(ok);
    book names;
    auto c = *http::client::create(with(names, 1h));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(c.get(name_url(s.port())));
    EXPECT_EQ(c.connections_opened(), 3U);
    EXPECT_EQ(names.count(), 1);
}
TEST(names_of_clients, that_moved_are_looked_up_anew_for_the_same_request) {
    served s(ok);
    book names;
    auto c = *http::client::create(with(names, 1h));
    EXPECT_TRUE(c.get(name_url(s.port())));
    s.stop();
    http::server_options elsewhere;
    elsewhere.host = "127.0.0.2";
    auto moved = *http::server::listen(0, ok, elsewhere);
    std::thread serving([&] { moved.run(); });
    names.set({"127.0.0.3"});
    const std::string url = name_url(moved.port());
    EXPECT_EQ(c.get(url).code(), errc::refused);
    EXPECT_EQ(names.count(), 2);
    names.set({"127.0.0.2"});  // what was useless was not kept
    EXPECT_TRUE(c.get(url));
    EXPECT_EQ(names.count(), 3);
    EXPECT_TRUE(c.get(url));
    EXPECT_EQ(names.count(), 3);
    moved.stop();
    serving.join();
    names.set({"127.0.0.1"});
    EXPECT_EQ(c.get(url).code(), errc::refused);  // kept, dropped, looked up, dropped
    EXPECT_EQ(names.count(), 4);
    EXPECT_EQ(c.get(url).code(), errc::refused);
    EXPECT_EQ(names.count(), 5);
}
TEST(names_of_clients, that_were_kept_follow_a_server_that_moved) {
    book names;
    http::server_options there;
    there.host = "127.0.0.2";
    auto moved = *http::server::listen(0, ok, there);
    std::thread serving([&] { moved.run(); });
    auto c = *http::client::create(with(names, 1h));
    {  // the same port, another address
        auto before = listen_tcp(address::loopback_v4(moved.port()));
        if (!before) {
            moved.stop();
            serving.join();
            GTEST_SKIP() << before.error().message;
        }
        http::client_request r = http::make_request(http::method::get, name_url(moved.port()));
        r.timeouts.emplace().total_timeout = 20ms;
        EXPECT_EQ(c.send(r).code(), errc::timed_out);  // connected, and its address is kept
    }
    names.set({"127.0.0.2"});
    EXPECT_TRUE(c.get(name_url(moved.port())));
    EXPECT_EQ(names.count(), 2);
    moved.stop();
    serving.join();
}
TEST(names_of_clients, are_kept_in_the_order_of_happy_eyeballs) {
    served s(ok);
    book names;
    names.set({"127.0.0.9", "127.0.0.1"});  // the first one refuses
    auto c = *http::client::create(with(names, 1h));
    EXPECT_TRUE(c.get(name_url(s.port())));
    EXPECT_TRUE(c.get(name_url(s.port())));
    EXPECT_EQ(names.count(), 1);
}
TEST(names_of_clients, share_a_look_up_that_is_under_way) {
    served s(ok);
    std::atomic<int> look_ups{0};
    std::atomic<bool> held{true};
    http::client_options options;
    options.resolve = [&](const std::string&, std::uint16_t port) -> result<std::vector<address>> {
        ++look_ups;
        while (held) std::this_thread::yield();
        return std::vector<address>{address::loopback_v4(port)};
    };
    const auto loop = *event_loop::create();
    http::async_client c(*loop, options);
    int answered = 0;
    std::string cancelled;
    for (int i = 0; i < 5; ++i)
        c.get(name_url(s.port()), [&](const result<http::reply>& r) { answered += r ? 1 : 0; });
    const auto id = c.send(http::make_request(http::method::get, name_url(s.port())),
                           [&](const result<http::reply>& r) { cancelled = to_string(r.code()); });
    loop->run_once(0ms);
    c.cancel(id);
    while (cancelled.empty()) loop->run_once();
    held = false;
    while (answered < 5) loop->run_once();
    EXPECT_EQ(look_ups, 1);
    EXPECT_EQ(c.connections_opened(), 5U);
    EXPECT_EQ(cancelled, "cancelled");
}
// Names whose servers do not answer take look-up threads until they are given up, and longer.
TEST(names_of_clients, that_are_not_answered_do_not_hold_up_others) {
    served s(ok);
    std::atomic<bool> held{true};
    std::atomic<int> slow{0};
    http::client_options options;
    options.resolve = [&](const std::string& host,
                          std::uint16_t port) -> result<std::vector<address>> {
        if (host != "some.example") {
            ++slow;
            while (held) std::this_thread::sleep_for(1ms);
            return errc::not_resolved;
        }
        return std::vector<address>{address::loopback_v4(port)};
    };
    options.resolve_timeout = 20ms;
    const auto loop = *event_loop::create();
    http::async_client c(*loop, options);
    std::size_t timed_out = 0;
    for (int i = 0; i < 8; ++i) {
        c.get("http://slow" + std::to_string(i) + ".example/",
              [&](const result<http::reply>& r) { timed_out += r.code() == errc::timed_out; });
    }
    std::string got;
    const auto note = [&](const result<http::reply>& r) {
        got = r ? r->body() : r.error().message;
    };
    c.get(name_url(s.port()), note);
    while (got.empty() || timed_out < 8) loop->run_once();
    EXPECT_EQ(got, "ok");
    // With more of them than look-ups are made at once: those that had to wait are not made later.
    const int more = static_cast<int>(detail::resolver::most_at_once) * 2;
    timed_out = 0;
    for (int i = 8; i < more; ++i) {
        c.get("http://slow" + std::to_string(i) + ".example/",
              [&](const result<http::reply>& r) { timed_out += r.code() == errc::timed_out; });
    }
    while (timed_out < static_cast<std::size_t>(more) - 8) loop->run_once();
    http::client_request patient = http::make_request(http::method::get, name_url(s.port()));
    patient.timeouts.emplace();
    got.clear();
    c.send(std::move(patient), note);
    held = false;
    while (got.empty()) loop->run_once();
    EXPECT_EQ(got, "ok");
    EXPECT_EQ(slow, static_cast<int>(detail::resolver::most_at_once));
}
TEST(names_of_clients, are_looked_up_by_a_function_that_may_throw) {
    http::client_options options;
    options.resolve = [](const std::string&, std::uint16_t) -> result<std::vector<address>> {
        throw std::runtime_error("no book");
    };
    auto c = *http::client::create(options);
    EXPECT_EQ(c.get("http://some.example/").code(), errc::system_error);
}
TEST(names_of_clients, failures_that_are_kept_are_told_from_the_loop) {
    std::atomic<int> look_ups{0};
    http::client_options options;
    options.name_cache = {.lifetime = 1h, .failure_lifetime = 1h};
    options.resolve = [&](const std::string& host, std::uint16_t) -> result<std::vector<address>> {
        ++look_ups;
        return error(errc::not_resolved, host + " is not in my book");
    };
    auto c = *http::client::create(options);
    const auto first = c.get("http://some.example/");
    const auto second = c.get("http://some.example/");
    EXPECT_EQ(first.error().message,
              "GET http://some.example/: name look-up: some.example is not in my book");
    EXPECT_EQ(second.error().message, first.error().message);
    EXPECT_EQ(look_ups, 1);
}

}  // namespace wire::name_cache_test
