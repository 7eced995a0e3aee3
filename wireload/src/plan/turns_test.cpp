#include "plan/turns.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace wireload::turns_test {

constexpr nanos ms = 1'000'000;

TEST(Turns, EachOfACycleHasAPlaceOfItsOwn) {
    for (std::uint32_t of = 1; of <= most_turns; ++of) {
        for (std::uint64_t cycle = 0; cycle < 50; ++cycle) {
            std::set<std::uint32_t> places;
            for (std::uint32_t number = 1; number <= of; ++number)
                places.insert(place_in_cycle(cycle, number, of));
            ASSERT_EQ(places.size(), of);
            ASSERT_EQ(*places.rbegin(), of - 1);
        }
    }
}

TEST(Turns, EveryOrderComesAboutEquallyOften) {
    std::map<std::array<std::uint32_t, 3>, int> orders;
    constexpr int cycles = 60'000;
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle)
        ++orders[{place_in_cycle(cycle, 1, 3), place_in_cycle(cycle, 2, 3),
                  place_in_cycle(cycle, 3, 3)}];
    ASSERT_EQ(orders.size(), 6U);
    for (const auto& [order, count] : orders) EXPECT_NEAR(count, cycles / 6, cycles / 60);
}

TEST(Turns, TheNextOneIsNeverInThePastNorASecondTurnOfTheCycle) {
    const turn_options mine{.number = 2, .of = 3, .length = std::chrono::milliseconds(10)};
    nanos now = 123'456 * ms + 17;
    for (int i = 0; i < 1000; ++i) {
        const nanos start = next_turn(mine, now);
        ASSERT_GE(start, now);
        ASSERT_LE(start - now, 50 * ms);  // last of this cycle, or of the next
        ASSERT_EQ(start % (10 * ms), 0);
        ASSERT_EQ(next_turn(mine, start), start);
        now = start + 1;
    }
}

TEST(Turns, NoTwoAreAtATime) {
    turn_options one{.number = 1, .of = 2, .length = std::chrono::milliseconds(25)};
    turn_options two = one;
    two.number = 2;
    nanos first = next_turn(one, 0);
    nanos second = next_turn(two, 0);
    for (int i = 0; i < 1000; ++i) {
        ASSERT_NE(first, second);
        nanos& earlier = first < second ? first : second;
        const turn_options& whose = first < second ? one : two;
        earlier = next_turn(whose, earlier + 1);
    }
}

TEST(Turns, PartsOfATurn) {
    const turn_options turns{.number = 1, .of = 2, .length = std::chrono::milliseconds(50)};
    EXPECT_EQ(turns.warm(), 5 * ms);
    EXPECT_EQ(turns.sending(), 40 * ms);
    EXPECT_EQ(turns.measured(), 35 * ms);
}

}  // namespace wireload::turns_test
