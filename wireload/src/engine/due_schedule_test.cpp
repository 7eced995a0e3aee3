#include "engine/due_schedule.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace wireload::due_schedule_test {

// A thousand a second, from 1 ms on: 2 ms of warm-up and 3 ms of window.
struct world {
    open_loop_options asked;
    load_order order;

    world() {
        asked.arrivals.pieces = asked.warm_up.pieces = {{1'000'000, 1'000'000, never}};
        order.schedule_start = 1'000'000;
        order.window_start = 3'000'000;
        order.schedule_end = 6'000'000;
    }
};

TEST(DueSchedule, GoesFromTheWarmUpToTheWindow) {
    const world w;
    due_schedule schedule(w.asked, 0, 1);
    schedule.begin(w.order);
    std::vector<nanos> warm, measured;
    for (; schedule.due() != never; schedule.advance())
        (schedule.warming_up() ? warm : measured).push_back(schedule.due());
    EXPECT_EQ(warm, (std::vector<nanos>{1'000'000, 2'000'000}));
    EXPECT_EQ(measured, (std::vector<nanos>{3'000'000, 4'000'000, 5'000'000}));
}

// The CPU time that spinning is taken from is the window's alone.
TEST(DueSchedule, OnlyTimeInTheWindowIsOfTheWindow) {
    const world w;
    due_schedule schedule(w.asked, 0, 1);
    schedule.begin(w.order);
    EXPECT_EQ(schedule.of_window(1'000'000, 2'000'000), 0);
    EXPECT_EQ(schedule.of_window(2'900'000, 3'100'000), 100'000);
    EXPECT_EQ(schedule.of_window(3'100'000, 3'150'000), 50'000);
    EXPECT_EQ(schedule.of_window(5'990'000, 6'050'000), 10'000);
    EXPECT_EQ(schedule.of_window(6'050'000, 6'060'000), 0);
}

}  // namespace wireload::due_schedule_test
