#include "output/screen.hpp"

#include <gtest/gtest.h>

namespace wireload::screen_test {

TEST(PerSecond, StaysOnItsSideOfALimit) {
    EXPECT_EQ(per_second(999.96, 1000), "999.96/s");
    EXPECT_EQ(per_second(1000.04, 1000), "1000.04/s");
    EXPECT_EQ(per_second(1000, 1000), "1000.0/s");
    EXPECT_EQ(per_second(999.96, 900), "1000.0/s");
    EXPECT_EQ(per_second(0, 10), "0.0/s");
}

}  // namespace wireload::screen_test
