#include "wire/loop/task.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace wire::task_test {

using namespace std::chrono_literals;

std::unique_ptr<event_loop> make_loop() { return *event_loop::create(); }

task<int> number(int n) { co_return n; }
task<int> parity(int n) {
    int total = 0;
    for (int i = 1; i <= n; ++i) total ^= co_await number(i);
    co_return total;
}
task<std::unique_ptr<int>> owned() { co_return std::make_unique<int>(7); }
task<std::string> slowly(event_loop& loop, std::string text) {
    co_await sleep_for(loop, 1ms);
    co_return text + "!";
}
task<> note(event_loop& loop, std::vector<int>& order, int n, clock::duration after) {
    co_await sleep_for(loop, after);
    order.push_back(n);
}
task<int> thrower(bool throws) {
    if (throws) throw std::runtime_error("thrown");
    co_return 1;
}
task<std::string> catcher() {
    try {
        co_await thrower(true);
    } catch (const std::runtime_error& e) {
        co_return e.what();
    }
    co_return "nothing";
}

TEST(task, gives_its_value_to_who_awaits_it) {
    const auto loop = make_loop();
    EXPECT_EQ(block_on(*loop, number(5)), 5);
    EXPECT_EQ(block_on(*loop, parity(100)), 100);
    EXPECT_EQ(*block_on(*loop, owned()), 7);
    EXPECT_EQ(block_on(*loop, slowly(*loop, "text")), "text!");
    EXPECT_EQ(block_on(*loop, catcher()), "thrown");
}
TEST(task, does_nothing_until_awaited_and_goes_when_dropped) {
    bool begun = false;
    const auto held = std::make_shared<int>(1);
    const auto lazy = [](bool& b, std::shared_ptr<int>) -> task<> {
        b = true;
        co_return;
    };
    {
        task<> t = lazy(begun, held);
        task<> moved = std::move(t);
        t = lazy(begun, held);
        EXPECT_EQ(held.use_count(), 3);
    }
    EXPECT_FALSE(begun);
    EXPECT_EQ(held.use_count(), 1);
}
TEST(task, goes_on_without_growing_the_stack) {
    const auto loop = make_loop();
    EXPECT_EQ(block_on(*loop, parity(1'000'000)), 1'000'000);
}
TEST(task_group, runs_tasks_beside_each_other) {
    const auto loop = make_loop();
    std::vector<int> order;
    task_group group;
    group.spawn(note(*loop, order, 3, 3ms));
    group.spawn(note(*loop, order, 1, 1ms));
    group.spawn(note(*loop, order, 2, 2ms));
    EXPECT_TRUE(order.empty());
    EXPECT_FALSE(group.empty());
    while (!group.empty()) loop->run_once();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}
TEST(task_group, can_be_waited_for) {
    const auto loop = make_loop();
    std::vector<int> order;
    const auto all = [](event_loop& l, std::vector<int>& out) -> task<> {
        for (int round = 0; round < 2; ++round) {
            task_group group;
            co_await group.join();  // of none
            for (int i = 1; i <= 3; ++i) group.spawn(note(l, out, i, i * 1ms));
            co_await group.join();
            out.push_back(0);
        }
    };
    block_on(*loop, all(*loop, order));
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 0, 1, 2, 3, 0}));
    task_group waiting;  // one that waits for others may be ended as well
    waiting.spawn([](event_loop& l) -> task<> {
        task_group inner;
        inner.spawn([](event_loop& il) -> task<> { co_await sleep_for(il, 1h); }(l));
        co_await inner.join();
    }(*loop));
}
TEST(task_group, ends_what_has_not_ended) {
    const auto loop = make_loop();
    const auto held = std::make_shared<int>(1);
    const auto inner = [](event_loop& l, std::shared_ptr<int>) -> task<> {
        co_await sleep_for(l, 1h);
    };
    const auto outer = [&inner](event_loop& l, std::shared_ptr<int> h) -> task<> {
        co_await inner(l, h);
        ADD_FAILURE() << "resumed";
    };
    {
        task_group group;
        for (int i = 0; i < 3; ++i) group.spawn(outer(*loop, held));
        loop->run_once(0ms);
        EXPECT_GT(held.use_count(), 3);
    }
    EXPECT_EQ(held.use_count(), 1);
    loop->run_once(0ms);
}
TEST(task_group, may_outlive_the_loop_of_a_sleeper) {
    task_group group;
    const auto held = std::make_shared<int>(1);
    {
        const auto loop = make_loop();
        const auto sleeper = [](event_loop& l, std::shared_ptr<int>) -> task<> {
            co_await sleep_for(l, 1h);
        };
        group.spawn(sleeper(*loop, held));
    }
    EXPECT_EQ(held.use_count(), 2);
}
TEST(block_on, lets_the_loop_serve_all_else) {
    const auto loop = make_loop();
    int posted = 0;
    loop->post([&] { ++posted; });
    block_on(*loop, [](event_loop& l) -> task<> { co_await sleep_for(l, 2ms); }(*loop));
    EXPECT_EQ(posted, 1);
}

}  // namespace wire::task_test
