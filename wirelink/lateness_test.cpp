#include "lateness.hpp"

#include <gtest/gtest.h>

namespace wirelink::lateness_test {

using namespace std::chrono_literals;

TEST(lateness, has_no_quantile_without_packets) { EXPECT_FALSE(lateness().quantile(0.5)); }

TEST(lateness, counts_by_microsecond) {
    lateness found;
    for (int number = 0; number < 99; ++number) found.note(20'500ns);
    found.note(3ms);
    EXPECT_EQ(found.quantile(0.5), 20us);
    EXPECT_EQ(found.quantile(0.99), 20us);
    EXPECT_EQ(found.quantile(1), 3ms);
}

TEST(lateness, keeps_what_is_out_of_range_at_its_ends) {
    lateness found;
    found.note(-1ms);
    found.note(1s);
    EXPECT_EQ(found.quantile(0.5), 0us);
    EXPECT_EQ(found.quantile(1), 100ms);
}

}  // namespace wirelink::lateness_test
