#include "output/error_advice.hpp"

#include <gtest/gtest.h>

namespace wireload::error_advice_test {

// A line of the summary: indented by four, in 80 columns.
TEST(ErrorAdvice, EveryKindHasOneThatFits) {
    for (std::size_t i = 0; i < error_names.size(); ++i) {
        const std::string_view advice = advice_on(static_cast<error_kind>(i));
        EXPECT_FALSE(advice.empty()) << error_names[i];
        EXPECT_LE(advice.size(), 76U) << error_names[i];
    }
}

}  // namespace wireload::error_advice_test
