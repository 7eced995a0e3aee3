// Look-ups that somebody waits for, and those that nobody does. name_cache_test.cpp has them in
// clients.
#include "resolver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "no_threads.hpp"

namespace wire::resolver_test {

using namespace std::chrono_literals;
using answer = detail::resolver::answer;

bool always() { return true; }

// Looks up until it is let go, and outlives those who ask.
struct slow_system {
    std::atomic<bool> held{true};
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
};
auto by(const std::shared_ptr<slow_system>& system) {
    return [system](const std::string&, std::uint16_t) -> answer {
        ++system->begun;
        while (system->held) std::this_thread::sleep_for(1ms);
        ++system->ended;
        return errc::not_resolved;
    };
}
void wait_for(const std::atomic<int>& count, int n) {
    while (count < n) std::this_thread::sleep_for(1ms);
}

TEST(resolver, does_not_wait_for_the_systems_look_ups_when_it_goes) {
    const auto system = std::make_shared<slow_system>();
    int told = 0;
    {
        const auto loop = *event_loop::create();
        std::optional<detail::resolver> names(std::in_place, *loop, by(system));
        for (std::size_t i = 0; i < detail::resolver::most_at_once + 3; ++i)
            names->resolve("some.example", 80, {}, always, [&told](const answer&) { ++told; });
        wait_for(system->begun, static_cast<int>(detail::resolver::most_at_once));
        names.reset();
        EXPECT_EQ(system->ended, 0);
        loop->run_once(0ms);
    }
    system->held = false;  // the loop has gone, too
    wait_for(system->ended, static_cast<int>(detail::resolver::most_at_once));
    EXPECT_EQ(told, 0);
}
TEST(resolver, waits_for_its_users_function_when_it_goes) {
    std::atomic<bool> over{false};
    std::atomic<int> begun{0};
    const auto loop = *event_loop::create();
    {
        detail::resolver names(*loop);
        const auto slow = [&](const std::string&, std::uint16_t) -> answer {
            ++begun;
            std::this_thread::sleep_for(20ms);
            over = true;
            return errc::not_resolved;
        };
        names.resolve("some.example", 80, slow, always, [](const answer&) { FAIL(); });
        wait_for(begun, 1);
    }
    EXPECT_TRUE(over);
    loop->run_once(0ms);
}
TEST(resolver, tells_that_it_can_start_no_thread) {
    const auto loop = *event_loop::create();
    detail::resolver names(*loop);
    std::string told;
    const auto note = [&told](const answer& found) {
        told += found ? found->front().to_string() + " " : std::string(to_string(found.code()));
    };
    {
        const testing::no_threads none;
        names.resolve("127.0.0.1", 80, {}, always, note);
        EXPECT_EQ(told, "");
        while (told.empty()) loop->run_once();
        EXPECT_EQ(told, to_string(errc::system_error));
    }
    // With a look-up under way, others wait for its thread to end.
    std::atomic<bool> held{true};
    const auto slow = [&held](const std::string&, std::uint16_t port) -> answer {
        while (held) std::this_thread::sleep_for(1ms);
        return std::vector<address>{address::loopback_v4(port)};
    };
    told.clear();
    names.resolve("some.example", 1, slow, always, note);
    {
        const testing::no_threads none;
        names.resolve("127.0.0.1", 2, {}, always, note);
        names.resolve("127.0.0.1", 3, {}, always, note);
    }
    held = false;
    while (std::count(told.begin(), told.end(), ' ') < 3) loop->run_once();
    EXPECT_EQ(told.find("127.0.0.1:1 "), 0U) << told;
}
TEST(resolver, may_go_before_it_has_told_that_it_can_start_no_thread) {
    const auto loop = *event_loop::create();
    {
        detail::resolver names(*loop);
        const testing::no_threads none;
        names.resolve("127.0.0.1", 80, {}, always, [](const answer&) { FAIL(); });
    }
    loop->run_once(0ms);
}
TEST(resolver, may_be_asked_by_those_whom_it_answers) {
    const auto loop = *event_loop::create();
    detail::resolver names(*loop);
    std::string told;
    names.resolve("127.0.0.1", 80, {}, always, [&](const answer& first) {
        const std::string before = first->front().to_string();
        names.resolve("::1", 81, {}, always, [&told, before](const answer& second) {
            told = before + " " + second->front().to_string();
        });
    });
    while (told.empty()) loop->run_once();
    EXPECT_EQ(told, "127.0.0.1:80 [::1]:81");
}

}  // namespace wire::resolver_test
