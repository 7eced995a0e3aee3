#include "measure/tree_times.hpp"

#include <gtest/gtest.h>

namespace wireload::tree_times_test {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t tick = 10 * ms;

// 1 is the first process, 2 its child.
process_reading reading(pid_t pid, std::uint64_t own_ms, std::uint64_t children_ms = 0,
                        pid_t parent = 1, std::uint64_t start = 0) {
    return {.pid = pid,
            .parent = pid == 1 ? 0 : parent,
            .start = start == 0 ? static_cast<std::uint64_t>(pid) : start,
            .own = {own_ms * ms, 0},
            .children = {children_ms * ms, 0}};
}

std::uint64_t used_ms(const tree_times& times) { return times.used().total_ns() / ms; }

TEST(TreeTimes, TheTimeOfAChildThatEndedIsItsParents) {
    tree_times times(tick);
    times.begin({reading(1, 100, 7'000), reading(2, 5'000)});
    times.read({reading(1, 110, 7'000), reading(2, 5'050)});
    EXPECT_EQ(used_ms(times), 60U);
    times.read({reading(1, 120, 7'000 + 5'080)});
    EXPECT_EQ(used_ms(times), 20U + 80U);
}

TEST(TreeTimes, ChildrenThatBeganAndEndedInTheWindowCount) {
    tree_times times(tick);
    times.begin({reading(1, 100, 300)});
    times.read({reading(1, 100, 900)});
    EXPECT_EQ(used_ms(times), 600U);
    times.add({reading(3, 40)});
    EXPECT_EQ(used_ms(times), 640U);
}

TEST(TreeTimes, WhatNobodyWaitedForCountsAsItWasLastRead) {
    tree_times times(tick);
    times.begin({reading(1, 0), reading(2, 1'000)});
    times.read({reading(1, 0), reading(2, 1'070)});
    times.read({reading(1, 5)});
    EXPECT_EQ(used_ms(times), 75U);
    // The first process itself.
    times.read({});
    EXPECT_EQ(used_ms(times), 75U);
}

// Whole ticks, of user and of system time, may hide nearly two of them.
TEST(TreeTimes, CutOffTicksAreNotTakenForAProcessThatNobodyWaitedFor) {
    tree_times times(tick);
    times.begin({reading(1, 0), reading(2, 0)});
    times.read({reading(1, 0), reading(2, 49)});
    times.read({reading(1, 0, 30)});
    EXPECT_EQ(used_ms(times), 30U);
}

TEST(TreeTimes, AProcessWhoseParentEndedWithItIsInheritedFromFurtherAbove) {
    tree_times times(tick);
    times.begin({reading(1, 0), reading(2, 100), reading(3, 200, 0, 2)});
    times.read({reading(1, 0), reading(2, 150), reading(3, 260, 0, 2)});
    times.read({reading(1, 0, 410)});
    EXPECT_EQ(used_ms(times), 110U);
    times.begin({reading(1, 0), reading(2, 100), reading(3, 200, 0, 2)});
    times.read({reading(1, 0), reading(2, 150), reading(3, 260, 0, 2)});
    times.read({reading(1, 0, 150)});  // 3 was left to another
    EXPECT_EQ(used_ms(times), 110U);
}

TEST(TreeTimes, AnotherProcessWithTheSameIdIsNotTakenForIt) {
    tree_times times(tick);
    times.begin({reading(1, 0), reading(2, 100)});
    times.read({reading(1, 0, 130), reading(2, 90'000, 0, 1, 77)});
    EXPECT_EQ(used_ms(times), 30U);
    EXPECT_FALSE(times.knows(2));
}

TEST(TreeTimes, GrowthIsOfTheSum) {
    const cpu_time used = growth({90, 30}, {100, 10});
    EXPECT_EQ(used.user_ns, 0U);
    EXPECT_EQ(used.system_ns, 10U);
    EXPECT_EQ(growth({1, 1}, {5, 5}).total_ns(), 0U);
}

}  // namespace wireload::tree_times_test
