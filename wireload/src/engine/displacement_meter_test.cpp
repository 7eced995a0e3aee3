#include "engine/displacement_meter.hpp"

#include <gtest/gtest.h>

namespace wireload::displacement_meter_test {

TEST(Displacement, OfARequestThatIsAloneIsNone) {
    displacement_meter meter;
    EXPECT_EQ(meter.sent(1'000, 1'400, false), 0);
    meter.released(1'500);
    EXPECT_EQ(meter.sent(2'000, 2'900, false), 0);
}

TEST(Displacement, OfARequestInCompanyIsItsLateness) {
    displacement_meter others_wait;
    EXPECT_EQ(others_wait.sent(1'000, 1'400, true), 400);

    // The one before was answered only after this one could have left.
    displacement_meter just_answered;
    just_answered.sent(1'000, 1'000, false);
    just_answered.released(2'100);
    EXPECT_EQ(just_answered.sent(2'000, 2'300, false), 300);

    // The one before left itself after this one could have.
    displacement_meter just_sent;
    just_sent.sent(1'000, 2'500, false);
    EXPECT_EQ(just_sent.sent(2'000, 2'600, false), 1'400);
}

TEST(Displacement, LastsAsLongAfterwardsAsTheLateness) {
    displacement_meter meter;
    EXPECT_EQ(meter.sent(1'000, 2'000, true), 1'000);
    EXPECT_EQ(meter.sent(2'300, 2'300, true), 700);
    EXPECT_EQ(meter.sent(2'900, 2'900, true), 100);
    EXPECT_EQ(meter.sent(3'100, 3'100, true), 0);
}

TEST(Displacement, EndsWithARequestThatIsAlone) {
    displacement_meter meter;
    EXPECT_EQ(meter.sent(1'000, 5'000, true), 4'000);
    meter.released(5'100);
    EXPECT_EQ(meter.sent(5'200, 5'200, false), 0);
    EXPECT_EQ(meter.sent(5'210, 5'210, true), 0);
}

// A late request is still in flight when the next one leaves in time.
TEST(Displacement, OfALateRequestReachesTheNextOne) {
    displacement_meter meter;
    EXPECT_EQ(meter.sent(1'000, 1'900, false), 0);
    EXPECT_EQ(meter.sent(2'000, 2'000, true), 800);
}

}  // namespace wireload::displacement_meter_test
