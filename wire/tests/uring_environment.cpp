// Where the host forbids io_uring its tests are skipped, with the reason.
#include <gtest/gtest.h>

#include "wire/loop/event_loop.hpp"

namespace {

struct uring_environment : ::testing::Environment {
    void SetUp() override {
        const auto loop = wire::event_loop::create();
        if (!loop) GTEST_SKIP() << loop.error().message;
        ASSERT_EQ((*loop)->engine(), wire::loop_engine::io_uring);
    }
};

[[maybe_unused]] auto* const environment =
    ::testing::AddGlobalTestEnvironment(new uring_environment);

}  // namespace
