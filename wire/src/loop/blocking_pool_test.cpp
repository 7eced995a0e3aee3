#include "wire/loop/blocking_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <latch>
#include <memory>
#include <system_error>

#include "no_threads.hpp"

namespace wire::blocking_pool_test {

TEST(blocking_pool, runs_as_many_at_once_as_it_has_threads) {
    std::latch all(4);
    std::latch done(4);
    blocking_pool pool(4);
    for (int i = 0; i < 4; ++i) {
        pool.run([&] {
            all.arrive_and_wait();  // would never pass with fewer
            done.count_down();
        });
    }
    done.wait();
}
TEST(blocking_pool, keeps_the_order_of_submission) {
    std::vector<int> order;
    std::promise<void> done;
    blocking_pool pool(1);
    for (int i = 0; i < 100; ++i) pool.run([&order, i] { order.push_back(i); });
    pool.run([&] { done.set_value(); });
    done.get_future().wait();
    ASSERT_EQ(order.size(), 100U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}
TEST(blocking_pool, waits_for_the_threads_that_there_are) {
    std::promise<void> begun;
    std::promise<void> go_on;
    std::promise<void> second;
    blocking_pool pool(2);
    pool.run([&] {
        begun.set_value();
        go_on.get_future().wait();
    });
    begun.get_future().wait();
    {
        const testing::no_threads none;
        pool.run([&] { second.set_value(); });
    }
    go_on.set_value();
    second.get_future().wait();
}
TEST(blocking_pool, keeps_no_work_that_no_thread_can_do) {
    const auto alive = std::make_shared<int>();
    std::promise<void> done;
    blocking_pool pool(1);
    {
        const testing::no_threads none;
        EXPECT_THROW(pool.run([alive] { FAIL() << "ran"; }), std::system_error);
    }
    EXPECT_EQ(alive.use_count(), 1);
    pool.run([&] { done.set_value(); });
    done.get_future().wait();
}
TEST(blocking_pool, leaves_nothing_behind) {
    const auto alive = std::make_shared<int>();
    {
        blocking_pool pool(1);
        for (int i = 0; i < 1000; ++i) pool.run([alive] {});
    }
    EXPECT_EQ(alive.use_count(), 1);
}
TEST(blocking_pool, goes_on_with_the_threads_that_it_has) {
    blocking_pool pool(4);
    std::promise<void> begun;
    std::promise<void> go_on;
    pool.run([&] {
        begun.set_value();
        go_on.get_future().wait();
    });
    begun.get_future().wait();
    std::promise<void> done;
    {
        const testing::no_threads none;
        EXPECT_NO_THROW(pool.run([&] { done.set_value(); }));
    }
    go_on.set_value();
    done.get_future().wait();
}
TEST(blocking_pool, drops_work_that_no_thread_can_be_had_for) {
    const auto alive = std::make_shared<int>();
    blocking_pool pool(4);
    {
        const testing::no_threads none;
        EXPECT_THROW(pool.run([alive] {}), std::system_error);
    }
    EXPECT_EQ(alive.use_count(), 1);
    std::promise<void> done;
    pool.run([&] { done.set_value(); });
    done.get_future().wait();
}

}  // namespace wire::blocking_pool_test
