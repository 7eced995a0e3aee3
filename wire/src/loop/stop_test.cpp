// Coroutines that wait for a stop, on a loop alone.
#include "wire/loop/stop.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace wire::stop_test {

using namespace std::chrono_literals;

struct stop_tokens : ::testing::Test {
    std::unique_ptr<event_loop> loop = *event_loop::create();
    std::stop_source source;

    task<bool> sleep(clock::duration delay) {
        co_return co_await sleep_for(*loop, delay, source.get_token());
    }
};

TEST_F(stop_tokens, a_sleep_ends_by_time_or_by_the_stop) {
    EXPECT_TRUE(block_on(*loop, sleep(1ms)));
    loop->post([&] { source.request_stop(); });
    EXPECT_FALSE(block_on(*loop, sleep(1h)));
    EXPECT_FALSE(block_on(*loop, sleep(1h)));  // at once
}
TEST_F(stop_tokens, a_sleep_counts_from_the_call) {
    loop->run_once(0ms);
    std::this_thread::sleep_for(50ms);
    const auto began = clock::now();
    EXPECT_TRUE(block_on(*loop, sleep(40ms)));
    EXPECT_GE(clock::now() - began, 40ms);
}
TEST_F(stop_tokens, a_sleep_for_ever_ends_by_the_stop) {
    loop->post([&] { source.request_stop(); });
    EXPECT_FALSE(block_on(*loop, sleep(event_loop::forever)));
}
TEST_F(stop_tokens, may_be_requested_on_another_thread) {
    std::thread other([&] {
        std::this_thread::sleep_for(10ms);
        source.request_stop();
    });
    const auto wait = [&]() -> task<bool> {
        co_return co_await stop_requested(*loop, source.get_token());
    };
    EXPECT_FALSE(block_on(*loop, wait()));
    other.join();
}
TEST_F(stop_tokens, many_hear_of_one) {
    task_group group;
    int heard = 0;
    const auto wait = [&]() -> task<> {
        co_await stop_requested(*loop, source.get_token());
        ++heard;
    };
    for (int i = 0; i < 3; ++i) group.spawn(wait());
    loop->run_once(0ms);
    EXPECT_EQ(heard, 0);
    source.request_stop();
    while (!group.empty()) loop->run_once();
    EXPECT_EQ(heard, 3);
}
TEST_F(stop_tokens, a_coroutine_may_be_destroyed_while_it_waits_or_is_about_to_hear) {
    for (const bool stopped : {false, true}) {
        bool went_on = false;
        const auto wait = [&]() -> task<> {
            co_await sleep_for(*loop, 1h, source.get_token());
            went_on = true;
        };
        task_group group;
        group.spawn(wait());
        if (stopped) source.request_stop();  // posted, not yet run
        group.clear();
        loop->run_once(0ms);
        loop->run_once(0ms);
        EXPECT_FALSE(went_on);
    }
}
TEST_F(stop_tokens, a_token_without_a_source_never_stops) {
    const auto wait = [&]() -> task<bool> {
        co_return co_await sleep_for(*loop, 1ms, std::stop_token());
    };
    EXPECT_TRUE(block_on(*loop, wait()));
}

}  // namespace wire::stop_test
